"""Overlap in programs of `mem`, against overlap in schedules of the cost model."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import pytest
from cascade_programs import near_engines, program
from decision_pairs import DecisionPair
from random_chains import random_chain
from xdsl.dialects import scf
from xdsl.ir import Block, Operation

from tlf.analysis.buffers.memory_effects import root_buffer_of
from tlf.analysis.buffers.normalized_loops import (
    max_iterations_in_flight,
    perfect_nest_of,
)
from tlf.dialects import mem
from tlf.dialects.target import Level
from tlf.dialects.types import byte_count, memref_type
from tlf.planner.cost.program.instruction_nests import Instruction, Item, Nest
from tlf.support.allocation import align_offset

EXAMPLES = Path(__file__).parents[3] / "examples"

ATTENTION = """
!q = tensor<256x64xf16>
func.func @attention(%q: !q, %k: tensor<64x256xf16>, %v: !q) -> !q {
  %0 = graph.matmul %q, %k : (!q, tensor<64x256xf16>) -> tensor<256x256xf16>
  %1 = graph.exp %0 : tensor<256x256xf16>
  %2 = graph.matmul %1, %v : (tensor<256x256xf16>, !q) -> !q
  func.return %2 : !q
}
"""


Description: TypeAlias = tuple[int, ...]
"""
Depth of loops around an operation; then, for a move, its levels, prefetch distance and
bytes of the inner buffer, and for a product its distance.
"""


def is_early(item: Operation | Item) -> bool:
    """
    Return `True` for a move that starts early. In loops without stages, the cost model
    has these moves where `convert-mem-to-npu` issues them, later than in programs.
    """
    is_move = isinstance(item, mem.Move | Instruction)
    return is_move and item.prefetch_distance > 0


def describe_block(
    block: Block, levels: Sequence[Level], depth: int = 0
) -> Iterator[Description]:
    """Yield descriptions of the loops, moves and products of a block."""
    names = [each.name for each in levels]
    loop = block.parent_op()
    ops = list(block.ops)
    if loop is not None and max_iterations_in_flight(loop) == 1:
        ops.sort(key=lambda each: not is_early(each))
    for op in ops:
        if isinstance(op, mem.Move):
            ends = [root_buffer_of(each) for each in (op.source, op.destination)]
            places = [names.index(mem.level_of(end.type)) for end in ends]
            size = byte_count(memref_type(ends[places.index(min(places))]))
            size = align_offset(size, levels[min(places)].alignment)
            yield depth, *places, op.prefetch_distance, size
        elif isinstance(op, mem.ContractOp):
            yield depth, op.prefetch_distance
        elif isinstance(op, scf.ForOp | scf.ParallelOp):
            yield (depth,)
            body = perfect_nest_of(op)[-1].body.block
            yield from describe_block(body, levels, depth + 1)


def describe_items(
    items: Sequence[Item], levels: Sequence[Level], depth: int = 0
) -> Iterator[Description]:
    """Yield descriptions of the nests, moves and products of a schedule."""
    names = [each.name for each in levels]
    for item in items:
        if isinstance(item, Nest):
            yield (depth,)
            body = item.body
            if item.stages == 1:
                body = sorted(body, key=lambda each: not is_early(each))
            yield from describe_items(body, levels, depth + 1)
        elif item.move_endpoints is not None:
            places = [names.index(end.level) for end in item.move_endpoints]
            inner = item.move_endpoints[places.index(min(places))]
            size = align_offset(inner.bytes, levels[min(places)].alignment)
            size *= inner.multibuffer_count
            yield depth, *places, item.prefetch_distance, size
        elif item.is_product:
            yield depth, item.prefetch_distance


def check_overlap(text: str, target: str) -> int:
    """Compare the loops of a program; return the number of early loads."""
    return check_loops_of(DecisionPair.before_pass(text, target, "mem-pipeline"))


def check_loops_of(pair: DecisionPair) -> int:
    """Compare the loops of a pair; return the number of early loads."""
    pair.advance_to_pass("mem-split-maps")
    block = pair.function.body.block
    program = list(describe_block(block, pair.levels))
    assert list(describe_items(pair.items, pair.levels)) == program
    return sum(len(each) == 5 and each[3] > 0 for each in program)


def test_cost_model_and_pass_overlap_the_same_loops():
    assert check_overlap(ATTENTION, "npu") > 0


@pytest.mark.parametrize("body", ["attention", "gated"])
@pytest.mark.parametrize("pieces", [1, 2, 3])
def test_cost_model_and_pass_load_the_same_rows_early(body: str, pieces: int):
    """A loop over columns in a loop over rows."""
    text = program(body, (32, 24, 16, 8), "f16")
    tiles = near_engines(text, 8, 4, 1, pieces)
    assert check_loops_of(DecisionPair.of_tiles(*tiles, "mem-pipeline")) or pieces == 1


@pytest.mark.parametrize("seed", range(4))
def test_cost_model_and_pass_overlap_the_same_loops_of_random_programs(seed: int):
    text = random_chain(seed, count=6, largest=100_000).text()
    check_overlap(text, ("npu", "npu-tiny")[seed % 2])


@pytest.mark.long
@pytest.mark.parametrize("target", ["npu", "npu-tiny", "u85-like"])
@pytest.mark.parametrize("name", sorted(each.stem for each in EXAMPLES.glob("*.mlir")))
def test_cost_model_and_pass_overlap_the_same_loops_of_examples(name: str, target: str):
    check_overlap((EXAMPLES / f"{name}.mlir").read_text(), target)
