"""Folding in programs of `mem`, against folding in schedules of the cost model."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import pytest
from cascade_programs import near_engines, program
from decision_pairs import DecisionPair
from differential import parsed
from random_chains import random_chain
from xdsl.ir import Operation

from tlf.dialects import mem
from tlf.dialects.target import load_target_spec
from tlf.planner.cost.program import fill_cast_folding
from tlf.planner.cost.program.instruction_nests import Instruction, Item
from tlf.planner.folding import mem_fold_operations
from tlf.planner.folding.cast_folding import select_foldable_casts
from tlf.planner.folding.fill_folding import select_overwritten_fills
from tlf.planner.folding.fold_facts import FoldOperation

EXAMPLES = Path(__file__).parents[3] / "examples"

LAYER = """
!t = tensor<256x256xf16>
func.func @layer(%x: !t, %w: !t) -> (!t, tensor<256xf16>) {
  %0 = graph.matmul %x, %w : (!t, !t) -> !t
  %1 = graph.reduce %0 <sum> axes [1] : (!t) -> tensor<256xf16>
  func.return %0, %1 : !t, tensor<256xf16>
}
"""

SUM = """
!near = tensor<32x64xf32, #tile.encoding<L2>>
!tile = tensor<32x64xf32, #tile.encoding<L1>>
!row = tensor<32xf32, #tile.encoding<L1>>
!rows = tensor<32xf32, #tile.encoding<L2>>
func.func @sum(%x: tensor<32x64xf32>) -> tensor<32xf32> {{
  %e = tile.empty : tensor<32xf32>
  %f = tile.empty : !rows
  %a = tile.slice %x[0, 0] : tensor<32x64xf32> -> !near
  %b = tile.slice %a[0, 0] : !near -> !tile
  %z = tile.fill {number} : f32 : !row
  %c = graph.reduce %b <sum> init %z axes [1] : (!tile, !row) -> !row
  %g = tile.deslice %c into %f[0] : !row into !rows
  %r = tile.deslice %g into %e[0] : !rows into tensor<32xf32>
  func.return %r : tensor<32xf32>
}}
"""

OpT = TypeVar("OpT", bound=Operation | Item)


def is_accumulation(op: Operation | Item) -> bool:
    """Return `True` for reductions and products."""
    if isinstance(op, Instruction):
        return op.is_product or op.neutral_element is not None
    return isinstance(op, mem.AccumulatingOp)


def all_in(operations: Sequence[FoldOperation[OpT]]) -> Iterator[OpT]:
    """Yield the operations of a block and of its loops in program order."""
    for each in operations:
        yield each.op
        yield from all_in(each.body or ())


def decisions_on(operations: Sequence[FoldOperation[OpT]]) -> list[tuple[int, int]]:
    """
    Return the numbers of the accumulations that overwrite, each with its number of
    fills, and those of the products that round, with 0.
    """
    accumulations = [op for op in all_in(operations) if is_accumulation(op)]
    fills = [
        (accumulations.index(each.accumulation), len(each.fills))
        for each in select_overwritten_fills(operations)
    ]
    casts = select_foldable_casts(operations)
    return [*sorted(fills), *((accumulations.index(op), 0) for op, _ in casts)]


def check_folding(text: str, target: str) -> int:
    """Compare the decisions on a program; return their number."""
    return check_folding_of(DecisionPair.before_pass(text, target, "mem-fold-fills"))


def check_folding_of(pair: DecisionPair) -> int:
    """Compare the decisions on a pair; return their number."""
    count = 0
    for name in ("mem-fold-casts", "mem-pipeline"):
        schedule = fill_cast_folding.collect_fold_operations(pair.items)
        block = pair.function.body.block
        decisions = decisions_on(mem_fold_operations.collect_fold_operations(block))
        assert decisions_on(schedule) == decisions
        count += len(decisions)
        pair.advance_to_pass(name)
    return count


def test_cost_model_and_passes_fold_the_same_fills_and_casts():
    assert check_folding(LAYER, "npu") == 2


@pytest.mark.parametrize("body", ["attention", "gated", "moments"])
def test_cost_model_and_passes_fold_the_same_in_cascades(body: str):
    tiles = near_engines(program(body, (32, 24, 16, 8), "f16"), 8, 4, 1, 2)
    assert check_folding_of(DecisionPair.of_tiles(*tiles, "mem-fold-fills"))


@pytest.mark.parametrize(("number", "count"), [(0.0, 1), (1.0, 0)])
def test_only_neutral_fills_are_folded(number: float, count: int):
    context, module = parsed(SUM.format(number=number))
    load_target_spec("npu").attach_to_module(module)
    pair = DecisionPair.of_tiles(context, module, "mem-fold-fills")
    assert check_folding_of(pair) == count


@pytest.mark.parametrize("seed", range(4))
def test_cost_model_and_passes_fold_the_same_in_random_programs(seed: int):
    text = random_chain(seed, count=6, largest=100_000).text()
    check_folding(text, ("npu", "npu-tiny")[seed % 2])


@pytest.mark.long
@pytest.mark.parametrize("target", ["npu", "npu-tiny", "u85-like"])
@pytest.mark.parametrize("name", sorted(each.stem for each in EXAMPLES.glob("*.mlir")))
def test_cost_model_and_passes_fold_the_same_in_examples(name: str, target: str):
    check_folding((EXAMPLES / f"{name}.mlir").read_text(), target)
