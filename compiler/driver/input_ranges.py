"""
Driver: declared ranges of the random inputs of a function, read from its attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, cast

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import AnyFloat, ArrayAttr, FloatAttr, IntegerAttr, i1
from xdsl.ir import Attribute
from xdsl.utils.exceptions import DiagnosticException
from xdsl.utils.hints import isa

from tlf.dialects.entry_point import argument_names, argument_types
from tlf.dialects.types import (
    dtype_of,
    is_float,
    max_finite_value_of_type,
    scalar_value,
)

RANGE = "tlf.range"
"""
Attribute of an argument that bounds its random values: `[0.5, 1.5]` of floats excludes
the upper bound, `[0, 99]` of integers includes both bounds.
"""

Range: TypeAlias = "tuple[float, float] | tuple[int, int]"
"""Lower and upper bound, of the kind of the elements."""


def declared_ranges(function: func.FuncOp) -> list[Range]:
    """
    Return the range of each argument, with a default for undeclared ranges. Raises
    `DiagnosticException` if a range does not fit the element type.
    """
    names, types = argument_names(function), argument_types(function)
    tables = () if function.arg_attrs is None else function.arg_attrs.data
    ranges: list[Range] = []
    for index, (name, type_) in enumerate(zip(names, types, strict=True)):
        element = type_.get_element_type()
        dtype_of(element)
        declared = tables[index].data.get(RANGE) if index < len(tables) else None
        if declared is None:
            ranges.append(_default_range(element))
            continue
        if (bounds := _parse_range(declared, element)) is None:
            message = (
                f"expected `{RANGE}` of argument `{name}` to be "
                f"{_describe_expected_range(element)}, "
                f"got {_format_range_attribute(declared)}"
            )
            function.emit_error(message, DiagnosticException(message))
        ranges.append(bounds)
    return ranges


def _default_range(element: Attribute) -> Range:
    if is_float(element):
        return -1.0, 1.0
    return (0, 1) if element == i1 else (-8, 7)


def _parse_range(declared: Attribute, element: Attribute) -> Range | None:
    """Return the declared range, or `None` if it is not a range of such elements."""
    kind = FloatAttr if is_float(element) else IntegerAttr
    parts = _range_elements_of(declared)
    if len(parts) != 2 or not all(isinstance(part, kind) for part in parts):
        return None
    low, high = map(scalar_value, parts)
    lower_limit, upper_limit = _representable_range(element)
    return (low, high) if lower_limit <= low <= high <= upper_limit else None


def _representable_range(element: Attribute) -> Range:
    """
    Return the least and the greatest element, limited to half of the range of doubles
    for floats.
    """
    if is_float(element):
        limit = min(max_finite_value_of_type(element), np.finfo(np.float64).max / 2)
        return -limit, limit
    if element == i1:
        return 0, 1
    limits = np.iinfo(cast("np.dtype[np.integer]", dtype_of(element)))
    return int(limits.min), int(limits.max)


def _range_elements_of(declared: Attribute) -> Sequence[Attribute]:
    if not isinstance(declared, ArrayAttr):
        return ()
    return cast(ArrayAttr[Attribute], declared).data


def _describe_expected_range(element: Attribute) -> str:
    """Return what an error about `tlf.range` expects for elements of type `element`."""
    if is_float(element):
        return f"two floats of {element} in order, as [0.5, 1.5]"
    low, high = _representable_range(element)
    return f"two integers from {low} to {high} in order"


def _format_range_attribute(declared: Attribute) -> str:
    """Return an attribute as text, with numbers without their types."""
    if parts := _range_elements_of(declared):
        return f"[{', '.join(map(_format_range_attribute, parts))}]"
    if isa(declared, FloatAttr[AnyFloat] | IntegerAttr):
        return str(scalar_value(declared))
    return str(declared)
