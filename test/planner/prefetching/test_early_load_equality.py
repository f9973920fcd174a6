"""Early loads in programs of `mem`, against those in schedules of the cost model."""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from pathlib import Path

import pytest
from decision_pairs import DecisionPair
from random_chains import random_chain
from xdsl.dialects import scf
from xdsl.ir import Operation

from tlf.dialects import mem
from tlf.passes.mem.mem_prefetch import prefetch_loads
from tlf.planner.cost.program.early_loads import ScheduleLoadSequence
from tlf.planner.cost.program.instruction_nests import Item, Nest
from tlf.planner.prefetching.early_load_selection import (
    order_with_early_loads,
    select_early_loads,
)
from tlf.planner.prefetching.load_facts import LoadSequence
from tlf.planner.prefetching.mem_load_sequence import MemLoadSequence

EXAMPLES = Path(__file__).parents[3] / "examples"

LAYERS = """
!t = tensor<256x256xf16>
func.func @layers(%x: !t, %v: !t, %w: !t) -> !t {
  %0 = graph.matmul %x, %v : (!t, !t) -> !t
  %1 = graph.relu %0 : !t
  %2 = graph.matmul %1, %w : (!t, !t) -> !t
  func.return %2 : !t
}
"""


def is_compared(item: Operation | Item) -> bool:
    """Return `True` for what programs and schedules both have."""
    if isinstance(item, Operation):
        return isinstance(item, mem.Move | mem.WaitOp | scf.ForOp | scf.ParallelOp)
    if isinstance(item, Nest):
        return True
    return item.move_endpoints is not None or bool(item.completed_moves)


def order_of(
    sequence: LoadSequence, items: Sequence[Operation | Item], capacity: int
) -> list[int]:
    """Return the numbers of moves, waits and loops in their new order."""
    numbers = [0, *accumulate(map(int, map(is_compared, items)))]
    order = order_with_early_loads(len(items), select_early_loads(sequence, capacity))
    return [numbers[position] for position in order if is_compared(items[position])]


def check_early_loads(text: str, target: str) -> int:
    """Compare the decisions on a program; return the number of new orders."""
    pair = DecisionPair.before_pass(text, target, "mem-prefetch")
    count = 0
    for inner, outer in pairwise(pair.levels):
        predicted = ScheduleLoadSequence(tuple(pair.items), inner, outer)
        actual = MemLoadSequence(pair.function.body.block, inner, outer)
        schedule = order_of(predicted, predicted.items, inner.capacity)
        program = order_of(actual, actual.ops, inner.capacity)
        assert schedule == program
        count += program != sorted(program)
        targets = select_early_loads(predicted, inner.capacity)
        pair.items[:] = predicted.order_with_early_loads(targets)
        prefetch_loads(actual)
    return count


def test_cost_model_and_pass_hoist_the_same_loads():
    assert check_early_loads(LAYERS, "npu") > 0


@pytest.mark.parametrize("seed", range(4))
def test_cost_model_and_pass_hoist_the_same_loads_of_random_programs(seed: int):
    text = random_chain(seed, count=6, largest=100_000).text()
    check_early_loads(text, ("npu", "npu-tiny")[seed % 2])


@pytest.mark.long
@pytest.mark.parametrize("target", ["npu", "npu-tiny", "u85-like"])
@pytest.mark.parametrize("name", sorted(each.stem for each in EXAMPLES.glob("*.mlir")))
def test_cost_model_and_pass_hoist_the_same_loads_of_examples(name: str, target: str):
    check_early_loads((EXAMPLES / f"{name}.mlir").read_text(), target)
