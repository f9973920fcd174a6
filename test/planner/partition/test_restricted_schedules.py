"""Schedules that are best on targets with less of a resource."""

import pytest
from kept_groups import groups_of, run_passes
from xdsl.parser import Parser

from tlf.compiler.driver.driver import new_context
from tlf.dialects.target import TargetSpec, load_target_spec
from tlf.planner.partition.block_problem import BlockProblem, partition_problem_of
from tlf.planner.partition.group_cost_model import GroupCosts
from tlf.planner.partition.restricted_schedules import RestrictedScheduleSearch
from tlf.planner.restricted_targets import targets_with_half_a_resource
from tlf.support.partition import Limits, Objective, Schedule, search_schedule

TEXT = """
!x = tensor<128x256xf32>
func.func @f(%x: !x, %v: tensor<256x512xf32>, %w: tensor<512x256xf32>) -> !x {
  %0 = graph.matmul %x, %v
      : (!x, tensor<256x512xf32>) -> tensor<128x512xf32>
  %1 = graph.relu %0 : tensor<128x512xf32>
  %y = graph.matmul %1, %w
      : (tensor<128x512xf32>, tensor<512x256xf32>) -> !x
  func.return %y : !x
}
"""

Problem = tuple[BlockProblem, GroupCosts]


@pytest.fixture
def problem() -> Problem:
    """Two products, and their costs on a small target."""
    context, target = new_context(), load_target_spec("npu-tiny")
    module = Parser(context, TEXT).parse_module()
    target.attach_to_module(module)
    run_passes(context, module, target, "graph-group{level=L2}")
    level = target.levels["L2"]
    stated = partition_problem_of(groups_of(module), level)
    return stated, GroupCosts(stated.nodes, stated.values, target, level, 2)


def schedules_on(target: TargetSpec, problem: Problem) -> tuple[Schedule, ...]:
    """Return the best schedules of a target, the best first."""
    stated, costs = problem
    return search_schedule(
        stated.problem, costs.on_target(target), limits=Limits(ways=8)
    ).best_schedules


def test_nothing_is_better_with_all_resources(problem: Problem):
    _, costs = problem
    best, *others = schedules_on(costs.target, problem)
    search = RestrictedScheduleSearch(costs, Objective(), [best, *others])
    found = search.find_best_on(costs.target)
    assert found is not None
    assert (found.time, found.schedule) == (best.time, best)


def test_the_best_with_less_is_found_among_the_best_with_more(problem: Problem):
    """Its plans are those of the smaller target, its costs those of the larger one."""
    _, costs = problem
    schedules = schedules_on(costs.target, problem)
    search = RestrictedScheduleSearch(costs, Objective(), schedules)
    others: set[int] = set()
    for target in targets_with_half_a_resource(costs.target, costs.level):
        found = search.find_best_on(target)
        (best, *_) = schedules_on(target, problem)
        assert found is not None
        assert found.time == best.time
        assert found.schedule.groups == best.groups
        assert found.schedule.time >= schedules[0].time
        others.add(found.schedule.time)
    assert len(others) > 1


def test_plans_with_less_are_no_candidates_of_other_searches(problem: Problem):
    _, costs = problem
    schedules = schedules_on(costs.target, problem)
    search = RestrictedScheduleSearch(costs, Objective(), schedules)
    groups = [(step.group, step.context) for step in schedules[0].steps]
    before = [costs.best_options(*each, 20) for each in groups]
    for target in targets_with_half_a_resource(costs.target, costs.level):
        search.find_best_on(target)
    assert [costs.best_options(*each, 20) for each in groups] == before
