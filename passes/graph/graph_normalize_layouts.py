"""
Pass `graph-normalize-layouts`: gives arguments and results with a declared layout their
physical shapes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.dialects import graph
from tlf.dialects.call_invariants import is_entry_function
from tlf.dialects.encoding_attribute import layout_of
from tlf.dialects.io_layout_attributes import (
    ANY_LAYOUT,
    DeclaredLayout,
    get_argument_layouts,
    get_result_layouts,
    set_argument_layouts,
    set_result_layouts,
)
from tlf.dialects.physical_axes_attribute import set_argument_axes, set_result_axes
from tlf.dialects.types import tensor_type
from tlf.dialects.weight_preparation_attributes import (
    is_preparation_function,
    preparation_function_of,
)
from tlf.support.affine.axis_orders import Order, inverse_order
from tlf.support.affine.dense_strides import is_row_major_in_memory


@dataclass(frozen=True)
class GraphNormalizeLayoutsPass(ModulePass):
    """
    Permute the axes of arguments and results into their declared order in memory, so
    that all tensors are row-major.

    An argument or result of an entry function whose `tlf.layout` is an axis order gets
    the type of its physical shape, and a `graph.transpose` back to, or from, the shape
    that its users know. The attribute is replaced by `tlf.physical_axes`, from which
    later stages know the shape and the strides of the caller's tensor.

    Orders that are row-major but for axes of one element, and the layout `any`, are
    kept, as are types with a layout of their own, and functions with callers or a
    preparation function.
    """

    name = "graph-normalize-layouts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, func.FuncOp) and _is_normalizable(function):
                _normalize_arguments(function)
                _normalize_results(function)


def _is_normalizable(function: func.FuncOp) -> bool:
    """Return `True` if only callers outside of the program see a function's type."""
    if len(function.body.blocks) != 1 or not is_entry_function(function):
        return False
    if is_preparation_function(function) or preparation_function_of(function):
        return False
    return isinstance(function.body.block.last_op, func.ReturnOp)


def _normalize_arguments(function: func.FuncOp) -> None:
    """Give arguments their physical types, and transpose them back for their users."""
    block = function.body.block
    orders = dict(_find_orders(block.args, get_argument_layouts(function)))
    for index, order in reversed(orders.items()):
        _permute_argument(block, index, order)
    _update_function_type(function)
    set_argument_layouts(function, dict.fromkeys(orders))
    set_argument_axes(function, orders)


def _normalize_results(function: func.FuncOp) -> None:
    """Return values transposed to their physical shapes."""
    returning = function.body.block.last_op
    assert isinstance(returning, func.ReturnOp)
    values = list(returning.operands)
    orders = dict(_find_orders(values, get_result_layouts(function)))
    for index, order in orders.items():
        transpose = graph.TransposeOp(values[index], order)
        transpose.location = returning.location
        transpose.result.name_hint = values[index].name_hint
        Rewriter.insert_op(transpose, InsertPoint.before(returning))
        values[index] = transpose.result
    returning.operands = values
    _update_function_type(function)
    set_result_layouts(function, dict.fromkeys(orders))
    set_result_axes(function, orders)


def _find_orders(
    values: Sequence[SSAValue], layouts: Sequence[DeclaredLayout]
) -> Iterator[tuple[int, Order]]:
    """Yield the index and the axis order of each value that is not row-major."""
    for index, (value, layout) in enumerate(zip(values, layouts, strict=True)):
        if layout is None or layout == ANY_LAYOUT:
            continue
        if not isinstance(value.type, TensorType) or layout_of(tensor_type(value)):
            continue
        if not is_row_major_in_memory(tensor_type(value).get_shape(), layout):
            yield index, layout


def _permute_argument(block: Block, index: int, order: Order) -> None:
    """Replace an argument by one of the physical shape, and its uses by a transpose."""
    old = block.args[index]
    type_ = tensor_type(old)
    shape = [type_.get_shape()[axis] for axis in order]
    physical = TensorType(type_.element_type, shape, type_.encoding)
    new = block.insert_arg(physical, index)
    new.name_hint, new.location = old.name_hint, old.location
    transpose = graph.TransposeOp(new, inverse_order(order))
    transpose.location = old.location
    transpose.result.name_hint = old.name_hint
    Rewriter.insert_op(transpose, InsertPoint.at_start(block))
    old.replace_all_uses_with(transpose.result)
    block.erase_arg(old)


def _update_function_type(function: func.FuncOp) -> None:
    """Set the types of arguments and results from the body."""
    block = function.body.block
    returning = block.last_op
    assert isinstance(returning, func.ReturnOp)
    function.function_type = FunctionType.from_lists(
        [each.type for each in block.args], [each.type for each in returning.operands]
    )
