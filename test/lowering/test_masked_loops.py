"""Loops over the columns that a mask shows compute the right values at each level."""

from __future__ import annotations

import numpy as np
import pytest
from cascade_programs import run
from differential import executed, printed
from masked_programs import MaskedProgram, draw_program, lower_to_loops
from numpy.typing import NDArray

from tlf.dialects import tile
from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.interpret import interpret
from tlf.dialects.target import load_target_spec

PROGRAMS = 60

TIDY = "canonicalize,tlf-cse,dce"

TO_BUFFERS = (
    f"{TIDY},convert-tile-to-mem,{TIDY},mem-fold-unit-dims,{TIDY},mem-schedule-moves"
)

TOLERANCES = {"f32": 1e-5, "f16": 4e-3, "bf16": 3e-2}


def assert_close(found: Array, expected: NDArray[np.float64], element: str) -> None:
    """Check a result and its NaN, with errors relative to the largest element."""
    scale = np.abs(expected[np.isfinite(expected)]).max(initial=1.0)
    np.testing.assert_allclose(
        found.astype(np.float64), expected, rtol=0, atol=TOLERANCES[element] * scale
    )


@pytest.mark.parametrize("element", TOLERANCES)
@pytest.mark.parametrize("seed", range(PROGRAMS))
@pytest.mark.one_in(4)
def test_values(seed: int, element: str):
    program = draw_program(seed, element)
    context, module = lower_to_loops(program.text(), *program.tile_sizes(seed))
    inputs = program.inputs(seed)
    expected = program.attention(inputs)

    (tiles,) = interpret(module, inputs)
    assert_close(tiles, expected, element)
    run(TO_BUFFERS, context, module)
    (buffers,) = interpret(module, inputs)
    assert_close(buffers, expected, element)
    run("convert-mem-to-triton", context, module)
    target = load_target_spec("h200")
    (kernel,) = executed(printed(context, module, target), target, inputs)
    assert_close(kernel, expected, element)


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_triangular_products(seed: int):
    """Hidden elements of a factor are 0, whatever they are."""
    program = draw_program(seed)
    _, module = lower_to_loops(program.product(), *program.tile_sizes(seed))
    inputs = program.inputs(seed)
    scores, expected = program.masked_product(inputs)

    (found,) = interpret(module, {"s": scores, "v": inputs["v"]})

    assert_close(found, expected, "f32")


def test_values_at_hidden_positions_are_not_read():
    """A product of 0 and infinity is NaN, unless its iteration is omitted."""
    program = MaskedProgram("causal", 16, 16)
    inputs = program.inputs(0)
    inputs["v"][12:] = np.inf
    _, module = lower_to_loops(program.text(), 4, 4)
    (found,) = interpret(module, inputs)
    assert np.isfinite(found[:12]).all()


def test_masks_are_computed_where_they_hide_something():
    """Of the two loops of a causal mask, one has no mask and loads no positions."""
    program = MaskedProgram("causal", 256, 256)
    context, module = lower_to_loops(program.text(), 8, 8)
    run(f"{TO_BUFFERS},convert-mem-to-triton", context, module)
    text = printed(context, module, load_target_spec("h200"))

    _, masked, plain = text.partition("# plan")[0].split("in tl.range(")
    assert plain.startswith("0, i0, 8)")
    assert masked.startswith("i0, i1, 8)")
    assert ["tl.where(" in each for each in (plain, masked)] == [False, True]
    assert [each.count("tl.load(") for each in (plain, masked)] == [2, 3]


@pytest.mark.parametrize(
    ("program", "loops"),
    [
        (MaskedProgram("causal", 72, 72), 2),
        (MaskedProgram("causal", 64, 64), 1),
        (MaskedProgram("window", 256, 256, before=96, behind=96), 1),
    ],
    ids=["long", "short", "masks on both sides"],
)
def test_parts_without_masks_that_have_a_loop(program: MaskedProgram, loops: int):
    _, module = lower_to_loops(program.text(), 8, 8)
    found = [op for op in module.walk() if isinstance(op, tile.WhileOp)]
    assert len(found) == 1 + loops


@pytest.mark.parametrize(("columns", "is_cut"), [(256, False), (250, True)])
def test_loads_are_masked_where_a_tile_may_end_outside(columns: int, is_cut: bool):
    """Bounds that depend on the row are multiples of the tile."""
    program = MaskedProgram("window", 256, columns, before=17, behind=17)
    context, module = lower_to_loops(program.text(), 8, 8)
    run(f"{TO_BUFFERS},convert-mem-to-triton", context, module)
    text = printed(context, module, load_target_spec("h200")).partition("# plan")[0]
    assert ("mask=" in text) == is_cut
