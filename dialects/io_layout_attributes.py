"""
Attribute `tlf.layout` of function arguments and results: their declared memory layouts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    StringAttr,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.argument_attributes import set_attribute_by_index
from tlf.dialects.axis_order_attributes import (
    make_axis_order_attribute,
    parse_axis_order,
    rank_of_type,
)
from tlf.dialects.encoding_attribute import layout_of

LAYOUT = "tlf.layout"
"""
Attribute of an argument or result with the order of its axes in memory, outermost
first, such as `array<i64: 0, 2, 3, 1>` for channels-last images. `"any"` lets the
compiler choose.
"""

AnyLayout: TypeAlias = Literal["any"]

ANY_LAYOUT: AnyLayout = "any"
"""Unconstrained layout: the compiler chooses it, and the caller adapts to it."""

Layout: TypeAlias = tuple[int, ...] | AnyLayout
"""Order of axes in memory, outermost first, or any."""

DeclaredLayout: TypeAlias = Layout | None
"""Declared layout; None if there is none."""


def get_argument_layouts(function: func.FuncOp) -> list[DeclaredLayout]:
    """Return the declared layout of each argument."""
    types = list(function.function_type.inputs)
    return _read_declared_layouts(function, types, function.arg_attrs, "argument")


def get_result_layouts(function: func.FuncOp) -> list[DeclaredLayout]:
    """Return the declared layout of each result."""
    types = list(function.function_type.outputs)
    return _read_declared_layouts(function, types, function.res_attrs, "result")


def set_argument_layouts(
    function: func.FuncOp, layouts: Mapping[int, DeclaredLayout]
) -> None:
    """Declare layouts of arguments, by argument index; `None` erases a declaration."""
    count = len(function.function_type.inputs)
    function.arg_attrs = set_attribute_by_index(
        function.arg_attrs, count, LAYOUT, _to_attributes(layouts)
    )


def set_result_layouts(
    function: func.FuncOp, layouts: Mapping[int, DeclaredLayout]
) -> None:
    """Declare layouts of results, by result index; `None` erases a declaration."""
    count = len(function.function_type.outputs)
    function.res_attrs = set_attribute_by_index(
        function.res_attrs, count, LAYOUT, _to_attributes(layouts)
    )


def _to_attributes(
    layouts: Mapping[int, DeclaredLayout],
) -> dict[int, Attribute | None]:
    return {index: _to_attribute(each) for index, each in layouts.items()}


def _to_attribute(layout: DeclaredLayout) -> Attribute | None:
    if layout is None:
        return None
    if layout == ANY_LAYOUT:
        return StringAttr(ANY_LAYOUT)
    return make_axis_order_attribute(layout)


def _read_declared_layouts(
    function: func.FuncOp,
    types: Sequence[Attribute],
    attributes: ArrayAttr[DictionaryAttr] | None,
    value_kind: str,
) -> list[DeclaredLayout]:
    """
    Return per value its `tlf.layout`, else the axis order of its type, else None; raise
    `VerifyException` if a layout is no permutation of the axes.
    """
    tables = () if attributes is None else attributes.data
    declared: list[DeclaredLayout] = []
    for number, type_ in enumerate(types):
        layout = tables[number].data.get(LAYOUT) if number < len(tables) else None
        if layout is None:
            declared.append(layout_of(type_) or None)
            continue
        if layout == StringAttr(ANY_LAYOUT):
            declared.append(ANY_LAYOUT)
            continue
        rank = rank_of_type(type_)
        axes = parse_axis_order(layout, rank)
        if axes is None:
            message = (
                f"expected `{LAYOUT}` of {value_kind} {number} to order {rank} "
                "axes, each "
                f'once, as in array<i64: 0, 2, 3, 1>, or "any", got {layout}'
            )
            function.emit_error(message, VerifyException(message))
        declared.append(axes)
    return declared
