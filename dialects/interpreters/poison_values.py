"""
Reference interpretation of all dialects: poison values for undefined elements, and
their origins.

An undefined element is NaN, or the least value of an integer type, so that a dependent
result is visibly wrong. A second run with other values for some origins decides if a
result depends on them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias, cast

import numpy as np
from xdsl.ir import Operation

from tlf.dialects.interfaces import Array
from tlf.dialects.types import AnyTensor, dtype_of

Origin: TypeAlias = tuple[Operation, str]
"""Origin of undefined elements: an operation, and a description of the elements."""

OUTSIDE = "an element outside of its source, for which it has no fill"
UNTILED = "an element that no tile covers"
UNWRITTEN = "an element that is never written"
UNAWAITED = "an element that no `mem.wait` waits for"


def poison_value(dtype: np.dtype[np.generic]) -> int | float | bool:
    """
    Return the value that marks undefined elements of a dtype: NaN, the least integer,
    or true.
    """
    if dtype.kind == "b":
        return True
    if dtype.kind == "i":
        return int(np.iinfo(cast(np.dtype[np.integer], dtype)).min)
    return float("nan")


def _alternative_poison_value(dtype: np.dtype[np.generic]) -> int | float | bool:
    """Return another value of undefined elements, for a second run."""
    return {"b": False, "i": 1}.get(dtype.kind, 0.5)


@dataclass
class PoisonTracker:
    """Record of the undefined elements of one interpreter run, and of their values."""

    alternative_origins: frozenset[Origin] = frozenset()
    """Origins whose elements get the alternative value."""
    origins: dict[Origin, None] = field(default_factory=dict[Origin, None])
    """Origins of undefined elements, in the order of execution."""

    def record_undefined_value(
        self, op: Operation, elements_text: str, dtype: np.dtype[np.generic]
    ) -> int | float | bool:
        """
        Return the value of the undefined elements that an operation leaves, and record
        their origin.
        """
        origin = (op, elements_text)
        self.origins[origin] = None
        return (
            _alternative_poison_value(dtype)
            if origin in self.alternative_origins
            else poison_value(dtype)
        )

    def make_undefined_array(
        self, op: Operation, elements_text: str, type_: AnyTensor
    ) -> Array:
        """
        Return a new array filled with the poison of its dtype, and record `op` as
        origin.
        """
        dtype = dtype_of(type_.element_type)
        return np.full(
            type_.get_shape(),
            self.record_undefined_value(op, elements_text, dtype),
            dtype,
        )
