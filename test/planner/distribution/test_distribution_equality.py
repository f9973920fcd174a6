"""Loops distributed to cores in programs of `mem`, against those in schedules."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from decision_pairs import DecisionPair
from random_chains import random_chain
from xdsl.dialects import scf
from xdsl.ir import Operation

from tlf.analysis.buffers.core_loops import is_core_loop
from tlf.dialects import mem
from tlf.planner.cost.program.distributed_nests import (
    NestDistribution,
    ScheduleCoreScope,
)
from tlf.planner.cost.program.instruction_nests import Item, Nest
from tlf.planner.distribution.distribution_facts import CoreScope
from tlf.planner.distribution.loop_distribution import (
    CoreConflictError,
    select_distributed_loop,
)
from tlf.planner.distribution.mem_core_scope import MemCoreScope

EXAMPLES = Path(__file__).parents[3] / "examples"
CORES = 2

SOFTMAX = """
!t = tensor<64x512xf32>
func.func @softmax(%x: !t) -> !t {
  %0 = graph.softmax %x axis 1 : (!t) -> !t
  func.return %0 : !t
}
"""


def decision_in(scope: CoreScope, moves: Sequence[bool]) -> tuple[object, ...]:
    """
    Return the position of the selected loop among the loops of the nest, and the number
    of moves in its setup, or the reason why there is none.
    """
    loops = [each for each in scope.nest.walk() if each.speedup is not None]
    try:
        selected = select_distributed_loop(scope)
    except CoreConflictError as error:
        return (str(error),)
    return loops.index(selected.loop), sum(moves[at] for at in selected.setup)


def decisions_in_program(root: Operation) -> Iterator[tuple[object, ...]]:
    """Yield the decision on each outermost loop that may be distributed."""
    for op in [op for region in root.regions for op in region.block.ops]:
        if not isinstance(op, scf.ParallelOp) or not is_core_loop(op):
            yield from decisions_in_program(op)
            continue
        nest = [e for e in op.walk() if isinstance(e, scf.ParallelOp)]
        loops = [each for each in nest if is_core_loop(each)]
        block = MemCoreScope.of_nest(op, CORES, {"L1"}, loops)
        moves = [isinstance(each, mem.Move) for each in block.operations]
        yield decision_in(block.scope, moves)


def decisions_in_schedule(
    items: Sequence[Item], around: Nest | None = None
) -> Iterator[tuple[object, ...]]:
    """Yield the decision on each outermost nest that may be distributed."""
    rules = NestDistribution(CORES, {"L1"})
    for item in items:
        if not isinstance(item, Nest):
            continue
        if not item.is_core_loop:
            yield from decisions_in_schedule(item.body, item)
            continue
        block = ScheduleCoreScope.of_nest(item, items, around, rules)
        moves = [
            not isinstance(each, Nest) and each.move_endpoints is not None
            for each in block.items
        ]
        yield decision_in(block.scope, moves)


def check_distribution(text: str) -> list[tuple[object, ...]]:
    """Compare the decisions on a program, and return them."""
    pair = DecisionPair.before_pass(
        text, f"npu-tiny:cores={CORES}", "mem-distribute-to-cores"
    )
    expected = list(decisions_in_program(pair.function))
    assert list(decisions_in_schedule(pair.items)) == expected
    return expected


def test_cost_model_and_pass_distribute_the_same_loops():
    decisions = check_distribution(SOFTMAX)
    assert (0, 0) in decisions
    assert (0, 1) in decisions


@pytest.mark.parametrize("seed", range(4))
def test_cost_model_and_pass_distribute_the_same_loops_of_random_programs(seed: int):
    check_distribution(random_chain(seed, count=6, largest=100_000).text())


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(each.stem for each in EXAMPLES.glob("*.mlir")))
def test_cost_model_and_pass_distribute_the_same_loops_of_examples(name: str):
    check_distribution((EXAMPLES / f"{name}.mlir").read_text(encoding="utf-8"))
