"""Attribute `mem.combining_kind`: combination of elements with updates in any order."""

from __future__ import annotations

from collections.abc import Mapping
from enum import auto

import numpy as np
from xdsl.dialects.builtin import f32, i32, i64
from xdsl.ir import Attribute, Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from tlf.dialects.keyword_params import parse_keyword_param
from tlf.dialects.types import dtype_of, is_float

COMBINABLE_TYPES = (f32, i32, i64)
"""Element types that are combined in memory."""


class CombiningKind(StrEnum):
    """Combination of an element with its updates, in any order: sum or extremum."""

    ADD = auto()
    MAX = auto()
    MIN = auto()

    @property
    def function(self) -> np.ufunc:
        """Combination in numpy; extrema are NaN if either operand is NaN."""
        return _FUNCTIONS[self]

    def neutral_element_of(self, element_type: Attribute) -> int | float:
        """Return the update that changes no element, not even the sign of a zero."""
        if self is CombiningKind.ADD:
            return -0.0 if is_float(element_type) else 0
        is_max = self is CombiningKind.MAX
        if is_float(element_type):
            return -np.inf if is_max else np.inf
        limits = np.iinfo(dtype_of(element_type).name)
        return int(limits.min if is_max else limits.max)


_FUNCTIONS: Mapping[CombiningKind, np.ufunc] = {
    CombiningKind.ADD: np.add,
    CombiningKind.MAX: np.maximum,
    CombiningKind.MIN: np.minimum,
}


@irdl_attr_definition
class CombiningKindAttr(Data[CombiningKind]):
    """
    Combination of an element with its updates: `add`, `max` or `min`.

    ```mlir
    #mem.combining_kind<add>
    ```
    """

    name = "mem.combining_kind"

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.data)

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> CombiningKind:
        return parse_keyword_param(parser, CombiningKind)


def verify_combinable_element_type(element_type: Attribute) -> None:
    """Check that elements of a type are combined in memory."""
    if element_type not in COMBINABLE_TYPES:
        raise VerifyException(
            f"expected elements of f32, i32 or i64 to combine, got {element_type}"
        )
