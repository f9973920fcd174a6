"""
Planning of layouts: those required or permitted for a function's arguments and results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from xdsl.dialects import func
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from tlf.dialects.call_invariants import is_entry_function
from tlf.dialects.encoding_attribute import layout_of
from tlf.dialects.io_layout_attributes import (
    ANY_LAYOUT,
    DeclaredLayout,
    get_argument_layouts,
    get_result_layouts,
)
from tlf.dialects.parameter_attribute import is_parameter
from tlf.dialects.weight_preparation_attributes import (
    argument_indices_of_preparation,
    preparation_function_of,
    prepared_argument_count,
)
from tlf.planner.layout.stored_tensors import collect_stored_tensors
from tlf.support.affine.axis_orders import Order, row_major_order

RequiredLayouts: TypeAlias = Mapping[SSAValue, Order | None]
"""Required layout of arguments and returned values; None if any is permitted."""


def required_layouts(function: func.FuncOp) -> RequiredLayouts:
    """
    Return the layouts of arguments and of returned values: as declared, else row-major.
    Values declared as `any` are free. So are weights, which are reordered once, except
    those that a preparation function accepts in row-major order only. Arguments and
    results of functions with callers are row-major.
    """
    if not is_entry_function(function):
        return {
            value: _row_major_order(value)
            for value in _arguments_and_returned_values(function)
        }
    row_major_values = _row_major_arguments(function)
    required: dict[SSAValue, Order | None] = {}
    arguments = list[SSAValue](function.body.block.args)
    for value, declared in zip(arguments, get_argument_layouts(function), strict=True):
        if declared is None and _is_weight_argument(function, value):
            declared = ANY_LAYOUT
        required[value] = _required_axis_order(
            value, None if value in row_major_values else declared
        )
    results = zip(_returned_values(function), get_result_layouts(function), strict=True)
    for value, declared in results:
        required[value] = required.get(value) or _required_axis_order(value, declared)
    return required


def preparation_layouts(
    preparation: func.FuncOp, function: func.FuncOp
) -> RequiredLayouts:
    """Return the layouts of the arguments and results of a preparation function."""
    count = prepared_argument_count(function)
    arguments = list[SSAValue](function.body.block.args)
    prepared = arguments[len(arguments) - count :]
    sources = [
        arguments[index] for index in argument_indices_of_preparation(preparation)
    ]
    return {
        value: layout_of(other.type) or _row_major_order(other)
        for value, other in (
            *zip(preparation.body.block.args, sources, strict=True),
            *zip(_returned_values(preparation), prepared, strict=True),
        )
    }


def values_of_any_layout(function: func.FuncOp) -> Iterator[SSAValue]:
    """Yield the arguments and returned values that may have any axis order."""
    if len(function.body.blocks) != 1:
        return
    required = required_layouts(function)
    for tensor in collect_stored_tensors(function):
        if required.get(tensor.value, ()) is None:
            yield tensor.value


def _required_axis_order(value: SSAValue, declared: DeclaredLayout) -> Order | None:
    """Return the required axis order of a value, or None if any is permitted."""
    if declared == ANY_LAYOUT:
        return None
    if declared is None:
        return _row_major_order(value)
    return tuple(int(axis) for axis in declared)


def _row_major_order(value: SSAValue) -> Order:
    """Return the row-major axis order of a tensor; empty for values of other types."""
    type_ = value.type
    return (
        row_major_order(type_.get_num_dims()) if isinstance(type_, TensorType) else ()
    )


def _is_weight_argument(function: func.FuncOp, value: SSAValue) -> bool:
    """Return `True` if an argument is a weight, or depends on weights only."""
    arguments = list[SSAValue](function.body.block.args)
    prepared = arguments[len(arguments) - prepared_argument_count(function) :]
    return value in prepared or is_parameter(value)


def _arguments_and_returned_values(function: func.FuncOp) -> Iterator[SSAValue]:
    yield from function.body.block.args
    yield from _returned_values(function)


def _row_major_arguments(function: func.FuncOp) -> set[SSAValue]:
    """
    Return the arguments that a preparation function accepts in row-major order only.
    """
    preparation = preparation_function_of(function)
    if preparation is None:
        return set()
    stored = {tensor.value for tensor in collect_stored_tensors(preparation)}
    arguments = list[SSAValue](function.body.block.args)
    prepared = arguments[len(arguments) - prepared_argument_count(function) :]
    sources = [
        arguments[index] for index in argument_indices_of_preparation(preparation)
    ]
    return {
        other
        for value, other in (
            *zip(preparation.body.block.args, sources, strict=True),
            *zip(_returned_values(preparation), prepared, strict=True),
        )
        if value not in stored
    }


def _returned_values(function: func.FuncOp) -> Sequence[SSAValue]:
    last = function.body.block.last_op
    return last.arguments if isinstance(last, func.ReturnOp) else ()
