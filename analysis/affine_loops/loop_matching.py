"""Loops of two nests with equal trip counts, and the common loop that replaces both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tlf.analysis.affine_loops.iteration_systems import LoopBounds, loop_bounds_of
from tlf.dialects import tile
from tlf.support.affine.index_access import AffineSum


@dataclass(frozen=True)
class FusedLoop:
    """The common loop of two loops with equal trip counts."""

    loop: LoopBounds
    first: tuple[int, AffineSum]
    """A factor and a summand: the variable of the first loop."""
    second: tuple[int, AffineSum]


def match_loops(
    first: tile.WhileOp, second: tile.WhileOp
) -> Sequence[FusedLoop] | None:
    """One loop for each pair of loops, or None where they may run differently often."""
    pairs = zip(loop_bounds_of(first), loop_bounds_of(second), strict=True)
    found = [_match_pair(one, other) for one, other in pairs]
    shared = [each for each in found if each is not None]
    return shared if len(shared) == len(found) else None


def _match_pair(one: LoopBounds, other: LoopBounds) -> FusedLoop | None:
    """
    Return the shared loop of two with equal trip counts; None if there is none. Where
    the steps differ, its induction variable is that of the loop whose step divides the
    other; where neither does, it counts iterations.
    """
    same = (1, AffineSum())
    if one == other:
        return FusedLoop(one, same, same)
    if one.trips is None or one.trips != other.trips:
        return None
    if other.step % one.step == 0:
        return FusedLoop(one, same, _relate_to_base(one, other))
    if one.step % other.step == 0:
        return FusedLoop(other, _relate_to_base(other, one), same)
    counting = LoopBounds(AffineSum(), AffineSum(one.trips), 1)
    return FusedLoop(
        counting, _relate_to_base(counting, one), _relate_to_base(counting, other)
    )


def _relate_to_base(base: LoopBounds, loop: LoopBounds) -> tuple[int, AffineSum]:
    factor = loop.step // base.step
    return factor, loop.lower - base.lower * factor
