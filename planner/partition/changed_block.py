"""Trial evaluation of a program with a changed block."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from tlf.dialects.block_order import sort_block
from tlf.dialects.target import Target
from tlf.planner.context import Evaluator


def evaluate_change(
    block: Block,
    change: Callable[[dict[Operation, Operation], dict[SSAValue, SSAValue]], None],
    target: Target,
    evaluator: Evaluator,
) -> int | None:
    """
    The cycles of a function of one block after a change, or None where they are not
    told. The change is made to a copy: it is given what operations and values are
    there.
    """
    function = block.parent_op()
    if not isinstance(function, func.FuncOp) or len(function.body.blocks) > 1:
        return None
    values: dict[SSAValue, SSAValue] = {}
    copy = function.clone(values)
    module = ModuleOp([copy])
    target.attach(module)
    change(dict(zip(block.ops, copy.body.block.ops, strict=True)), values)
    sort_block(copy.body.block)
    return evaluator.cycles(module)
