"""Closed forms of tilings equal the analysis of single tile sizes."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np
import pytest
from numpy.random import Generator
from random_groups import FAMILIES, Family
from random_stacks import stack
from xdsl.ir import SSAValue

from tlf.analysis.tiling import parametric_tiling
from tlf.analysis.tiling.group_analysis import GroupMembers, tile_rules_of
from tlf.analysis.tiling.group_members import members_of_group_op
from tlf.analysis.tiling.group_tiling import GroupTiling, TileLoop, TilingError
from tlf.analysis.tiling.parametric_tiling import ParametricTiling
from tlf.analysis.tiling.rolling_windows import RollingPolicy
from tlf.analysis.tiling.tile_rules import TileRules
from tlf.compiler.driver.driver import new_context, parse_module
from tlf.compiler.driver.source import Source
from tlf.dialects import graph
from tlf.dialects.target import load_target_spec
from tlf.support.affine.index_access import Box

LEVELS = (("h200", "L1"), ("npu", "L2"), ("npu", "L1"), ("u85-like", "L1"))


def describe(tiling: GroupTiling) -> object:
    """Return the contents of a tiling, with loops numbered."""
    loops = [*tiling.loops.values(), *tiling.inner_loops.values()]
    loops += tiling.nested_loops
    return describe_with_loops(tiling, {loop: n for n, loop in enumerate(loops)})


def describe_with_loops(tiling: GroupTiling, numbers: Mapping[object, int]) -> object:
    """Return the contents of a tiling with numbered loops, and of its prologue."""

    def numbered(found: Mapping[int, TileLoop]) -> object:
        return {
            axis: (numbers[loop], loop.extent, loop.tile)
            for axis, loop in found.items()
        }

    def boxed(box: Box | None) -> object:
        return box and [
            (
                each.offset.constant,
                [
                    (numbers[loop], n)
                    for loop, n in each.offset.terms
                    if loop in numbers
                ],
                each.size,
                each.capacity,
            )
            for each in box
        ]

    return (
        numbered(tiling.loops),
        numbered(tiling.inner_loops),
        [(op, numbered(each)) for op, each in tiling.nested_loops_by_op.items()],
        [
            (
                op,
                boxed(tiled.box),
                boxed(tiled.result),
                [boxed(each) for each in tiled.reads],
                tiled[3:5],
                tiled[6:],
            )
            for op, tiled in tiling.tiles.items()
        ],
        [(at, [boxed(each) for each in boxes]) for at, boxes in tiling.reads.items()],
        [boxed(each) for each in tiling.result_tiles],
        tiling.gathered_operations,
        (tiling.anchor, tiling.cascade, tiling.rules, tiling.results),
        tiling.rolling_loop and numbers[tiling.rolling_loop],
        [
            (
                at,
                window.axis,
                boxed(window.whole_tile),
                boxed(window.new_part),
                boxed(window.prologue_part),
                (window.fill, window.is_prefetched),
            )
            for at, window in tiling.windows.items()
        ],
        tiling.prefetch_distances,
        tiling.prologue and describe_with_loops(tiling.prologue, numbers),
    )


def outcome(analysis: ParametricTiling, sizes: Sequence[int]) -> object:
    """Return the contents of a tiling, or the message of the error."""
    try:
        return describe(analysis.tiling_of(sizes))
    except TilingError as error:
        return str(error)


def sizes_of(
    rng: Generator, members: GroupMembers, rules: TileRules
) -> tuple[tuple[int, ...], int]:
    """Return random tile sizes, and the number of those of parallel axes."""
    axes = members.tileable_axes(rules)
    has_loop = bool(axes.reduction) and rng.random() < 0.7
    extents = (*axes.parallel, *(axes.reduction if has_loop else ()))
    sizes = (int(rng.integers(1, extent + 3)) for extent in extents)
    if rules.power_of_two:
        sizes = (1 << (size - 1).bit_length() for size in sizes)
    return tuple(sizes), len(axes.parallel)


def random_group(rng: Generator, family: Family) -> GroupMembers:
    module = parse_module(new_context(), Source(family(rng), "group"))
    (group,) = (op for op in module.walk() if isinstance(op, graph.GroupOp))
    return members_of_group_op(group)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda each: each.__name__)
def test_smallest_tiles_are_those_of_their_sizes(family: Family):
    rng = np.random.default_rng(3)
    rules = tile_rules_of(load_target_spec("npu"), "L2")
    for _ in range(6):
        members = random_group(rng, family)
        axes = members.tileable_axes(rules)
        sizes = *axes.min_tile(), *axes.min_reduction_tile()
        analysis = members.parametric_tiling(
            rules, len(axes.parallel), bool(axes.reduction)
        )
        assert describe(members.min_tiling(rules)) == outcome(analysis, sizes)


def policies_of(
    rng: Generator, members: GroupMembers, parallel: int
) -> list[RollingPolicy | None]:
    """Return no rolling policy, and two random ones with and without recomputation."""
    inputs = {operand for op in members.operations for operand in op.operands}
    values = [*members.results, *sorted(inputs, key=lambda each: each.name_hint or "")]
    kept = frozenset(value for value in values if rng.random() < 0.3)
    policies = [
        RollingPolicy(int(rng.integers(parallel)), recomputed, rng.random() < 0.4)
        for recomputed in (frozenset[SSAValue](), kept)
        if parallel
    ]
    return [None, *policies]


def compare_with_points(
    rng: Generator, members: GroupMembers, rules: TileRules, count: int
) -> tuple[int, int]:
    """
    Compare closed forms with `count` analyses; return the number of traced paths, and
    of analyses without one.
    """
    paths = points = 0
    try:
        drawn = [sizes_of(rng, members, rules) for _ in range(count)]
    except TilingError:
        return 0, 0
    policies = policies_of(rng, members, drawn[0][1])
    for has_loop, policy in product((False, True), policies):
        chosen = [each for each in drawn if (len(each[0]) > each[1]) is has_loop]
        closed = members.parametric_tiling(rules, drawn[0][1], has_loop, policy)
        for sizes, _ in chosen:
            expected = outcome(ParametricTiling(closed.analyze), sizes)
            assert outcome(closed, sizes) == expected
        paths += closed.trace_count
        points += closed.analysis_count
    return paths, points


@pytest.mark.parametrize("family", [*FAMILIES, stack], ids=lambda each: each.__name__)
def test_groups(
    family: Family, draws: Callable[[int], int], monkeypatch: pytest.MonkeyPatch
):
    """
    12 tile sizes of each of 14 groups for 4 levels and 15 families: 10,080, of which
    2,880 by default.
    """
    monkeypatch.setattr(parametric_tiling, "UNTRACED_CALLS", 0)
    rng = np.random.default_rng(17)
    traced = 0
    for name, level in LEVELS:
        rules = tile_rules_of(load_target_spec(name), level)
        for _ in range(draws(14)):
            members = random_group(rng, family)
            paths, points = compare_with_points(rng, members, rules, 12)
            traced += paths
            assert points == 0
    assert traced


def test_windows_have_closed_forms(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(parametric_tiling, "UNTRACED_CALLS", 0)
    rng = np.random.default_rng(5)
    rules = tile_rules_of(load_target_spec("npu"), "L2")
    found = 0
    for members in (random_group(rng, stack) for _ in range(8)):
        extents = members.tileable_axes(rules).parallel
        for axis in range(len(extents)):
            closed = members.parametric_tiling(
                rules, len(extents), False, RollingPolicy(axis)
            )
            half = [(each + 1) // 2 for each in extents]
            found += bool(closed.tiling_of(half).windows)
            assert closed.is_traceable
    assert found


def test_few_analyses_are_not_traced():
    members = random_group(np.random.default_rng(1), FAMILIES[0])
    rules = tile_rules_of(load_target_spec("npu"), "L2")
    extents = members.tileable_axes(rules).parallel
    closed = members.parametric_tiling(rules, len(extents), False)
    for count in (1, 2, 2, 2):
        closed.tiling_of(extents)
        assert closed.analysis_count == count
    assert closed.trace_count == 1
