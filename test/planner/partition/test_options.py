"""Reports of the options of a group."""

import pytest
from kept_groups import groups_of, run_passes
from xdsl.parser import Parser

from tlf.compiler.driver.driver import new_context
from tlf.dialects.target import load_target_spec
from tlf.planner.cost.npu.outer_plan import OuterPlan
from tlf.planner.partition.block_problem import partition_problem_of
from tlf.planner.partition.group_cost_model import GroupCosts
from tlf.planner.restricted_targets import targets_with_half_a_resource
from tlf.support.partition import ResidencyContext

TEXT = """
func.func @f(%x: tensor<{shape}xf32>) -> tensor<{shape}xf32> {{
  %y = graph.neg %x : tensor<{shape}xf32>
  func.return %y : tensor<{shape}xf32>
}}
"""


QUARTERS = (16, 32), None, 2, False
"""Plan of a quarter of 64 rows, twice in flight."""


def negation_of(shape: str) -> tuple[GroupCosts, ResidencyContext]:
    """The costs of a program of one group, and a context that stores its result."""
    context, target = new_context(), load_target_spec("npu-tiny")
    module = Parser(context, TEXT.format(shape=shape)).parse_module()
    target.attach_to_module(module)
    run_passes(context, module, target, "graph-group{level=L2}")
    level = target.levels["L2"]
    stated = partition_problem_of(groups_of(module), level)
    costs = GroupCosts(stated.nodes, stated.values, target, level, 1)
    (result,) = stated.problem.nodes[0].results
    around = ResidencyContext(
        resident=0, retained=0, stored=1 << result, occupied_bytes=0
    )
    return costs, around


@pytest.mark.parametrize(
    ("shape", "payload", "moved"),
    [("8x8", 256, 256), ("9x7", 252, 256), ("9x8", 288, 512)],
)
def test_what_only_fills_bursts_counts_as_moved(shape: str, payload: int, moved: int):
    """A burst has 256 bytes; each tensor is read or written at once."""
    costs, around = negation_of(shape)
    (option,) = costs.options_of_group(1, around)
    assert (option.payload, option.bytes) == (2 * payload, 2 * moved)


def test_plans_fit_a_limited_capacity():
    costs, around = negation_of("128x64")

    with costs.limit_capacity(4096):
        (small,) = costs.options_of_group(1, around)
    (large,) = costs.options_of_group(1, around)

    assert small.footprint <= 4096 < large.footprint
    assert small.time >= large.time


def test_costs_on_another_target_are_those_of_its_own_model():
    costs, around = negation_of("128x64")
    (own,) = costs.options_of_group(1, around)
    for target in targets_with_half_a_resource(costs.target, costs.level):
        level = target.levels["L2"]
        alone = GroupCosts(costs.nodes, costs.values, target, level, 1)
        shared = costs.on_target(target)
        (expected,) = alone.options_of_group(1, around)
        (found,) = shared.options_of_group(1, around)
        assert (found.time, found.bytes) == (expected.time, expected.bytes)
        same_plan = shared.option_of_equal_plan(1, around, own)
        assert same_plan is not None
        assert same_plan.time >= max(found.time, own.time)
    assert costs.option_of_equal_plan(1, around, own) == own


def test_more_in_flight_until_all_iterations_are():
    """The tiles stay the same; the number in flight ends at that of the iterations."""
    costs, around = negation_of("64x32")
    option = next(
        each
        for each in costs.best_options(1, around, 100)
        if isinstance(plan := each.plan, OuterPlan) and plan.plan_key == QUARTERS
    )
    plans: list[OuterPlan] = []
    while option is not None:
        assert isinstance(option.plan, OuterPlan)
        plans.append(option.plan)
        option = costs.option_with_more_in_flight(1, around, option)
    assert [each.stages for each in plans] == [2, 3, 4]
    assert {each.tile_sizes for each in plans} == {(16, 32)}
