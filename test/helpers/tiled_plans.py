"""Programs of one group with given tiles of L2, and random tiles of L1 inside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from differential import Arrays, parsed, run_lowered
from kept_groups import BUFFERS, INSTRUCTIONS, groups_of, run_passes
from numpy.random import Generator
from planned_groups import parallel_sizes, reduction_sizes
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from tlf.analysis.tiling.group_analysis import tile_rules_of
from tlf.analysis.tiling.group_members import members_of_group_op
from tlf.analysis.tiling.group_tiling import TilingError
from tlf.analysis.tiling.tile_rules import TileRules
from tlf.dialects import graph, tile
from tlf.dialects.interfaces import Array
from tlf.dialects.target import TargetSpec
from tlf.planner.partition.merged_group import MergedGroup


def far_tiles(
    text: str,
    target: TargetSpec,
    sizes: Sequence[int],
    reduce: Sequence[int],
    stages: int = 1,
) -> tuple[Context, ModuleOp]:
    """
    Return a program as one group, lowered to loops over tiles of L2 of given sizes.
    """
    context, module = parsed(text)
    target.attach_to_module(module)
    run_passes(context, module, target, "graph-pipeline,graph-group{level=L2}")
    group = _together(groups_of(module))
    group.plan = graph.PlanAttr("L2", sizes, reduce, stages=stages)
    module.verify()
    run_passes(context, module, target, "graph-mark-in-place,convert-graph-to-tile")
    return context, module


def _together(groups: Sequence[graph.GroupOp]) -> graph.GroupOp:
    """Merge the groups of a block into one."""
    merged, block = MergedGroup(groups), groups[-1].parent_block()
    assert block is not None
    group = merged.to_group_operation()
    block.insert_op_before(group, groups[-1])
    for old, new in zip(merged.results, group.results, strict=True):
        old.replace_all_uses_with(new)
    for each in reversed(groups):
        each.detach()
        each.erase()
    return group


def trips(module: ModuleOp) -> list[int]:
    """Return the trip counts of the loops over tiles."""
    return [
        len(range(low, high, step))
        for op in module.walk()
        if isinstance(op, tile.WhileOp)
        for low, high, step in zip(
            op.mixed_lower_bounds, op.mixed_upper_bounds, op.step_values, strict=True
        )
        if isinstance(low, int) and isinstance(high, int)
    ]


def near_tiles(
    context: Context, module: ModuleOp, target: TargetSpec, rng: Generator
) -> None:
    """Tile the tiles of L2 again with random tiles of L1."""
    steps = "graph-decompose,tidy,graph-group{level=L1}"
    run_passes(context, module, target, steps)
    for group in groups_of(module):
        group.plan = next(_plans(group, tile_rules_of(target, "L1"), rng))
    module.verify()
    run_passes(context, module, target, "dce,convert-graph-to-tile,tidy")


def _plans(
    group: graph.GroupOp, rules: TileRules, rng: Generator
) -> Iterator[graph.PlanAttr]:
    """Yield random legal plans with tiles no larger than the axes."""
    members = members_of_group_op(group)
    axes = members.tileable_axes(rules)
    while True:
        sizes = tuple(map(min, parallel_sizes(group, rules, rng), axes.parallel))
        reduce = tuple(map(min, reduction_sizes(group, rng), axes.reduction))
        try:
            members.analyze_tiles_of_sizes(sizes, reduce, rules)
        except TilingError:
            continue
        stages, reduce_stages = map(int, rng.integers(1, 4, 2))
        yield graph.PlanAttr(
            "L1", sizes, reduce, stages=stages, reduce_stages=reduce_stages
        )


def results_of(
    context: Context, module: ModuleOp, target: TargetSpec, inputs: Arrays
) -> tuple[Array, ...]:
    """
    Return the results of tiles of L1, lowered to instructions of the simulated NPU.
    """
    run_passes(context, module, target, f"{BUFFERS},{INSTRUCTIONS}")
    return run_lowered(context, module, target, inputs)
