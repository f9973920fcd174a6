"""The conversion from groups of graph operations to loops over tiles."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.rewriter import InsertPoint
from xdsl.transforms.dead_code_elimination import DeadCodeElimination

from tlf.analysis.tiling.group import rules_of
from tlf.analysis.tiling.group_members import members_of_group
from tlf.analysis.tiling.model import GroupTiling, TilingError, positions
from tlf.analysis.tiling.planned import rolling_of
from tlf.dialects import graph, tile
from tlf.dialects.graph.held import finds_kept, is_read_near
from tlf.dialects.interfaces import IteratorKind, TilingInterface
from tlf.dialects.rewriting import rewrite_module
from tlf.dialects.target import Target
from tlf.dialects.types import tensor_type
from tlf.lowering.graph_to_tile.destinations import overwritten_by
from tlf.lowering.graph_to_tile.emit import TileBuilder
from tlf.lowering.graph_to_tile.joined import JoinPattern
from tlf.lowering.graph_to_tile.scattered import ScatterPattern
from tlf.planner.cost.npu.in_flight import InFlight


@dataclass
class TileGroupPattern(RewritePattern):
    """Replace a group by the loops that its plan asks for."""

    target: Target
    brought: dict[tuple[SSAValue, str, Block | None], SSAValue] = field(
        default_factory=dict[tuple[SSAValue, str, Block | None], SSAValue]
    )
    """
    Values that groups of a block have moved to a level as a whole, for reuse by others.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: graph.GroupOp, rewriter: PatternRewriter, /
    ) -> None:
        if (plan := op.plan) is None:
            raise TilingError(op, "expected a plan: run `graph-select-tile-sizes`")
        level = plan.level.data
        self._check_level(op, level)
        members = members_of_group(op)
        tiling = members.tiling(
            plan.tile_sizes,
            plan.reduce_sizes,
            rules_of(self.target, level),
            rolling_of(op, plan),
        )
        inputs = self._inputs(op, plan)
        tiles = TileBuilder(
            tiling,
            inputs,
            level,
            plan.loop_mapping,
            _order(plan.loop_order, tiling, members.root),
            InFlight(plan.stage_count, plan.reduce_stage_count),
            overwritten_by(op, tiling, inputs),
        )
        results = _built(op, plan, tiles)
        _inherit_location(op, results[0].owner)
        rewriter.replace(op, (), results)

    def _inputs(
        self, op: graph.GroupOp, plan: graph.PlanAttr
    ) -> dict[SSAValue, SSAValue]:
        """
        Return the values that tiles are sliced from; operands that the plan holds are
        resident in its level as a whole.
        """
        inputs = dict[SSAValue, SSAValue](
            zip(op.body.block.args, op.inputs, strict=True)
        )
        level = plan.level.data
        for number in plan.resident_operands:
            value = op.inputs[number]
            if tile.level_of(value.type) == level:
                continue
            key = value, level, op.parent
            if number in plan.reloaded_operands or key not in self.brought:
                self.brought[key] = _moved(op, value, level)
            inputs[op.body.block.args[number]] = self.brought[key]
        return inputs

    def _check_level(self, op: graph.GroupOp, level: str) -> None:
        """Raise `TilingError` unless tiles can be moved to a memory level."""
        levels = [each.name for each in self.target.tile_levels]
        if level not in levels:
            known = ", ".join(levels)
            raise TilingError(
                op, f"expected a plan for one of the levels {known}, got {level}"
            )


def _moved(op: graph.GroupOp, value: SSAValue, level: str) -> SSAValue:
    """All of an operand of a group, brought to a level before the group."""
    type_ = tensor_type(value)
    near = TensorType(type_.element_type, type_.get_shape(), tile.EncodingAttr(level))
    moved = tile.SliceOp(value, [0] * type_.get_num_dims(), near)
    moved.result.name_hint = value.name_hint
    return Builder(InsertPoint.before(op)).insert(moved).result


def _built(
    op: graph.GroupOp, plan: graph.PlanAttr, tiles: TileBuilder
) -> list[SSAValue]:
    """Build the loops, hand groups what is kept, and return what others get."""
    wanted = list(_wanted(op, plan))
    values = tiles.build(
        Builder(InsertPoint.before(op)),
        [op.yielded[number] for number, _ in wanted],
        [is_near for _, is_near in wanted],
    )
    built = dict(zip(wanted, values, strict=True))
    for number in plan.retained_results:
        near = {use for use in op.results[number].uses if finds_kept(use)}
        op.results[number].replace_uses_with_if(built[number, True], near.__contains__)
    return [
        built[number, (number, False) not in built] for number in range(len(op.results))
    ]


def _wanted(op: graph.GroupOp, plan: graph.PlanAttr) -> Iterator[tuple[int, bool]]:
    """The results to put together, by number, and whether in the level of the plan."""
    for number, result in enumerate(op.results):
        if number not in plan.retained_results or not is_read_near(result):
            yield number, False
        if number in plan.retained_results:
            yield number, True


def _order(
    order: Sequence[int], tiling: GroupTiling, root: TilingInterface
) -> list[int] | None:
    """
    The order of the loops that there are, or None for the usual one. A plan orders the
    root's parallel iterators.
    """
    parallel = positions(root, IteratorKind.PARALLEL)
    loops = [
        iterator
        for iterator, loop in sorted(tiling.loops.items())
        if loop is not tiling.rolled
    ]
    place = {iterator: index for index, iterator in enumerate(loops)}
    kept = [place[parallel[axis]] for axis in order if parallel[axis] in place]
    return None if kept == sorted(kept) else kept


def _inherit_location(source: Operation, made: object) -> None:
    if isinstance(made, Operation):
        made.location = source.location


@dataclass(frozen=True)
class ConvertGraphToTilePass(ModulePass):
    """
    Replace every `graph.group` by loops over the tiles of its results.

    The loops run over the parallel axes of the operation that computes the first
    result; all others are computed, tile by tile, from its result backwards, as their
    interfaces tell. One reduction or contraction may have a loop of its own.
    Every group needs a plan; operations outside of groups stay, but for those that join
    tensors, which are put into the result, each in its place, and those that write at
    indices: tiles are moved to where these say, in order.
    """

    name = "convert-graph-to-tile"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = Target.of(op)
        rewrite_module(op, JoinPattern())
        rewrite_module(op, ScatterPattern(target))
        rewrite_module(op, TileGroupPattern(target), is_recursive=False)
        DeadCodeElimination().apply(ctx, op)
