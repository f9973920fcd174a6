"""Plans with less of a resource, which are compared with those of the whole chip."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from differential import parsed
from xdsl.dialects.builtin import ModuleOp

from tlf.dialects import graph
from tlf.dialects.target import TargetSpec
from tlf.dialects.tile import Mapping as LoopMapping
from tlf.planner.partition.tile_refinement import (
    Families,
    RestrictedPlans,
    TileRefinement,
)
from tlf.planner.settings.search_budgets import REFINEMENT

PROGRAM = """
!t = tensor<64xf32>
func.func @f(%x: !t) -> !t {
  %y = graph.group ins(%a = %x : !t) -> (!t) {
    %0 = graph.exp %a : !t
    graph.yield %0 : !t
  }
  func.return %y : !t
}
"""


def plan_of(size: int) -> graph.PlanAttr:
    return graph.PlanAttr("L1", (size,), (), LoopMapping.LOOP)


@dataclass
class TimesBySize:
    """Evaluator that looks up the cycles of the only group by its tile size."""

    times: Mapping[int, int | None]
    asked: list[int] = field(default_factory=list[int])

    def with_innermost_plans_for(self, target: TargetSpec) -> "TimesBySize":
        """Return the evaluator itself: innermost plans do not matter."""
        return self

    def evaluate_outermost_groups(self, module: ModuleOp) -> int | None:
        raise NotImplementedError

    def evaluate_innermost_groups(self, module: ModuleOp) -> int | None:
        raise NotImplementedError

    def evaluate_planned_groups(self, module: ModuleOp) -> int | None:
        """Return the cycles of the program, and record the size."""
        (plan,) = (op.plan for op in module.walk() if isinstance(op, graph.GroupOp))
        assert plan is not None
        size = next(each for each in self.times if plan_of(each) == plan)
        self.asked.append(size)
        return self.times[size]


def plans_like(*sizes: int) -> RestrictedPlans:
    """Return the same plans for each group."""
    return lambda _: [plan_of(each) for each in sizes]


def select_plan(
    times: Mapping[int, int | None], own: tuple[int, ...], *restricted: RestrictedPlans
) -> tuple[graph.PlanAttr | None, list[int]]:
    """Return the selected plan of a group with `own` plans, and the sizes asked for."""
    _, module = parsed(PROGRAM)
    (group,) = (op for op in module.walk() if isinstance(op, graph.GroupOp))
    group.plan = plan_of(own[0])
    evaluator = TimesBySize(times)
    refinement = TileRefinement(module, evaluator)
    families: Families = {tuple(map(plan_of, own)): [group]}
    refinement.find_plans(families)
    return refinement.compare_restricted_plans(families, restricted).get(
        group
    ), evaluator.asked


@pytest.mark.parametrize("own", [(64,), (64, 32)])
def test_the_plan_of_a_smaller_chip_is_taken_if_it_is_faster(own: tuple[int, ...]):
    times: dict[int, int | None] = {64: 100, 32: 90, 16: 80, 8: 85}
    found, asked = select_plan(times, own, plans_like(8, 16), plans_like(64))
    assert found == plan_of(16)
    assert asked == [*own, 8, 16]


def test_a_slower_plan_is_not_taken():
    found, _ = select_plan({64: 100, 16: 110}, (64,), plans_like(16))
    assert found == plan_of(64)


def test_plans_for_smaller_memories_come_first_and_are_limited():
    times: dict[int, int | None] = {64: 100, **dict.fromkeys(range(1, 20), 200)}
    others = [plans_like(each, each + 1) for each in range(10, 19)]
    _, asked = select_plan(times, (64,), plans_like(1, 2, 3, 4), *others)
    first = list(range(1, REFINEMENT.restricted_plans + 1))
    assert asked[1 : len(first) + 1] == first
    assert len(asked) == REFINEMENT.restricted_evaluations
    assert asked[len(first) + 1 :] == list(range(10, 14))


def test_nothing_changes_without_an_evaluation():
    found, asked = select_plan({64: None, 32: 9, 16: 8}, (64, 32), plans_like(16))
    assert found is None
    assert asked == [64]


@pytest.mark.parametrize(("time", "is_tried"), [(1000, False), (1002, True)])
def test_other_plans_are_tried_only_if_plans_matter(time: int, is_tried: bool):
    times: dict[int, int | None] = {64: 1000, 32: 1000, 16: time, 8: 1000, 4: 10}
    plan, asked = select_plan(times, (64, 32, 16, 8, 4), plans_like(64))
    assert asked == [64, 32, 16, 8, *([4] if is_tried else [])]
    assert plan == plan_of(4 if is_tried else 64)
