"""Proof that the boxes a nest accesses are disjoint across its iterations."""

from __future__ import annotations

from tlf.analysis.buffers.box_disjointness import (
    MAX_ITERATIONS,
    is_disjoint_across_iterations,
)
from tlf.planner.cost.program.instruction_nests import (
    DisjointBox,
    Nest,
    counter_values,
    evaluate_index,
)
from tlf.support.affine.index_access import AffineSum


def find_disjoint_box(
    nest: Nest, offsets: tuple[AffineSum, ...], box: tuple[int, ...]
) -> DisjointBox | None:
    """Return the box of an iteration if boxes of any two iterations are disjoint."""
    if not 1 < nest.trips <= MAX_ITERATIONS:
        return None
    variables = set(nest.variables)
    columns = [
        [evaluate_index(offset, values) for values in counter_values(nest)]
        if all(symbol in variables for symbol, _ in offset.terms)
        else None
        for offset in offsets
    ]
    return (
        DisjointBox(nest, offsets, box)
        if is_disjoint_across_iterations(columns, box)
        else None
    )
