"""The order of axes in memory that a function declares for arguments and results."""

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

from tlf.dialects.encoding import layout_of

LAYOUT = "tlf.layout"
"""
The attribute of an argument or a result that has the order of its axes in memory,
outermost first, as `array<i64: 0, 2, 3, 1>` for images with their channels last, or
`"any"`, where the compiler chooses.
"""

Any: TypeAlias = Literal["any"]

ANY: Any = "any"
"""The layout of what may lie in any order: whoever runs the program sees to it."""

Layout: TypeAlias = tuple[int, ...] | Any
"""An order of axes, or any."""

Declared: TypeAlias = Layout | None
"""Declared layout; None if there is none."""


def declared_arguments(function: func.FuncOp) -> list[Declared]:
    """The layout that each argument is declared to have."""
    types = list(function.function_type.inputs)
    return _declared(function, types, function.arg_attrs, "argument")


def declared_results(function: func.FuncOp) -> list[Declared]:
    """The layout that each result is declared to have."""
    types = list(function.function_type.outputs)
    return _declared(function, types, function.res_attrs, "result")


def declare_arguments(function: func.FuncOp, layouts: Mapping[int, Layout]) -> None:
    """Declare layouts of arguments, by their number."""
    count = len(function.function_type.inputs)
    function.arg_attrs = _with_layouts(function.arg_attrs, count, layouts)


def declare_results(function: func.FuncOp, layouts: Mapping[int, Layout]) -> None:
    """Declare layouts of results, by their number."""
    count = len(function.function_type.outputs)
    function.res_attrs = _with_layouts(function.res_attrs, count, layouts)


def _with_layouts(
    attributes: ArrayAttr[DictionaryAttr] | None,
    count: int,
    layouts: Mapping[int, Layout],
) -> ArrayAttr[DictionaryAttr] | None:
    if not layouts:
        return attributes
    tables = [dict(each.data) for each in attributes or [DictionaryAttr({})] * count]
    for number, layout in layouts.items():
        tables[number][LAYOUT] = (
            StringAttr(ANY)
            if layout == ANY
            else DenseArrayBase.from_list(i64, list(layout))
        )
    return ArrayAttr([DictionaryAttr(each) for each in tables])


def _declared(
    function: func.FuncOp,
    types: Sequence[Attribute],
    attributes: ArrayAttr[DictionaryAttr] | None,
    what: str,
) -> list[Declared]:
    tables = () if attributes is None else attributes.data
    found: list[Declared] = []
    for number, type_ in enumerate(types):
        layout = tables[number].data.get(LAYOUT) if number < len(tables) else None
        if layout is None:
            found.append(layout_of(type_) or None)
            continue
        if layout == StringAttr(ANY):
            found.append(ANY)
            continue
        rank = type_.get_num_dims() if isinstance(type_, TensorType) else 0
        axes = _axes(layout)
        if axes is None or sorted(axes) != list(range(rank)):
            message = (
                f"expected `{LAYOUT}` of {what} {number} to order {rank} axes, each "
                f'once, as in array<i64: 0, 2, 3, 1>, or "any", got {layout}'
            )
            function.emit_error(message, VerifyException(message))
        found.append(axes)
    return found


def _axes(layout: Attribute) -> tuple[int, ...] | None:
    if not isinstance(layout, DenseArrayBase):
        return None
    return tuple(map(int, layout.get_values()))
