"""Which moves of a nest take boxes of a buffer in turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from tlf.dialects.access import Linear
from tlf.passes.analysis.turns import MOST, are_in_turn
from tlf.passes.cost.schedule.program import Nest, Turn, Variable, value_of


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
        [value_of(offset, values) for values in _iterations(nest)]
        if all(symbol in variables for symbol, _ in offset.terms)
        else None
        for offset in offsets
    ]
    return Turn(nest, offsets, box) if are_in_turn(columns, box) else None


def _iterations(nest: Nest) -> Iterator[Mapping[Variable, int]]:
    """The counters of a nest, in each iteration."""
    counts = [
        range(each.lower, each.lower + each.step * each.trips, each.step)
        for each in nest.variables
    ]
    for values in product(*counts):
        yield dict(zip(nest.variables, values, strict=True))
