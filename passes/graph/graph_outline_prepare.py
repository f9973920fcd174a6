"""
Pass `graph-outline-prepare`: outlines weight preprocessing into a separate function.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.analysis.tiling.position_masks import mask_filter_for
from tlf.analysis.work.flops_and_bytes import size_in_bytes
from tlf.analysis.work.precompute_profit import (
    DEFAULT_ADDITIONS_PER_BYTE,
    additions_per_byte,
    launch_bytes,
    producers_of,
    select_values_to_precompute,
    values_used_outside,
)
from tlf.dialects import graph
from tlf.dialects.call_invariants import call_invariant_values_of, is_entry_function
from tlf.dialects.physical_axes_attribute import get_argument_axes, set_argument_axes
from tlf.dialects.target import TargetSpec
from tlf.dialects.weight_preparation_attributes import (
    is_preparation_function,
    mark_preparation_function,
    preparation_function_of,
)

NAME = "graph-outline-prepare"


def outline_preparation(
    function: func.FuncOp, target: TargetSpec | None = None
) -> func.FuncOp | None:
    """
    Outline the weight preprocessing of a function, and return the new function; None if
    there is nothing to outline.
    """
    block = function.body.block
    invariant = call_invariant_values_of(block)
    values = select_values_to_precompute(
        values_used_outside(block, invariant),
        invariant,
        additions=_additions_per_byte(target),
        is_kept=mask_filter_for(target),
        bytes_per_launch=0 if target is None else launch_bytes(target),
    )
    if not values:
        return None
    needed = {op for value in values for op in producers_of(value, invariant)}
    arguments = [
        argument
        for argument in block.args
        if any(argument in op.operands for op in needed)
    ]
    preparation = _build_preparation_function(
        function, block, values, needed, arguments
    )
    mark_preparation_function(
        preparation, function, [argument.index for argument in arguments]
    )
    for value in values:
        _replace_by_function_argument(block, value)
    types = [argument.type for argument in block.args]
    outputs = function.function_type.outputs.data
    function.function_type = FunctionType.from_lists(types, outputs)
    if function.arg_attrs is not None:
        no_attributes = [DictionaryAttr({})] * len(values)
        function.arg_attrs = ArrayAttr([*function.arg_attrs, *no_attributes])
    return preparation


def _additions_per_byte(target: TargetSpec | None) -> float:
    return DEFAULT_ADDITIONS_PER_BYTE if target is None else additions_per_byte(target)


def _build_preparation_function(
    function: func.FuncOp,
    block: Block,
    prepared_values: Sequence[SSAValue],
    needed_operations: set[Operation],
    weight_arguments: Sequence[BlockArgument],
) -> func.FuncOp:
    """
    Build the function from weights to prepared values, with clones of the needed
    operations.
    """
    body = Block(arg_types=[argument.type for argument in weight_arguments])
    copies: dict[SSAValue, SSAValue] = {}
    for argument, copy in zip(weight_arguments, body.args, strict=True):
        copy.name_hint = argument.name_hint
        copies[argument] = copy
    constants = {
        each.owner for op in needed_operations for each in op.operands
    } - needed_operations
    for op in block.ops:
        if op in needed_operations or op in constants:
            body.add_op(clone := op.clone(copies))
            clone.location = op.location
    body.add_op(func.ReturnOp(*(copies[value] for value in prepared_values)))
    types = (
        [argument.type for argument in weight_arguments],
        [value.type for value in prepared_values],
    )
    preparation = func.FuncOp(_unused_symbol_name(function), types, Region(body))
    _copy_physical_axes(function, weight_arguments, preparation)
    return preparation


def _copy_physical_axes(
    function: func.FuncOp,
    weight_arguments: Sequence[BlockArgument],
    preparation: func.FuncOp,
) -> None:
    """Let a preparation take its arguments in the layouts in which `function` does."""
    axes = get_argument_axes(function)
    orders = [axes[argument.index] for argument in weight_arguments]
    set_argument_axes(
        preparation,
        {index: order for index, order in enumerate(orders) if order is not None},
    )


def _unused_symbol_name(function: func.FuncOp) -> str:
    """
    Return the name of `function` with `_prepare`, and underscores until it is unused.
    """
    module = function.parent_op()
    siblings = () if module is None else module.regions[0].block.ops
    names = {op.sym_name.data for op in siblings if isinstance(op, func.FuncOp)}
    name = f"{function.sym_name.data}_prepare"
    while name in names:
        name += "_"
    return name


def _replace_by_function_argument(block: Block, value: SSAValue) -> None:
    """Append an argument to the block, and replace all uses of `value` by it."""
    op = value.owner
    assert isinstance(op, Operation)
    graph.add_remark(
        op, NAME, "passed", f"{size_in_bytes([value])} bytes computed once"
    )
    argument = block.insert_arg(value.type, len(block.args))
    argument.name_hint = value.name_hint or "prepared"
    argument.location = op.location
    value.replace_all_uses_with(argument)


@dataclass(frozen=True)
class GraphOutlinePreparePass(ModulePass):
    """
    Outline values computed only from weights into a function that runs before the first
    call, and again after a weight changes. Weights are arguments with the attribute
    `tlf.parameter`, and constants in side files.

    The function `f_prepare` of a function `f` has the attribute `tlf.prepares`, and
    `tlf.takes`, the list of the arguments of `f` that it takes, in the layouts in which
    `f` does. Its results become the last arguments of `f`, passed by the caller.

    A value is outlined if reading it costs less than computing it, including the
    weights to read: concatenated weights or weights with a folded normalization, but
    not weights cast to a wider type, or repeated along an axis, nor masks of positions
    if they bound loops. The relative cost of
    reading and computing depends on the target, if there is one: threads of a GPU issue
    loads themselves, while engines of an NPU move bytes in parallel with computation.
    """

    name = NAME

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = (
            TargetSpec.read_from_module(op) if TargetSpec.is_attached_to(op) else None
        )
        for function in list(op.ops):
            if not isinstance(function, func.FuncOp) or not function.body.blocks:
                continue
            is_prepared = (
                is_preparation_function(function)
                or preparation_function_of(function) is not None
            )
            if (
                is_prepared
                or not is_entry_function(function)
                or len(function.body.blocks) > 1
            ):
                continue
            if (preparation := outline_preparation(function, target)) is not None:
                Rewriter.insert_op(preparation, InsertPoint.before(function))
                _erase_unused_tensor_operations(function.body.block)


def _erase_unused_tensor_operations(block: Block) -> None:
    """Erase the graph operations of a block whose results are unused, users first."""
    for op in reversed(list(block.ops)):
        is_used = any(result.uses.get_length() for result in op.results)
        if op.results and op.name.startswith("graph.") and not is_used:
            Rewriter.erase_op(op)
