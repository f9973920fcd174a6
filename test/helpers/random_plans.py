"""Random plans for groups, in place of the plans that the compiler selected."""

from __future__ import annotations

import random

from xdsl.dialects.builtin import ModuleOp

from tlf.analysis.tiling.group_analysis import tile_rules_of
from tlf.analysis.tiling.group_members import members_of_group_op
from tlf.analysis.tiling.group_tiling import TilingError
from tlf.dialects import graph
from tlf.dialects.target import TargetSpec

TRIES = 20
"""
Maximum number of attempts: random tile sizes may split axes that a reshape merges.
"""


def scramble(module: ModuleOp, generator: random.Random) -> None:
    """
    Replace the plan of every planned group by a random legal one.

    Tile sizes range from 1 to the full extent of tileable axes; the loop order and the
    stage count are random.
    """
    target = TargetSpec.read_from_module(module)
    for op in module.walk():
        if isinstance(op, graph.GroupOp) and op.plan is not None:
            op.plan = _random_plan(op, op.plan, target, generator)


def _random_plan(
    group: graph.GroupOp,
    plan: graph.PlanAttr,
    target: TargetSpec,
    generator: random.Random,
) -> graph.PlanAttr:
    members, rules = members_of_group_op(group), tile_rules_of(target, plan.level.data)
    axes = members.tileable_axes(rules)

    def tile_size(size: int, free: bool) -> int:
        return generator.randint(1, size) if free else size

    for _ in range(TRIES):
        tile = tuple(map(tile_size, axes.parallel, axes.free))
        sums = tuple(map(tile_size, axes.reduction, axes.reduction_free))
        reduce = generator.choice([(), sums, sums])
        try:
            members.analyze_tiles_of_sizes(tile, reduce, rules)
        except TilingError:
            continue
        order = generator.sample(range(len(tile)), len(tile))
        stages = generator.choice([1, 1, 2, 3])
        level, mapping = plan.level.data, plan.loop_mapping
        return graph.PlanAttr(level, tile, reduce, mapping, order, stages)
    return plan
