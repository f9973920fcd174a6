"""Rows of images as one axis: values are right, and products take fewer passes."""

import pytest
from differential import (
    check,
    make_case,
    parsed,
    printed,
    steps_of,
    with_and_without,
)
from example_layers import BlockSizes, bottleneck
from xdsl.dialects import func

from tlf.compiler.driver.pass_manager import PassManager
from tlf.dialects import mem
from tlf.dialects.target import load_target_spec
from tlf.dialects.weight_preparation_attributes import is_preparation_function
from tlf.planner.cost.program.cycle_estimate import estimate_function_cycles
from tlf.runtime import npu

TARGET = "npu-tiny:L2=16K"
"""Its array has 8 columns, and its memory no room for whole images."""

BLOCKS = {
    "12-f16": (BlockSizes(1, 16, 4, 40, 12), "f16"),
    "13-bf16": (BlockSizes(1, 8, 8, 40, 13), "bf16"),
    "21-f16": (BlockSizes(1, 8, 4, 40, 21), "f16"),
    "13-f32": (BlockSizes(1, 4, 4, 33, 13), "f32"),
}
"""Bottleneck blocks whose rows do not fill columns; all but the last roll rows."""


def timed(text: str) -> npu.Report:
    return npu.run(npu.parse(text), {}, functional=False)


def text_of(block: str) -> str:
    sizes, element = BLOCKS[block]
    return bottleneck(sizes, element).program.text()


@pytest.mark.long
@pytest.mark.one_in(6)
@pytest.mark.parametrize("block", list(BLOCKS)[:-1])
def test_rows_of_rings_are_one_axis(block: str):
    """And the cost model knows."""
    context, module = parsed(text_of(block))
    target = load_target_spec(TARGET)
    target.attach_to_module(module)
    passes = steps_of(target)
    buffers = [each.name for each in passes].index("convert-tile-to-mem")
    PassManager(passes[:buffers]).run(context, module)
    predicted = sum(
        estimate_function_cycles(function, target).cycles
        for function in module.ops
        if isinstance(function, func.FuncOp) and not is_preparation_function(function)
    )

    PassManager(passes[buffers : buffers + 1]).run(context, module)

    assert any(isinstance(op, mem.CollapseOp) for op in module.walk())

    PassManager(passes[buffers + 1 :]).run(context, module)
    found = timed(printed(context, module, target))

    assert predicted == pytest.approx(found.cycles, rel=0.02)


@pytest.mark.long
@pytest.mark.one_in(8)
@pytest.mark.parametrize("block", BLOCKS)
def test_values_at_every_stage(block: str):
    assert check(make_case(text_of(block)), TARGET, search=True) is None


@pytest.mark.one_in(4)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("block", BLOCKS)
def test_values_with_any_tiles(block: str, seed: int):
    """Tiles that end in the middle of a row, or where a ring does."""
    fault = check(make_case(text_of(block)), TARGET, stages=False, plans=seed)
    assert fault is None or fault.kind == "refused"


@pytest.mark.long
def test_products_take_fewer_passes():
    """Rows of 24 pixels leave 40 of 64 columns of the array idle."""
    text = bottleneck(BlockSizes(1, 256, 64, 24, 24), "f16").program.text()

    target = load_target_spec("npu")
    context, module, other = with_and_without(text, target, "graph-collapse-dims")

    collapsed, apart = (
        timed(printed(context, each, target)) for each in (module, other)
    )
    assert collapsed.busy["matrix"] < 0.94 * apart.busy["matrix"]
    assert collapsed.cycles < apart.cycles
