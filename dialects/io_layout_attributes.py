"""
Attribute `tlf.layout` of function arguments and results: their declared memory layouts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

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


def set_argument_layouts(function: func.FuncOp, layouts: Mapping[int, Layout]) -> None:
    """Declare layouts of arguments, by argument index."""
    count = len(function.function_type.inputs)
    function.arg_attrs = _set_declared_layouts(function.arg_attrs, count, layouts)


def set_result_layouts(function: func.FuncOp, layouts: Mapping[int, Layout]) -> None:
    """Declare layouts of results, by result index."""
    count = len(function.function_type.outputs)
    function.res_attrs = _set_declared_layouts(function.res_attrs, count, layouts)


def _set_declared_layouts(
    attributes: ArrayAttr[DictionaryAttr] | None,
    count: int,
    layouts: Mapping[int, Layout],
) -> ArrayAttr[DictionaryAttr] | None:
    """
    Return the attributes of `count` values, with `tlf.layout` set for those in
    `layouts`.
    """
    if not layouts:
        return attributes
    tables = [dict(each.data) for each in attributes or [DictionaryAttr({})] * count]
    for index, layout in layouts.items():
        tables[index][LAYOUT] = (
            StringAttr(ANY_LAYOUT)
            if layout == ANY_LAYOUT
            else DenseArrayBase.from_list(i64, list(layout))
        )
    return ArrayAttr([DictionaryAttr(each) for each in tables])


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
        rank = type_.get_num_dims() if isinstance(type_, TensorType) else 0
        axes = _axis_order_of_attribute(layout)
        if axes is None or sorted(axes) != list(range(rank)):
            message = (
                f"expected `{LAYOUT}` of {value_kind} {number} to order {rank} "
                "axes, each "
                f'once, as in array<i64: 0, 2, 3, 1>, or "any", got {layout}'
            )
            function.emit_error(message, VerifyException(message))
        declared.append(axes)
    return declared


def _axis_order_of_attribute(layout: Attribute) -> tuple[int, ...] | None:
    if not isinstance(layout, DenseArrayBase):
        return None
    return tuple(map(int, layout.get_values()))
