"""Declared ranges of the random inputs of a function."""

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
from tlf.dialects.types import dtype_of, is_float, max_finite, scalar_value

RANGE = "tlf.range"
"""
The attribute of an argument that bounds its random values: `[0.5, 1.5]` of floats, with
the upper bound left out, and `[0, 99]` of integers, with both among the values.
"""

Range: TypeAlias = "tuple[float, float] | tuple[int, int]"
"""A lower and an upper bound, both of the kind of the elements."""


def declared_ranges(function: func.FuncOp) -> list[Range]:
    """
    The range of each argument that a caller gives, the usual one where it has none.
    Raises `DiagnosticException` for one that does not suit the elements.
    """
    names, types = argument_names(function), argument_types(function)
    tables = () if function.arg_attrs is None else function.arg_attrs.data
    found: list[Range] = []
    for number, (name, type_) in enumerate(zip(names, types, strict=True)):
        element = type_.get_element_type()
        dtype_of(element)
        declared = tables[number].data.get(RANGE) if number < len(tables) else None
        if declared is None:
            found.append(_default_range(element))
            continue
        if (bounds := _parse_range(declared, element)) is None:
            message = (
                f"expected `{RANGE}` of argument `{name}` to be "
                f"{_describe_expected(element)}, "
                f"got {_format_attribute(declared)}"
            )
            function.emit_error(message, DiagnosticException(message))
        found.append(bounds)
    return found


def _default_range(element: Attribute) -> Range:
    if is_float(element):
        return -1.0, 1.0
    return (0, 1) if element == i1 else (-8, 7)


def _parse_range(declared: Attribute, element: Attribute) -> Range | None:
    """Return the declared range, or `None` if it is not a range of such elements."""
    kind = FloatAttr if is_float(element) else IntegerAttr
    parts = _elements_of(declared)
    if len(parts) != 2 or not all(isinstance(part, kind) for part in parts):
        return None
    low, high = map(scalar_value, parts)
    least, most = _representable_range(element)
    return (low, high) if least <= low <= high <= most else None


def _representable_range(element: Attribute) -> Range:
    """The least and the greatest element, of floats half of what is a double."""
    if is_float(element):
        most = min(max_finite(element), np.finfo(np.float64).max / 2)
        return -most, most
    if element == i1:
        return 0, 1
    limits = np.iinfo(cast("np.dtype[np.integer]", dtype_of(element)))
    return int(limits.min), int(limits.max)


def _elements_of(declared: Attribute) -> Sequence[Attribute]:
    if not isinstance(declared, ArrayAttr):
        return ()
    return cast(ArrayAttr[Attribute], declared).data


def _describe_expected(element: Attribute) -> str:
    if is_float(element):
        return f"two floats of {element} in order, as [0.5, 1.5]"
    least, most = _representable_range(element)
    return f"two integers from {least} to {most} in order"


def _format_attribute(declared: Attribute) -> str:
    """An attribute as people write it, numbers without their types."""
    if parts := _elements_of(declared):
        return f"[{', '.join(map(_format_attribute, parts))}]"
    if isa(declared, FloatAttr[AnyFloat] | IntegerAttr):
        return str(scalar_value(declared))
    return str(declared)
