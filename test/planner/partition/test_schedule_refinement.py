"""Choice of the schedules that are evaluated, and of the one that is taken."""

from dataclasses import dataclass, field

import pytest
from evaluated_block import block_after, run_evaluated
from example_layers import BlockSizes
from optimality_chip import with_level
from xdsl.dialects.builtin import ModuleOp

from tlf.dialects import graph
from tlf.dialects.target import TargetSpec, load_target_spec
from tlf.dialects.weight_preparation_attributes import is_preparation_function


@dataclass
class StubEvaluator:
    """Evaluator whose cycles depend on the number of groups, and on a lead of one."""

    times: dict[int, int]
    led: int
    asked: list[tuple[int, bool]] = field(default_factory=list[tuple[int, bool]])
    plans: list[list[graph.PlanAttr]] = field(
        default_factory=list[list[graph.PlanAttr]]
    )
    """Plans of each program."""

    def with_innermost_plans_for(self, target: TargetSpec) -> "StubEvaluator":
        """Return the evaluator itself: innermost plans do not matter."""
        return self

    def evaluate_outermost_groups(self, module: ModuleOp) -> int | None:
        """
        Return the cycles by the number of groups, and less with a prefetch distance.
        """
        plans = _plans(module)
        leads = any(plan.has_prefetch for plan in plans)
        self.asked.append((len(plans), leads))
        self.plans.append(plans)
        time = self.times[len(plans)]
        return min(time, self.led) if leads and len(plans) == 1 else time

    def evaluate_innermost_groups(self, module: ModuleOp) -> int | None:
        raise NotImplementedError

    def evaluate_planned_groups(self, module: ModuleOp) -> int | None:
        """Nothing is told of tiles."""
        return None


def _plans(module: ModuleOp) -> list[graph.PlanAttr]:
    return [
        op.plan
        for op in module.walk()
        if isinstance(op, graph.GroupOp) and op.plan and not _is_prepared(op)
    ]


def _is_prepared(op: graph.GroupOp) -> bool:
    around = op.parent_op()
    return around is not None and is_preparation_function(around)


def partitioned(
    told: StubEvaluator, target: TargetSpec | None = None
) -> list[graph.PlanAttr]:
    sizes = BlockSizes(1, 256, 64, 32, 32)
    module = block_after(sizes, "graph-pipeline,graph-group{level=L2}", target)
    run_evaluated(told, module, "graph-partition{level=L2 max-evaluations=8}")
    return _plans(module)


def test_the_best_by_the_formula_leads_too():
    """Also where another schedule is faster that has nothing that could."""
    told = StubEvaluator({1: 110_000, 2: 100_000, 3: 100_000}, led=90_000)
    (plan,) = partitioned(told)
    assert plan.has_prefetch
    assert {(1, False), (1, True)} < set(told.asked)
    assert len(told.asked) <= 16


def test_it_is_not_taken_where_another_one_is_faster():
    told = StubEvaluator({1: 110_000, 2: 100_000, 3: 100_000}, led=105_000)
    assert len(partitioned(told)) > 1
    assert (1, True) in told.asked


def test_the_best_with_a_lead_leads_too():
    """With fast memory neither the formula's own schedule nor the fastest has one."""
    told = StubEvaluator({1: 115_000, 2: 120_000, 3: 110_000}, led=90_000)
    (plan,) = partitioned(
        told, with_level(load_target_spec("npu"), "L3", bandwidth=128)
    )
    assert plan.has_prefetch
    assert told.asked[0][0] > 1


def test_what_is_as_fast_does_not_end_it():
    """All of the tries are made behind that of a lead: others may be faster still."""
    told = StubEvaluator({1: 100_000, 2: 100_000, 3: 100_000}, led=200_000)
    partitioned(told)
    assert [leads for _, leads in told.asked[:8]] == [True] + 7 * [False]


@pytest.mark.parametrize(("bandwidth", "leads"), [(64, True), (256, False)])
def test_what_is_best_with_a_lead_comes_first(bandwidth: int, leads: bool):
    """A schedule that prefetches comes first where the formula prefers it."""
    told = StubEvaluator({1: 110_000, 2: 100_000, 3: 100_000}, led=90_000)
    chip = with_level(load_target_spec("npu"), "L3", bandwidth=bandwidth)
    partitioned(told, chip)
    assert told.asked[0][1] == leads


def test_equal_programs_are_evaluated_once():
    """Two images are two tiles, however many of them may be in flight."""
    told = StubEvaluator({1: 100_000, 2: 110_000, 3: 110_000}, led=200_000)
    sizes = BlockSizes()
    module = block_after(sizes, "graph-pipeline,graph-group{level=L2}")
    run_evaluated(told, module, "graph-partition{level=L2 max-evaluations=16}")
    single_groups = [plans[0] for plans in told.plans if len(plans) == 1]
    overlapping = [
        (plan.tile_sizes, plan.has_prefetch)
        for plan in single_groups
        if plan.tile_sizes == (1, 64, 30, 28) and plan.stages.data > 1
    ]
    assert len(overlapping) == len({*overlapping}) > 0
