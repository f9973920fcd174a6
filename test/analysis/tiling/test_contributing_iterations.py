"""Bounds of reduction loops under masks are those that an enumeration finds."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

import numpy as np
import pytest
from masked_programs import (
    MaskedProgram,
    draw_program,
    parse_group,
    tile_sizes_of,
)
from numpy.typing import NDArray

from tlf.analysis.tiling.contributing_iterations import (
    IterationRange,
    find_contributing_iterations,
)
from tlf.analysis.tiling.group_analysis import tile_rules_of
from tlf.analysis.tiling.group_tiling import GroupTiling
from tlf.dialects.target import load_target_spec
from tlf.support.affine.affine_extrema import evaluate_term

PROGRAMS = 200


def tiling_of(text: str, rows: int, columns: int, target: str = "h200") -> GroupTiling:
    """Return the tiles of a program as one group."""
    _, _, members = parse_group(text, target)
    chip = load_target_spec(target)
    rules = tile_rules_of(chip, chip.tile_levels[-1].name)
    sizes = tile_sizes_of(members, rows)
    return members.analyze_tiles_of_sizes(sizes, (columns,), rules)


def ends(part: IterationRange, tiling: GroupTiling, row: int) -> tuple[int, int]:
    """Return the bounds of a loop for the tile of rows from `row` on."""
    values: dict[Hashable, int] = {loop: row for loop in tiling.loops.values()}
    first, end = (int(evaluate_term(e, values)) for e in (part.first, part.end))
    return first, end


def tiles_with(found: NDArray[np.bool_], columns: int) -> list[int]:
    """Return the starts of the column tiles in which there is some element."""
    count = found.shape[1]
    starts = range(0, count, columns)
    return [first for first in starts if found[:, first : first + columns].any()]


def hull(found: NDArray[np.bool_], columns: int) -> range:
    """Return the column tiles from the first to the last with some element."""
    starts = tiles_with(found, columns)
    return range(starts[0], starts[-1] + 1, columns) if starts else range(0)


@pytest.mark.one_in(1)
@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_ranges(seed: int):
    """No shown tile is omitted, and no more tiles are computed than between two."""
    program = draw_program(seed)
    rows, columns = program.tile_sizes(seed)
    tiling = tiling_of(program.text(), rows, columns)
    found = find_contributing_iterations(tiling)
    # Rows of the last tile beyond the last row have positions, too.
    padded = replace(program, rows=-(-program.rows // rows) * rows).shown()

    for row in range(0, program.rows, rows):
        least = hull(program.shown()[row : row + rows], columns)
        most = hull(padded[row : row + rows], columns)
        if found is None:
            assert len(most) * columns >= program.columns or not tiling.inner_loops
            continue
        computed = range(*ends(found.whole, tiling, row), columns)
        assert {*least} <= {*computed}
        # Where two half-planes do not meet, both may have elements in one tile.
        assert {*computed} <= {*most} or not most
        if found.unmasked is not None:
            plain = range(*ends(found.unmasked, tiling, row), columns)
            hidden = tiles_with(~program.shown()[row : row + rows], columns)
            assert not {*plain} & {*hidden}


@pytest.mark.parametrize("ahead", [-1, 0, 1])
def test_diagonal(ahead: int):
    """Each bound of a causal mask is exact: one position more changes a tile."""
    program = MaskedProgram("causal", 16, 16, ahead)
    tiling = tiling_of(program.text(), 4, 4)
    found = find_contributing_iterations(tiling)
    assert found is not None
    assert found.unmasked is not None
    for row in range(0, 16, 4):
        assert ends(found.whole, tiling, row) == (0, min(16, row + 4 + 4 * (ahead > 0)))
        assert ends(found.unmasked, tiling, row) == (0, row - 4 * (ahead < -1))


def test_window_has_masks_on_both_sides():
    program = MaskedProgram("window", 64, 64, before=16, behind=7)
    tiling = tiling_of(program.text(), 4, 4)
    found = find_contributing_iterations(tiling)
    assert found is not None
    parts = [*found.split_ranges()]
    assert [bool(part.conditions) for part in parts] == [False, False, True]
    bounds = [ends(part, tiling, 32) for part in parts]
    assert bounds == [(16, 20), (40, 44), (20, 40)]


def test_positions_in_a_tensor_are_not_bounded():
    """Masks that are arguments show any column."""
    text = MaskedProgram("causal", 16, 16).text()
    loaded = text.replace("%v: tensor", "%mask: tensor<16x16xi1>, %v: tensor")
    loaded = loaded.replace("graph.select %m,", "graph.select %mask,")
    assert find_contributing_iterations(tiling_of(loaded, 4, 4)) is None


@pytest.mark.parametrize("reduction", ["max", "sum"])
def test_reductions_with_neutral_elements(reduction: str):
    """Hidden elements are omitted if they are the neutral element, and only then."""
    program = MaskedProgram("causal", 16, 16)
    tensors = "(tensor<16x16xf32>) -> tensor<16x1xf32>"
    body = f"%y = graph.reduce %t <{reduction}> axes [1] keepdims : {tensors}"
    head = (
        program.text()
        .partition("%p =")[0]
        .replace("-> tensor<16x8xf32>", "-> tensor<16x1xf32>")
    )
    text = f"{head}{body}\n  func.return %y : tensor<16x1xf32>\n}}\n"
    found = find_contributing_iterations(tiling_of(text, 4, 4))
    assert (found is not None) == (reduction == "max")


def test_product_of_a_triangular_matrix():
    program = MaskedProgram("causal", 16, 16)
    tiling = tiling_of(program.product(), 4, 4)
    found = find_contributing_iterations(tiling)
    assert found is not None
    assert [ends(found.whole, tiling, row) for row in (0, 12)] == [(0, 4), (0, 16)]


def test_targets_without_variable_trips():
    """Loops of an NPU have constant bounds."""
    text = MaskedProgram("causal", 16, 16).text()
    tiling = tiling_of(text, 4, 4, "npu")
    assert find_contributing_iterations(tiling) is None
