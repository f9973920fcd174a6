"""Moves of a nest that take disjoint boxes of a buffer in turn."""

from __future__ import annotations

from tlf.analysis.buffers.turns_analysis import MOST, are_in_turn
from tlf.planner.cost.program.program import Nest, Turn, iterations, value_of
from tlf.support.affine.access import Linear


def turn_of(
    nest: Nest, offsets: tuple[Linear, ...], box: tuple[int, ...]
) -> Turn | None:
    """
    The box that starts at some offsets, if those are known to be apart in any two
    iterations of a nest.
    """
    if not 1 < nest.trips <= MOST:
        return None
    variables = set(nest.variables)
    columns = [
        [value_of(offset, values) for values in iterations(nest)]
        if all(symbol in variables for symbol, _ in offset.terms)
        else None
        for offset in offsets
    ]
    return Turn(nest, offsets, box) if are_in_turn(columns, box) else None
