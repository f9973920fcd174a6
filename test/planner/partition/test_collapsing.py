"""Axes of small programs are collapsed where the evaluator returns no more cycles."""

from dataclasses import dataclass

import pytest
from evaluated_block import block_after, run_evaluated
from example_layers import BlockSizes
from xdsl.dialects.builtin import ModuleOp

from tlf.dialects import graph
from tlf.dialects.target import TargetSpec

PASSES = (
    "graph-pipeline,graph-group{level=L2},graph-select-tile-sizes{level=L2},dce,"
    "convert-graph-to-tile,graph-group{level=L1}"
)


@pytest.fixture(scope="module")
def block() -> ModuleOp:
    """A block in groups for the memory near the engines."""
    return block_after(BlockSizes(1, 256, 64, 24, 24), PASSES)


def is_collapsed(module: ModuleOp) -> bool:
    """Return `True` if views collapse rows of 24 pixels into one axis."""
    return any(
        isinstance(op, graph.ReshapeOp)
        and not isinstance(op.parent_op(), graph.GroupOp)
        and op.result.type.get_shape()[-1] == 1
        for op in module.walk()
    )


@dataclass
class StubEvaluator:
    """Evaluator that returns cycles for separate axes and for collapsed axes."""

    apart: int | None
    together: int | None
    steps: int = 0

    def with_innermost_plans_for(self, target: TargetSpec) -> "StubEvaluator":
        """Return the evaluator itself: innermost plans do not matter."""
        return self

    def evaluate_outermost_groups(self, module: ModuleOp) -> int | None:
        raise NotImplementedError

    def evaluate_innermost_groups(self, module: ModuleOp) -> int | None:
        """Return the cycles reported for a program."""
        return self.together if is_collapsed(module) else self.apart

    def evaluate_planned_groups(self, module: ModuleOp) -> int | None:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("told", "collapsed"),
    [
        (None, True),
        (StubEvaluator(100, 99), True),
        (StubEvaluator(100, 100), True),
        (StubEvaluator(1000, 1003), True),
        (StubEvaluator(1000, 1004), False),
        (StubEvaluator(99, None), False),
        (StubEvaluator(None, None), True),
    ],
)
def test_what_takes_hardly_longer_is_taken(
    block: ModuleOp, told: StubEvaluator | None, collapsed: bool
):
    module = block.clone()
    run_evaluated(told, module, "graph-collapse-dims")
    assert is_collapsed(module) == collapsed
