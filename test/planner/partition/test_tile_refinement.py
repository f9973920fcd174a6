"""Tiles near the engines that suit a whole program."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from evaluated_block import block_after, run_evaluated
from example_layers import BlockSizes
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from tlf.dialects import graph
from tlf.dialects.target import TargetSpec
from tlf.planner.settings.search_budgets import REFINEMENT

Plans = tuple[graph.PlanAttr, ...]

PREFIX = (
    "graph-pipeline,graph-group{level=L2},graph-select-tile-sizes{level=L2},dce,"
    "convert-graph-to-tile,graph-group{level=L1}"
)


@dataclass
class StubEvaluator:
    """Evaluator that returns given cycles for the plans of groups."""

    times: Callable[[Plans], int | None]
    asked: list[Plans] = field(default_factory=list[Plans])

    def with_innermost_plans_for(self, target: TargetSpec) -> "StubEvaluator":
        """Return the evaluator itself: innermost plans do not matter."""
        return self

    def evaluate_outermost_groups(self, module: ModuleOp) -> int | None:
        """There are no cycles of groups without plans for the nearest memory."""
        return None

    def evaluate_innermost_groups(self, module: ModuleOp) -> int | None:
        raise NotImplementedError

    def evaluate_planned_groups(self, module: ModuleOp) -> int | None:
        """Return the cycles reported for a program."""
        self.asked.append(_plans(module, "bottleneck"))
        return self.times(self.asked[-1])


def _plans(module: ModuleOp, function: str) -> Plans:
    functions = (op for op in module.ops if isinstance(op, func.FuncOp))
    (found,) = (op for op in functions if op.sym_name.data == function)
    groups = (op for op in found.walk() if isinstance(op, graph.GroupOp))
    return tuple(group.plan for group in groups if group.plan is not None)


@pytest.fixture(scope="module")
def block() -> ModuleOp:
    """A block in groups for the memory near the engines."""
    return block_after(BlockSizes(1, 64, 32, 32, 32), PREFIX)


def chosen(
    block: ModuleOp, evaluator: StubEvaluator | None, options: str = ""
) -> tuple[Plans, Plans]:
    """The plans of a block, and those of what is computed before a call."""
    module = block.clone()
    run_evaluated(evaluator, module, f"graph-select-tile-sizes{{level=L1{options}}}")
    return _plans(module, "bottleneck"), _plans(module, "bottleneck_prepare")


@pytest.fixture(scope="module")
def unrefined(block: ModuleOp) -> tuple[Plans, Plans]:
    """The plans that are chosen without an evaluator."""
    return chosen(block, None)


def test_the_plans_that_suit_the_program_are_taken(
    block: ModuleOp, unrefined: tuple[Plans, Plans]
):
    """Those that are faster by the evaluator, of one group after the other."""
    alone, prepared = unrefined

    def times(plans: Plans) -> int:
        return 100 - sum(a != b for a, b in zip(plans, alone, strict=True))

    evaluator = StubEvaluator(times)
    found, before = chosen(block, evaluator)
    assert found != alone
    assert times(found) == min(map(times, evaluator.asked))
    assert evaluator.asked[0] == alone
    assert before == prepared


@pytest.mark.parametrize("time", [100, None])
def test_where_nothing_is_faster_the_best_alone_stay(
    block: ModuleOp, time: int | None, unrefined: tuple[Plans, Plans]
):
    alone, _ = unrefined

    def times(plans: Plans) -> int | None:
        return time if plans != alone else 99

    evaluator = StubEvaluator(times)
    assert chosen(block, evaluator)[0] == alone
    assert 1 < len(evaluator.asked) <= REFINEMENT.tile_evaluations


def test_what_cannot_be_told_changes_nothing(
    block: ModuleOp, unrefined: tuple[Plans, Plans]
):
    alone, _ = unrefined
    evaluator = StubEvaluator(lambda _: None)
    assert chosen(block, evaluator)[0] == alone
    assert evaluator.asked == [alone]


def test_evaluations_are_limited(block: ModuleOp):
    for options, most in ((" max-evaluations=0", 0), (" max-evaluations=3", 3)):
        evaluator = StubEvaluator(lambda _: 100)
        chosen(block, evaluator, options)
        assert len(evaluator.asked) == most
