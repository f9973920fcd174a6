"""In which order parts of a block run that hand nothing on to each other."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations

import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from tlf.compiler.driver.driver import new_context, parse_module
from tlf.compiler.driver.source import Source
from tlf.dialects.target import TargetSpec, load_target_spec
from tlf.dialects.topological_order import move_before_terminator, sort_topologically
from tlf.planner.partition.block_problem import partition_problems_of
from tlf.planner.partition.component_order_search import ComponentOrderSearch

PROGRAM = """
func.func @apart(%x: tensor<8xf16>)
    -> (tensor<8xf16>, tensor<8xf16>, tensor<8xf16>) {
  %0 = graph.relu %x : tensor<8xf16>
  %1 = graph.exp %x : tensor<8xf16>
  %2 = graph.tanh %x : tensor<8xf16>
  %3 = graph.relu %1 : tensor<8xf16>
  func.return %0, %3, %2 : tensor<8xf16>, tensor<8xf16>, tensor<8xf16>
}
"""

NAMES = ("graph.relu", "graph.exp", "graph.tanh")


@dataclass
class StubEvaluator:
    """Evaluator whose cycles depend on the order in which parts begin."""

    times: Callable[[Sequence[str]], int | None]
    asked: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    steps: int = 0

    def with_innermost_plans_for(self, target: TargetSpec) -> "StubEvaluator":
        """Return the evaluator itself: innermost plans do not matter."""
        return self

    def evaluate_outermost_groups(self, module: ModuleOp) -> int | None:
        """Return the cycles reported for a program."""
        order = _order(module)
        self.asked.append(order)
        return self.times(order)

    def evaluate_innermost_groups(self, module: ModuleOp) -> int | None:
        raise NotImplementedError

    def evaluate_planned_groups(self, module: ModuleOp) -> int | None:
        """Nothing is told of tiles."""
        return None


def _order(module: ModuleOp) -> tuple[str, ...]:
    """The first operations of the parts, one after the other."""
    firsts = (op for op in module.walk() if op.operands and op.name.startswith("graph"))
    return tuple(op.name for op in firsts if op.operands[0].name_hint == "x")


def _ordered(told: StubEvaluator, tries: int) -> tuple[str, ...]:
    target = load_target_spec("npu")
    module = parse_module(new_context(), Source(PROGRAM, "apart.mlir"))
    target.attach_to_module(module)
    (function,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    block = function.body.block
    parts = [each.nodes for each in partition_problems_of(block, target.tile_levels[0])]
    assert len(parts) == 3
    order = ComponentOrderSearch(block, parts, target, told, tries).find_fastest()
    if order is not None:
        move_before_terminator(order)
        sort_topologically(block)
    module.verify()
    return _order(module)


@pytest.mark.parametrize("best", list(permutations(NAMES)))
def test_the_fastest_order_is_found(best: tuple[str, ...]):
    def time(order: Sequence[str]) -> int:
        pairs = combinations(map(best.index, order), 2)
        return 10 + sum(first > second for first, second in pairs)

    told = StubEvaluator(time)
    assert _ordered(told, 20) == best
    assert len(told.asked) == len(set(told.asked))


def test_no_more_are_tried_than_asked_for():
    told = StubEvaluator(lambda order: 100 - 7 * order.index("graph.relu"))
    assert _ordered(told, 1) == NAMES
    assert len(told.asked) == 1


def test_what_is_not_told_stays():
    assert _ordered(StubEvaluator(lambda _: None), 9) == NAMES
