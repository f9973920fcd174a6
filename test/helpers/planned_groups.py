"""Random plans for random groups."""

import numpy as np
from numpy.random import Generator
from random_groups import Family
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from tlf.analysis.tiling.group import rules_of
from tlf.analysis.tiling.group_members import members_of_group
from tlf.analysis.tiling.rules import Rules
from tlf.compiler.driver.driver import new_context
from tlf.dialects import graph
from tlf.dialects.interfaces import IteratorKind
from tlf.dialects.target import Target


def parallel_sizes(
    group: graph.GroupOp, rules: Rules, rng: Generator
) -> tuple[int, ...]:
    """
    Random tile sizes, some of them more than the whole axis. An axis along which
    reductions would be computed again is whole at times, and always where tiles have no
    parts.
    """
    members = members_of_group(group)
    axes = members.axes(rules)
    root = members.root
    kept = [
        position in root.untileable()
        for position, iterator in enumerate(root.iterators())
        if iterator.kind is IteratorKind.PARALLEL
    ]
    return tuple(
        extent
        if whole or not (free or (rules.views and rng.random() < 0.5))
        else int(rng.integers(1, extent + 2))
        for extent, free, whole in zip(axes.parallel, axes.free, kept, strict=True)
    )


def reduction_sizes(group: graph.GroupOp, rng: Generator) -> tuple[int, ...]:
    """No sizes, all steps of one element, or any."""
    op, choice = group.reducing_operation, rng.integers(3)
    if op is None or choice == 0:
        return ()
    whole = op.untileable()
    return tuple(
        iterator.extent
        if position in whole
        else int(rng.integers(1, iterator.extent + 2 if choice == 1 else 2))
        for position, iterator in enumerate(op.iterators())
        if iterator.kind is IteratorKind.REDUCTION
    )


def planned(
    family: Family, target: Target, seed: int
) -> tuple[ModuleOp, graph.GroupOp, Generator]:
    """
    A random group of a family, with a random plan; `TilingError` where the target has
    none.
    """
    rng = np.random.default_rng(seed)
    module = Parser(new_context(), family(rng)).parse_module()
    (group,) = (op for op in module.walk() if isinstance(op, graph.GroupOp))
    sizes = parallel_sizes(group, rules_of(target, "L1"), rng)
    reduce = reduction_sizes(group, rng)
    order = [int(axis) for axis in rng.permutation(len(sizes))]
    group.plan = graph.PlanAttr("L1", sizes, reduce, order=order)
    module.verify()
    return module, group, rng
