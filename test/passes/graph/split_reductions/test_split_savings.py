"""Bounds on what splits of reductions save."""

from dataclasses import replace

import pytest
from gpu_programs import H200, parsed, product
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects import func

from tlf.compiler.driver.driver import new_context
from tlf.passes.graph.reassociate.change_evaluation import ChangeEvaluator
from tlf.passes.graph.split_reductions.split_change import (
    ReductionSplitChange,
    SplitScope,
)
from tlf.passes.graph.split_reductions.split_savings import SplitSavings
from tlf.planner.fusion.producer_closure import Part


def _evaluator_and_groups(text: str) -> tuple[ChangeEvaluator, list[Part]]:
    module = parsed(text)
    H200.attach_to_module(module)
    evaluator = ChangeEvaluator.create_for_target(new_context(), H200)
    assert evaluator is not None
    (function,) = (op for op in module.walk() if isinstance(op, func.FuncOp))
    groups = evaluator.groups_of_block(function.body.block).values()
    return evaluator, list({id(each): each for each in groups}.values())


def _bound_and_saved(
    text: str, count: int, scope: SplitScope = SplitScope.GROUP
) -> tuple[float, int]:
    """Return the bound on the cycles that parts of the last group save, and these."""
    evaluator, groups = _evaluator_and_groups(text)
    operations = [op for each in groups for op in each]
    indices = [n for n, op in enumerate(operations) if op in groups[-1]]
    change = ReductionSplitChange(scope, tuple(indices), 1)
    savings = SplitSavings.of_change(evaluator, groups, groups[-1], change)
    assert savings is not None
    saved = evaluator.cycles_saved_by_change(groups, replace(change, count=count))
    return savings.max_cycles_saved(count), saved


@settings(max_examples=20, deadline=None)
@given(
    rows=st.integers(64, 1024),
    columns=st.integers(8, 128).map(lambda n: 8 * n),
    part_extent=st.integers(8, 128).map(lambda n: 8 * n),
    count=st.sampled_from([2, 3, 4, 8, 16]),
    element=st.sampled_from(["bf16", "f16"]),
)
def test_parts_of_products_save_no_more_than_their_bound(
    rows: int, columns: int, part_extent: int, count: int, element: str
):
    text = product(rows, columns, count * part_extent, element)
    bound, saved = _bound_and_saved(text, count)
    # A group that combines the parts itself saves nothing.
    assert saved <= max(0.0, bound)


@pytest.mark.xfail(strict=True, reason="unaligned parts may take less than their share")
def test_parts_of_unaligned_products_save_no_more_than_their_bound():
    bound, saved = _bound_and_saved(product(64, 64, 513), 3)
    assert saved <= max(0.0, bound)


@pytest.mark.parametrize("count", [8, 16])
def test_many_large_partial_results_save_nothing(count: int):
    bound, saved = _bound_and_saved(product(2048, 2048, 2048), count)
    assert saved < 0
    assert bound < 0


@pytest.mark.parametrize(
    "text",
    [
        product(512, 512, 2048, "f32"),
        product(32, 512, 2048),
        product(512, 516, 2048),
        product(512, 512, 2052),
    ],
)
def test_moves_do_not_bound_parts_of_lanes_narrow_and_unaligned_products(text: str):
    evaluator, groups = _evaluator_and_groups(text)
    change = ReductionSplitChange(SplitScope.GROUP, tuple(range(len(groups[0]))), 1)
    savings = SplitSavings.of_change(evaluator, groups, groups[0], change)
    assert savings is not None
    assert savings.moving_cycles_per_part == 0
