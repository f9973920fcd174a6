"""
Planning of partitions: evaluation of a change of a block, by trial lowering of a copy.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from tlf.dialects.target import TargetSpec
from tlf.dialects.topological_order import sort_topologically
from tlf.planner.context import Evaluator


def evaluate_block_change(
    block: Block,
    change: Callable[[dict[Operation, Operation], dict[SSAValue, SSAValue]], None],
    target: TargetSpec,
    evaluator: Evaluator,
) -> int | None:
    """
    Return the cycles of a function after a change of its block, or None if unknown. The
    change is applied to a copy: it is given the operations and values of the copy by
    those of the block.
    """
    function = block.parent_op()
    if not isinstance(function, func.FuncOp) or len(function.body.blocks) > 1:
        return None
    values: dict[SSAValue, SSAValue] = {}
    copy = function.clone(values)
    module = ModuleOp([copy])
    target.attach_to_module(module)
    change(dict(zip(block.ops, copy.body.block.ops, strict=True)), values)
    sort_topologically(copy.body.block)
    return evaluator.evaluate_outermost_groups(module)
