"""Pass `convert-graph-to-tile`: lower groups of graph operations to tile loops."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)
from xdsl.rewriter import InsertPoint

from tlf.analysis.tiling.group_analysis import tile_rules_of
from tlf.analysis.tiling.group_members import members_of_group_op
from tlf.analysis.tiling.group_tiling import GroupTiling, TilingError, iterators_of_kind
from tlf.analysis.tiling.planned_halo_policy import rolling_policy_of_plan
from tlf.dialects import graph, tile
from tlf.dialects.dead_operations import erase_dead_operations
from tlf.dialects.graph.residency import is_read_only_in_inner_level, is_retained_use
from tlf.dialects.interfaces import IteratorType, TilingInterface
from tlf.dialects.located_rewriting import rewrite_module
from tlf.dialects.shared_attributes import share_tile_type
from tlf.dialects.target import TargetSpec
from tlf.dialects.types import tensor_type
from tlf.lowering.graph_to_tile.combined_write_lowering import CombinedWritePattern
from tlf.lowering.graph_to_tile.concat_lowering import ConcatOperandInsertionPattern
from tlf.lowering.graph_to_tile.group_loop_builder import GroupLoopBuilder
from tlf.lowering.graph_to_tile.in_place_destinations import find_in_place_destinations
from tlf.lowering.graph_to_tile.scatter_lowering import ScatterPattern
from tlf.lowering.graph_to_tile.sort_lowering import SortPattern
from tlf.planner.cost.npu.iterations_in_flight import IterationsInFlight


@dataclass
class TileGroupPattern(RewritePattern):
    """Replace a group by the tile loops of its plan."""

    target: TargetSpec
    resident_operands: dict[tuple[SSAValue, str, Block | None], SSAValue] = field(
        default_factory=dict[tuple[SSAValue, str, Block | None], SSAValue]
    )
    """Full operands moved to a level, by value, level and block; shared by groups."""

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: graph.GroupOp, rewriter: PatternRewriter, /
    ) -> None:
        if (plan := op.plan) is None:
            raise TilingError(op, "expected a plan: run `graph-select-tile-sizes`")
        level = plan.level.data
        self._check_is_tile_level(op, level)
        members = members_of_group_op(op)
        tiling = members.analyze_tiles_of_sizes(
            plan.tile_sizes,
            plan.reduce_sizes,
            tile_rules_of(self.target, level),
            rolling_policy_of_plan(op, plan),
        )
        inputs = self._map_arguments_to_slice_sources(op, plan)
        tiles = GroupLoopBuilder(
            tiling,
            inputs,
            level,
            plan.loop_mapping,
            _loop_permutation_of_plan(plan.loop_order, tiling, members.root),
            IterationsInFlight(plan.stage_count, plan.reduce_stage_count),
            find_in_place_destinations(op, tiling, inputs),
            plan.warp_count,
            _unroll_factors_of_loops(plan, tiling, members.root),
        )
        results = _build_loops_and_group_results(op, plan, tiles)
        _copy_location_if_operation(op, results[0].owner)
        rewriter.replace(op, (), results)

    def _map_arguments_to_slice_sources(
        self, group: graph.GroupOp, plan: graph.PlanAttr
    ) -> dict[SSAValue, SSAValue]:
        """
        Return the value that tiles are sliced from for each group argument. Resident
        operands of the plan are moved in full to the plan's level.
        """
        inputs = dict[SSAValue, SSAValue](
            zip(group.body.block.args, group.inputs, strict=True)
        )
        level = plan.level.data
        for index in plan.resident_operands:
            value = group.inputs[index]
            if tile.level_of(value.type) == level:
                continue
            key = value, level, group.parent
            if index in plan.reloaded_operands or key not in self.resident_operands:
                self.resident_operands[key] = _move_operand_to_level(
                    group, value, level
                )
            inputs[group.body.block.args[index]] = self.resident_operands[key]
        return inputs

    def _check_is_tile_level(self, group: graph.GroupOp, level: str) -> None:
        """Raise `TilingError` unless `level` is a tile level of the target."""
        levels = [each.name for each in self.target.tile_levels]
        if level not in levels:
            names = ", ".join(levels)
            raise TilingError(
                group, f"expected a plan for one of the levels {names}, got {level}"
            )


def _move_operand_to_level(
    group: graph.GroupOp, value: SSAValue, level: str
) -> SSAValue:
    """Move a full operand of a group to a memory level, before the group."""
    type_ = tensor_type(value)
    inner_type = share_tile_type(type_.element_type, type_.get_shape(), level)
    slice_op = tile.SliceOp(value, [0] * type_.get_num_dims(), inner_type)
    slice_op.result.name_hint = value.name_hint
    return Builder(InsertPoint.before(group)).insert(slice_op).result


def _build_loops_and_group_results(
    group: graph.GroupOp, plan: graph.PlanAttr, loop_builder: GroupLoopBuilder
) -> list[SSAValue]:
    """Build the loops, replace uses of retained results, and return all results."""
    required = list(_results_to_assemble(group, plan))
    values = loop_builder.build_nest_and_results(
        Builder(InsertPoint.before(group)),
        [group.yielded_values[index] for index, _ in required],
        [is_inner for _, is_inner in required],
    )
    values_by_result = dict(zip(required, values, strict=True))
    for index in plan.retained_results:
        inner_uses = {use for use in group.results[index].uses if is_retained_use(use)}
        group.results[index].replace_uses_with_if(
            values_by_result[index, True], inner_uses.__contains__
        )
    return [
        values_by_result[index, (index, False) not in values_by_result]
        for index in range(len(group.results))
    ]


def _results_to_assemble(
    group: graph.GroupOp, plan: graph.PlanAttr
) -> Iterator[tuple[int, bool]]:
    """Yield each result to assemble: its index, and `True` for the plan's level."""
    for index, result in enumerate(group.results):
        if index not in plan.retained_results or not is_read_only_in_inner_level(
            result
        ):
            yield index, False
        if index in plan.retained_results:
            yield index, True


def _loop_permutation_of_plan(
    plan_order: Sequence[int], tiling: GroupTiling, root: TilingInterface
) -> list[int] | None:
    """
    Return the loop permutation of a plan, or `None` for the default order. `plan_order`
    permutes the parallel iterators of the root.
    """
    parallel = iterators_of_kind(root, IteratorType.PARALLEL)
    loops = _iterators_of_parallel_loops(tiling)
    position = {iterator: index for index, iterator in enumerate(loops)}
    permutation = [
        position[parallel[axis]] for axis in plan_order if parallel[axis] in position
    ]
    return None if permutation == sorted(permutation) else permutation


def _unroll_factors_of_loops(
    plan: graph.PlanAttr, tiling: GroupTiling, root: TilingInterface
) -> list[int] | None:
    """Return the unroll factors of a plan by loop, or `None` if all are 1."""
    parallel = iterators_of_kind(root, IteratorType.PARALLEL)
    by_iterator = dict(zip(parallel, plan.unroll_factors, strict=False))
    factors = [
        by_iterator.get(each, 1) for each in _iterators_of_parallel_loops(tiling)
    ]
    return factors if max(factors, default=1) > 1 else None


def _iterators_of_parallel_loops(tiling: GroupTiling) -> list[int]:
    """Return the iterators of the root that have a parallel loop, in order."""
    return [
        iterator
        for iterator, loop in sorted(tiling.loops.items())
        if loop is not tiling.sequential_loop
    ]


def _copy_location_if_operation(source: Operation, derived: object) -> None:
    if isinstance(derived, Operation):
        derived.location = source.location


@dataclass(frozen=True)
class ConvertGraphToTilePass(ModulePass):
    """
    Replace every `graph.group` by loops over the tiles of its results.

    The loops iterate over the parallel dims of the operation that computes the first
    result. Tiles of the other operations are derived backwards from its result tile,
    through their tiling interfaces. One reduction or contraction may have a separate
    loop. Every group must have a plan.

    Operations outside groups are unchanged, except concats, whose operands are inserted
    into the result, and scatters: their update tiles are moved in order, or combined
    with elements of memory by the programs of a grid. Programs of a grid sort rows.
    """

    name = "convert-graph-to-tile"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = TargetSpec.read_from_module(op)
        rewrite_module(op, ConcatOperandInsertionPattern())
        rewrite_module(op, ScatterPattern(target))
        rewrite_module(op, CombinedWritePattern(target))
        rewrite_module(op, SortPattern(target))
        rewrite_module(op, TileGroupPattern(target), is_recursive=False)
        erase_dead_operations(op.body)
