"""Plans of a schedule that is carried out."""

import pytest
from kept_groups import groups_of, run_passes
from xdsl.context import Context as IRContext
from xdsl.parser import Parser

from tlf.compiler.driver.driver import new_context
from tlf.dialects.graph.residency import needs_load
from tlf.dialects.target import TargetSpec, load_target_spec
from tlf.passes.plan.schedule_application import apply_schedule
from tlf.planner.partition.block_problem import partition_problem_of
from tlf.planner.partition.group_cost_model import GroupCosts
from tlf.support.partition import ResidencyContext, Schedule, Step

READERS = """
func.func @readers(%x: tensor<8x8xf32>) -> ({types}) {{
  {operations}
  func.return {values} : {types}
}}
"""


@pytest.fixture
def context() -> IRContext:
    return new_context()


@pytest.fixture
def target() -> TargetSpec:
    return load_target_spec("npu-tiny")


def test_what_left_is_brought_again(context: IRContext, target: TargetSpec):
    """The first two of four groups share what they read, and so do the last two."""
    names = ("exp", "tanh", "neg", "abs")
    text = READERS.format(
        types=", ".join(["tensor<8x8xf32>"] * len(names)),
        values=", ".join(f"%{name}" for name in names),
        operations="\n  ".join(
            f"%{name} = graph.{name} %x : tensor<8x8xf32>" for name in names
        ),
    )
    module = Parser(context, text).parse_module()
    target.attach_to_module(module)
    run_passes(context, module, target, "graph-group{level=L2 max-operations=1}")
    level = target.levels["L2"]
    stated = partition_problem_of(groups_of(module), level)
    costs = GroupCosts(stated.nodes, stated.values, target, level, 1)
    x = 1 << stated.values.index(stated.nodes[0].operands[0])

    steps: list[Step] = []
    for number, (resident, kept) in enumerate([(0, x), (x, 0)] * 2):
        (result,) = stated.problem.nodes[number].results
        around = ResidencyContext(resident, kept, 1 << result, 0)
        (option,) = costs.options_of_group(1 << number, around)
        steps.append(Step(1 << number, around, option))
    made = apply_schedule(stated, Schedule(tuple(steps), 0, 0), level)

    plans = [group.plan for group in made if group is not None]
    assert [plan.resident_operands for plan in plans if plan] == [(0,)] * 4
    assert [plan.reloaded_operands for plan in plans if plan] == [(), (), (0,), ()]
    assert [needs_load(group, 0) for group in made if group] == [
        True,
        False,
        True,
        False,
    ]

    run_passes(context, module, target, "convert-graph-to-tile")
    assert str(module).count("tile.slice %x[") == 2
