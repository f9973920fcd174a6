"""Pass `graph-split-scans`: splits long scans of few rows into blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from tlf.analysis.work.engine_throughput import Engines
from tlf.dialects import graph
from tlf.dialects.dead_operations import erase_dead_operations
from tlf.dialects.interfaces import ScanInterface, TilingInterface
from tlf.dialects.target import TargetSpec
from tlf.passes.graph.reassociate.change_evaluation import ChangeEvaluator
from tlf.passes.op_replacement import replace_by_built_values
from tlf.planner.fusion.producer_closure import Part, operations_with_reshapes
from tlf.planner.settings.search_budgets import REASSOCIATION

NAME = "graph-split-scans"


@dataclass(frozen=True)
class _ScanSplitChange:
    """A rewrite of one scan to a number of blocks."""

    position: int
    """Position of the scan among the operations of its group."""
    block_count: int

    def __call__(self, operations: Sequence[TilingInterface]) -> bool:
        op = operations[self.position]
        if not isinstance(op, ScanInterface):
            return False
        split_scan_into_blocks(op, self.block_count)
        return True


def split_scan_into_blocks(op: ScanInterface, block_count: int) -> None:
    """Replace a scan by the scans of its blocks, with a remark."""
    name = op.name.removeprefix("graph.")
    text = f"{name} of {_scanned_extent(op)} elements runs in {block_count} blocks"
    graph.add_remark(op, NAME, "passed", text)
    replace_by_built_values(
        op,
        PatternRewriter(op),
        lambda builder: [op.build_in_blocks(builder, block_count)],
    )


def split_scans_of_block(
    block: Block, evaluator: ChangeEvaluator, processors: int
) -> None:
    """Split the scans of a block where the cost model estimates fewer cycles."""
    if not any(isinstance(op, ScanInterface) for op in block.ops):
        return
    groups = evaluator.groups_of_block(block)
    for op, group in groups.items():
        if isinstance(op, ScanInterface) and op in group:
            count = _find_best_block_count(op, group, evaluator, processors)
            if count is not None:
                split_scan_into_blocks(op, count)


def _find_best_block_count(
    op: ScanInterface, group: Part, evaluator: ChangeEvaluator, processors: int
) -> int | None:
    """
    Return the number of blocks with the fewest estimated cycles, or None if the scan is
    not split.
    """
    if evaluator.tile_count_of_group(group) >= processors:
        return None
    position = operations_with_reshapes([group]).index(op)
    changes = [
        _ScanSplitChange(position, count)
        for count in candidate_block_counts(_scanned_extent(op))
    ]
    saved = [evaluator.cycles_saved_by_change([group], each) for each in changes]
    best = max(range(len(changes)), key=saved.__getitem__, default=None)
    if best is None or saved[best] <= 0:
        return None
    return changes[best].block_count


def candidate_block_counts(extent: int) -> list[int]:
    """
    Return the candidate numbers of blocks of an axis, in ascending order: about powers
    of two, divisors of the extent where there are any.
    """
    counts, count = list[int](), 4
    while count <= extent // REASSOCIATION.min_part_extent:
        near = range(count, 2 * count)
        counts.append(next((each for each in near if extent % each == 0), count))
        count *= 2
    return counts


def _scanned_extent(op: ScanInterface) -> int:
    """Return the extent of the axis along which elements are combined."""
    return op.iteration_domain()[op.scan_iterator].extent


@dataclass(frozen=True)
class GraphSplitScansPass(ModulePass):
    """
    Split scans into blocks that run in parallel, if the target scans tiles, has more
    processors than there are rows to scan, and its cost model estimates fewer cycles:
    blocks are reduced to totals, and each is scanned and combined with the totals of
    those before it. The operand is then read twice.

    Other scans are not changed: a loop over their tiles carries the total.
    """

    name = NAME

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not TargetSpec.is_attached_to(op):
            return
        target = TargetSpec.read_from_module(op)
        if not target.has_scans:
            return
        evaluator = ChangeEvaluator.create_for_target(ctx, target)
        if evaluator is None:
            return
        processors = Engines.of(target).engine_count
        for function in list(op.walk()):
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                for block in function.body.blocks:
                    split_scans_of_block(block, evaluator, processors)
        erase_dead_operations(op.body)
