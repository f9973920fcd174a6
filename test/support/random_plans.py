"""Random plans for groups, in place of the ones that the compiler chose."""

from __future__ import annotations

import random

from xdsl.dialects.builtin import ModuleOp

from tlf.dialects import graph
from tlf.dialects.target import Target
from tlf.passes.graph_choose_tiles import members_of_group
from tlf.passes.tiling.group import rules_of


def scramble(module: ModuleOp, generator: random.Random) -> None:
    """
    Give every group that has a plan another one: tile sizes from 1 to the whole axis
    wherever an axis may be cut, another order of loops, and other stages.
    """
    target = Target.of(module)
    for op in module.walk():
        if isinstance(op, graph.GroupOp) and op.plan is not None:
            op.plan = _random_plan(op, op.plan, target, generator)


def _random_plan(
    group: graph.GroupOp,
    plan: graph.PlanAttr,
    target: Target,
    generator: random.Random,
) -> graph.PlanAttr:
    axes = members_of_group(group).axes(rules_of(target, plan.level.data))

    def cut(size: int, free: bool) -> int:
        return generator.randint(1, size) if free else size

    tile_sizes = list(map(cut, axes.parallel, axes.free))
    reduce_sizes = list(map(cut, axes.reduction, axes.reduction_free))
    order = generator.sample(range(len(tile_sizes)), len(tile_sizes))
    return graph.PlanAttr(
        plan.level.data,
        tile_sizes,
        generator.choice([[], reduce_sizes, reduce_sizes]),
        plan.loop_mapping,
        order,
        generator.choice([1, 1, 2, 3]),
    )
