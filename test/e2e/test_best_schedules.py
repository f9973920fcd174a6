"""Schedules of small random networks that a search has to look for to find them."""

import pytest
from optimality_space import Nodes, Plan, planned
from optimised import chip, grouped
from xdsl.dialects.builtin import ModuleOp

IN_FLIGHT = Plan((1, 2, 4, 4), stages=2)


def as_one(seed: int, name: str, plan: Plan) -> ModuleOp:
    """A network in one group with a plan."""
    nodes = Nodes(grouped(seed, name))
    every = frozenset(range(len(nodes.operations)))
    return planned(nodes, (every,), {every: plan}, "L2")


@pytest.mark.parametrize(
    ("seed", "plan"), [(126, IN_FLIGHT), (171, Plan((2, 8), stages=2))]
)
def test_signals_at_the_start_are_known(seed: int, plan: Plan):
    """An order from one iteration to the next that follows from others needs none."""
    on, module = chip("roomy"), as_one(seed, "roomy", plan)
    figures = on.figures(module)
    assert figures is not None
    assert on.predicted(module) == figures.cycles
