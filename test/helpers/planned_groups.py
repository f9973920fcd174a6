"""Random plans for random groups."""

import numpy as np
from numpy.random import Generator
from random_groups import Family
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from tlf.analysis.tiling.group_analysis import tile_rules_of
from tlf.analysis.tiling.group_members import members_of_group_op
from tlf.analysis.tiling.tile_rules import TileRules
from tlf.compiler.driver.driver import new_context
from tlf.dialects import graph
from tlf.dialects.interfaces import IteratorType
from tlf.dialects.target import TargetSpec


def parallel_sizes(
    group: graph.GroupOp, rules: TileRules, rng: Generator
) -> tuple[int, ...]:
    """
    Return random tile sizes, some of them larger than the axis.

    An axis along which reductions would be recomputed sometimes gets its full extent,
    and always if tiles have no slice views. An untileable axis always gets its full
    extent.
    """
    members = members_of_group_op(group)
    axes = members.tileable_axes(rules)
    root = members.root
    untileable = [
        position in root.untileable_dims()
        for position, iterator in enumerate(root.iteration_domain())
        if iterator.kind is IteratorType.PARALLEL
    ]
    return tuple(
        extent
        if is_untileable or not (free or (rules.has_views and rng.random() < 0.5))
        else int(rng.integers(1, extent + 2))
        for extent, free, is_untileable in zip(
            axes.parallel, axes.free, untileable, strict=True
        )
    )


def reduction_sizes(group: graph.GroupOp, rng: Generator) -> tuple[int, ...]:
    """Return no reduction sizes, all sizes 1, or random ones."""
    op, choice = group.last_accumulating_operation, rng.integers(3)
    if op is None or choice == 0:
        return ()
    untileable = op.untileable_dims()
    return tuple(
        iterator.extent
        if position in untileable
        else int(rng.integers(1, iterator.extent + 2 if choice == 1 else 2))
        for position, iterator in enumerate(op.iteration_domain())
        if iterator.kind is IteratorType.REDUCTION
    )


def planned(
    family: Family, target: TargetSpec, seed: int
) -> tuple[ModuleOp, graph.GroupOp, Generator]:
    """
    Return a random group of a family, with a random plan.

    Raises `TilingError` if the plan is illegal for the target.
    """
    rng = np.random.default_rng(seed)
    module = Parser(new_context(), family(rng)).parse_module()
    (group,) = (op for op in module.walk() if isinstance(op, graph.GroupOp))
    sizes = parallel_sizes(group, tile_rules_of(target, "L1"), rng)
    reduce = reduction_sizes(group, rng)
    order = [int(axis) for axis in rng.permutation(len(sizes))]
    group.plan = graph.PlanAttr("L1", sizes, reduce, order=order)
    module.verify()
    return module, group, rng
