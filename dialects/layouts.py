"""The order of axes in memory that a function declares for arguments and results."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DictionaryAttr, TensorType
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.encoding import layout_of

LAYOUT = "tlf.layout"
"""
The attribute of an argument or a result that has the order of its axes in memory,
outermost first, as `array<i64: 0, 2, 3, 1>` for images with their channels last.
"""


def declared_arguments(function: func.FuncOp) -> list[tuple[int, ...] | None]:
    """The layout that each argument is declared to have, or None."""
    types = list(function.function_type.inputs)
    return _declared(function, types, function.arg_attrs, "argument")


def declared_results(function: func.FuncOp) -> list[tuple[int, ...] | None]:
    """The layout that each result is declared to have, or None."""
    types = list(function.function_type.outputs)
    return _declared(function, types, function.res_attrs, "result")


def _declared(
    function: func.FuncOp,
    types: Sequence[Attribute],
    attributes: ArrayAttr[DictionaryAttr] | None,
    what: str,
) -> list[tuple[int, ...] | None]:
    tables = () if attributes is None else attributes.data
    found: list[tuple[int, ...] | None] = []
    for number, type_ in enumerate(types):
        layout = tables[number].data.get(LAYOUT) if number < len(tables) else None
        if layout is None:
            found.append(layout_of(type_) or None)
            continue
        rank = type_.get_num_dims() if isinstance(type_, TensorType) else 0
        axes = _axes(layout)
        if axes is None or sorted(axes) != list(range(rank)):
            message = (
                f"expected `{LAYOUT}` of {what} {number} to order {rank} axes, each "
                f"once, as in array<i64: 0, 2, 3, 1>, got {layout}"
            )
            function.emit_error(message, VerifyException(message))
        found.append(axes)
    return found


def _axes(layout: Attribute) -> tuple[int, ...] | None:
    if not isinstance(layout, DenseArrayBase):
        return None
    return tuple(map(int, layout.get_values()))
