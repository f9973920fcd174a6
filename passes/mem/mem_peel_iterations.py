"""
Pass `mem-peel-iterations`: peels partial last iterations off loops around products.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from tlf.analysis.buffers.accumulating_nests import is_multiplied_by_lanes
from tlf.analysis.buffers.normalized_loops import loop_ranges_of
from tlf.dialects import mem
from tlf.dialects.located_rewriting import replace_op
from tlf.dialects.target import TargetSpec
from tlf.passes.mem.loop_normalization import build_index_constant
from tlf.planner.settings.loop_splitting import LOOP_SPLITTING


@dataclass(frozen=True)
class MemPeelIterationsPass(ModulePass):
    """
    Peel the last iteration off loops around products that lanes compute, if it is
    partial: if the step does not divide the extent of the loop. Loads in the loop then
    need no masks along the reduction, whose conditions the lanes would compute between
    their products. Loops with few iterations are not changed.
    """

    name = "mem-peel-iterations"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = (
            TargetSpec.read_from_module(op) if TargetSpec.is_attached_to(op) else None
        )
        for loop in list(op.walk()):
            if isinstance(loop, scf.ForOp) and _has_lane_product(loop, target):
                _peel_partial_iteration(loop)


def _has_lane_product(loop: scf.ForOp, target: TargetSpec | None) -> bool:
    """Return `True` if the body of a loop has a product that lanes compute."""
    return any(
        isinstance(op, mem.ContractOp) and is_multiplied_by_lanes(op, target)
        for op in loop.body.block.ops
    )


def _peel_partial_iteration(loop: scf.ForOp) -> None:
    """Replace a loop by one without its last iteration, and this iteration."""
    (counter,) = loop_ranges_of(loop)
    values = counter.values
    if not values or len(values) < LOOP_SPLITTING.min_unpeeled_iterations:
        return
    if (values.stop - values.start) % values.step == 0:
        return
    builder = Builder(InsertPoint.before(loop))
    last = build_index_constant(builder, values[-1])
    whole = loop.clone()
    builder.insert(whole)
    whole.operands = [loop.lb, last, loop.step, *loop.iter_args]
    copies: dict[SSAValue, SSAValue] = dict(
        zip(loop.body.block.args, (last, *whole.results), strict=True)
    )
    *body, terminator = loop.body.block.ops
    for op in body:
        builder.insert(op.clone(copies))
    replace_op(loop, [], [copies.get(each, each) for each in terminator.operands])
