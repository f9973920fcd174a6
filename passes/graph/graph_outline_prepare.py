"""
Pass `graph-outline-prepare`: outlines weight preprocessing to a function that runs
once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.analysis.work.flops_and_bytes import size_in_bytes
from tlf.analysis.work.precompute_profit import (
    DEFAULT_ADDITIONS_PER_BYTE,
    additions_per_byte,
    producers_of,
    select_profitable,
    values_used_outside,
)
from tlf.dialects import graph
from tlf.dialects.call_invariants import invariant_values, is_entry_function
from tlf.dialects.prepack import is_preparation, mark_preparation, preparation_of
from tlf.dialects.target import TargetSpec

NAME = "graph-outline-prepare"


def outline_preparation(
    function: func.FuncOp, target: TargetSpec | None = None
) -> func.FuncOp | None:
    """
    Outline the weight preprocessing of a function to a new one, which is returned; None
    if there is none.
    """
    block = function.body.block
    inside = invariant_values(block)
    additions = (
        DEFAULT_ADDITIONS_PER_BYTE if target is None else additions_per_byte(target)
    )
    values = select_profitable(
        values_used_outside(block, inside), inside, additions=additions
    )
    if not values:
        return None
    needed = {op for value in values for op in producers_of(value, inside)}
    taken = [
        argument
        for argument in block.args
        if any(argument in op.operands for op in needed)
    ]
    made = _build_preparation(function, block, values, needed, taken)
    mark_preparation(made, function, [argument.index for argument in taken])
    for value in values:
        _replace_by_argument(block, value)
    types = [argument.type for argument in block.args]
    outputs = function.function_type.outputs.data
    function.function_type = FunctionType.from_lists(types, outputs)
    if function.arg_attrs is not None:
        nothing = [DictionaryAttr({})] * len(values)
        function.arg_attrs = ArrayAttr([*function.arg_attrs, *nothing])
    return made


def _build_preparation(
    function: func.FuncOp,
    block: Block,
    values: Sequence[SSAValue],
    needed: set[Operation],
    taken: Sequence[SSAValue],
) -> func.FuncOp:
    """
    Build the function from weights to prepared values, with clones of the operations
    required.
    """
    body = Block(arg_types=[argument.type for argument in taken])
    copies: dict[SSAValue, SSAValue] = {}
    for argument, copy in zip(taken, body.args, strict=True):
        copy.name_hint = argument.name_hint
        copies[argument] = copy
    constants = {each.owner for op in needed for each in op.operands} - needed
    for op in block.ops:
        if op in needed or op in constants:
            body.add_op(made := op.clone(copies))
            made.location = op.location
    body.add_op(func.ReturnOp(*(copies[value] for value in values)))
    types = [argument.type for argument in taken], [value.type for value in values]
    return func.FuncOp(_unique_name(function), types, Region(body))


def _unique_name(function: func.FuncOp) -> str:
    """Return a symbol name for the new function that no other one has."""
    module = function.parent_op()
    others = () if module is None else module.regions[0].block.ops
    taken = {op.sym_name.data for op in others if isinstance(op, func.FuncOp)}
    name = f"{function.sym_name.data}_prepare"
    while name in taken:
        name += "_"
    return name


def _replace_by_argument(block: Block, value: SSAValue) -> None:
    """Replace a value by a new argument of the function."""
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
    Move what follows from weights alone to a function that runs once: before the first
    call, and again when a weight changed. Weights are arguments with the attribute
    `tlf.parameter`, and constants in side files.

    The function `f_prepare` of a function `f` has the attribute `tlf.prepares`, and
    `tlf.takes`, which lists the arguments of `f` that it takes. Its results become the
    last arguments of `f`, which whoever runs `f` fills in.

    A value is computed once where reading it costs less than computing it, weights to
    be read included: weights side by side or with a normalization folded in, but not
    weights of a wider type, or repeated along an axis. What reading costs beside
    computing is a question of the target, if there is one: threads of a GPU load
    themselves, while engines of an NPU move bytes beside what computes.
    """

    name = NAME

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = TargetSpec.of(op) if TargetSpec.is_attached_to(op) else None
        for function in list(op.ops):
            if not isinstance(function, func.FuncOp) or not function.body.blocks:
                continue
            known = is_preparation(function) or preparation_of(function) is not None
            if (
                known
                or not is_entry_function(function)
                or len(function.body.blocks) > 1
            ):
                continue
            if (made := outline_preparation(function, target)) is not None:
                Rewriter.insert_op(made, InsertPoint.before(function))
                _erase_unused(function.body.block)


def _erase_unused(block: Block) -> None:
    """Erase the operations that the function no longer needs."""
    for op in reversed(list(block.ops)):
        is_used = any(result.uses.get_length() for result in op.results)
        if op.results and op.name.startswith("graph.") and not is_used:
            Rewriter.erase_op(op)
