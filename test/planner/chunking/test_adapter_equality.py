"""Decisions on programs of `mem`, against those on the schedules of the cost model."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from differential import limit_search, parsed, steps_of
from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tlf.compiler.driver.pass_manager import PassManager, VerifyEach
from tlf.compiler.experiments.measurement import main_function_of
from tlf.dialects.target import Level, TargetSpec, load_target_spec
from tlf.passes.mem.mem_chunk_loads import MemChunkLoadsPass
from tlf.planner.chunking.block_facts import AccessT, BlockFacts
from tlf.planner.chunking.chunk_selection import ChunkedMove
from tlf.planner.chunking.load_chunking import select_chunked_loads
from tlf.planner.chunking.mem_block import MemBlock
from tlf.planner.chunking.store_chunking import select_chunked_stores
from tlf.planner.cost.program.chunked_moves import split_loads_into_chunks
from tlf.planner.cost.program.cycle_estimate import read_schedule
from tlf.planner.cost.program.instruction_nests import Item, nests_in
from tlf.planner.cost.program.schedule_block import ScheduleBlock

EXAMPLES = Path(__file__).parents[3] / "examples"

PRODUCT = """
!t = tensor<256x256xf16>
func.func @product(%x: !t, %w: !t) -> !t {
  %0 = graph.matmul %x, %w : (!t, !t) -> !t
  func.return %0 : !t
}
"""


def describe(
    block: BlockFacts[AccessT], decisions: Sequence[ChunkedMove[AccessT]]
) -> list[object]:
    """Return what decisions say without the objects of their program."""

    def ordinal(position: int) -> int:
        """Return the number of moves and loops before a position."""
        loops = block.loop_positions
        before = range(position)
        return sum(at in loops or block.move_at(at) is not None for at in before)

    return [
        (
            ordinal(each.position),
            ordinal(each.insertion_position),
            each.start,
            each.shape,
            each.is_clipped,
            each.chunking,
        )
        for each in decisions
    ]


def describe_loads(block: BlockFacts[AccessT], level: Level) -> list[object]:
    return describe(block, select_chunked_loads(block, level))


def describe_stores(
    blocks: Iterator[BlockFacts[AccessT]], level: Level
) -> list[object]:
    return [
        each
        for block in blocks
        for each in describe(block, select_chunked_stores(block, level))
    ]


def blocks_of_schedule(items: Sequence[Item]) -> Iterator[ScheduleBlock]:
    yield ScheduleBlock(items, items)
    for nest in nests_in(items):
        yield ScheduleBlock(nest.body, items, nest)


def blocks_of_function(function: func.FuncOp) -> Iterator[MemBlock]:
    yield MemBlock.of(function.body.block)
    for op in function.walk():
        if isinstance(op, scf.ForOp | scf.ParallelOp):
            yield MemBlock.of(op.body.block)


def run_passes(
    context: Context, module: ModuleOp, passes: Sequence[ModulePass]
) -> None:
    PassManager(passes, verify_each=VerifyEach.NOTHING).run(context, module)


def decisions_of_both(
    context: Context, module: ModuleOp, target: TargetSpec
) -> Iterator[tuple[list[object], list[object]]]:
    """Yield the loads, then the stores, that the cost model and the passes split."""
    steps = [limit_search(each) for each in steps_of(target)]
    names = [each.name for each in steps]
    tiles, chunks = names.index("convert-tile-to-mem"), names.index("mem-chunk-loads")
    level = target.outermost_level

    run_passes(context, module, steps[:tiles])
    items, _ = read_schedule(main_function_of(module), target, "mem-chunk-loads")
    run_passes(context, module, steps[tiles:chunks])
    function = main_function_of(module)
    loads = describe_loads(MemBlock.of(function.body.block), level)
    yield describe_loads(ScheduleBlock(items, items), level), loads

    split_loads_into_chunks(items, target)
    MemChunkLoadsPass().apply(context, module)
    stores = describe_stores(blocks_of_function(function), level)
    yield describe_stores(blocks_of_schedule(items), level), stores


def check_decisions(text: str, target: str) -> tuple[int, int]:
    """Compare the decisions on a program; return the numbers of loads and stores."""
    context, module = parsed(text)
    spec = load_target_spec(target)
    spec.attach_to_module(module)

    loads, stores = decisions_of_both(context, module, spec)

    assert loads[0] == loads[1]
    assert stores[0] == stores[1]
    return len(loads[0]), len(stores[0])


def test_cost_model_and_passes_split_the_same_moves():
    assert check_decisions(PRODUCT, "npu") == (1, 1)


@pytest.mark.long
@pytest.mark.parametrize("target", ["npu", "npu-tiny", "u85-like"])
@pytest.mark.parametrize("name", sorted(each.stem for each in EXAMPLES.glob("*.mlir")))
def test_cost_model_and_passes_decide_the_same_on_examples(name: str, target: str):
    check_decisions((EXAMPLES / f"{name}.mlir").read_text(), target)
