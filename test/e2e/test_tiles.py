"""Numbers of tiles of the examples; the last tiles may be partial."""

import pytest
from against_torch import compare
from differential import compiled_text, tiled
from example_layers import BlockSizes, LayerSizes, bottleneck, transformer_layer
from example_variants import (
    Variant,
    gelu,
    layer_norm,
    matmul_bias_relu,
    softmax,
    weighted_sum,
)
from xdsl.dialects.builtin import ModuleOp

from tlf.dialects import tile
from tlf.dialects.target import load_target_spec
from tlf.lowering.pipelines import PIPELINES, pipelines_for
from tlf.runtime import triton

VARIANTS = [
    gelu(151, 211),
    softmax(101, 307),
    layer_norm(101, 307),
    matmul_bias_relu(101, 103, 211),
    weighted_sum(211, 307),
    transformer_layer(LayerSizes(2, 59, 3, 43, 163), tiled=(59, 43, 3 * 43, 163)),
    bottleneck(BlockSizes(2, 67, 23, 37, 41), tiled=(67, 23, 37, 41)),
]
"""Every example, with extents that no two axes share."""

SIZES = [(16, 64, 63, 8), (17, 48, 59, 11)]
"""Tile sizes for the weighted sum, and the blocks and steps that they make of it."""


def loops(module: ModuleOp, kind: tile.LoopKind | None = None) -> set[tuple[int, int]]:
    """The extent and the step of each loop, of one kind or of all."""
    return {
        (upper, step)
        for op in module.walk()
        if isinstance(op, tile.WhileOp) and kind in (None, op.kind.data)
        for upper, step in zip(op.mixed_upper_bounds, op.step_values, strict=True)
        if isinstance(upper, int)
    }


def sized(pipeline: str, rows: int, columns: int) -> str:
    """A pipeline whose first tiles have a size."""
    options = f"tile={rows} reduce={columns}"
    text = PIPELINES[pipeline]
    for name, given in (("select-tile-sizes", options), ("partition", f"tile={rows}")):
        step = f"graph-{name}{{level=L2"
        text = text.replace(step, f"{step} {given}")
    return text.replace(
        "graph-select-tile-sizes,", f"graph-select-tile-sizes{{{options}}},"
    )


@pytest.mark.one_in(4)
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda each: each.program.name)
def test_every_axis_has_several_tiles_and_a_partial_one(variant: Variant):
    target = load_target_spec("npu-tiny")
    pipeline = pipelines_for(target)["npu-pipeline"]
    pipeline = pipeline.replace("graph-partition{level=L2},", "")
    largest = "graph-select-tile-sizes{strategy=largest "
    pipeline = pipeline.replace("graph-select-tile-sizes{", largest)
    found = loops(tiled(variant.program.text(), target, pipeline))

    assert variant.tiled
    for extent in variant.tiled:
        steps = [step for each, step in found if each == extent]
        assert any(1 < step < extent and extent % step for step in steps), extent


@pytest.mark.one_in(12)
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda each: each.program.name)
def test_values_of_partial_tiles(variant: Variant):
    compare(variant, "npu-tiny")


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("rows", "columns", "blocks", "steps"), SIZES)
@pytest.mark.parametrize("target", ["npu", "h200"])
def test_chosen_tiles(target: str, rows: int, columns: int, blocks: int, steps: int):
    variant, description = weighted_sum(1000, 512), load_target_spec(target)
    pipeline = sized(f"{description.backend}-pipeline", rows, columns)

    module = tiled(variant.program.text(), description, pipeline)

    assert (1000, rows) in loops(module, tile.LoopKind.PARALLEL)
    assert (512, columns) in loops(module, tile.LoopKind.SEQUENTIAL)
    assert (-(-1000 // rows), -(-512 // columns)) == (blocks, steps)
    compare(variant, target, pipeline)


@pytest.mark.parametrize(("rows", "columns", "blocks", "steps"), SIZES)
def test_chosen_tiles_are_the_grid(rows: int, columns: int, blocks: int, steps: int):
    pipeline = sized("triton-pipeline", rows, columns)

    text = compiled_text(weighted_sum(1000, 512).program.text(), "h200", pipeline)

    (kernel,) = triton.load_plan(text).kernels
    assert kernel.grid == (blocks,)
