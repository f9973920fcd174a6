"""
Analysis of the loops of two nests: those with equal trip counts, and the common loop
that can replace both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tlf.analysis.affine_loops.iteration_systems import LoopBounds, loop_bounds_of
from tlf.dialects import tile
from tlf.support.affine.index_access import AffineSum


@dataclass(frozen=True)
class FusedLoop:
    """Common loop of two loops with equal trip counts."""

    loop: LoopBounds
    first: tuple[int, AffineSum]
    """
    Factor and summand that map the common induction variable to that of the first loop.
    """
    second: tuple[int, AffineSum]


def match_loops(
    first: tile.WhileOp, second: tile.WhileOp
) -> Sequence[FusedLoop] | None:
    """Return one common loop per pair of loops; None if trip counts may differ."""
    pairs = zip(loop_bounds_of(first), loop_bounds_of(second), strict=True)
    matches = [_match_pair(one, other) for one, other in pairs]
    loops = [each for each in matches if each is not None]
    return loops if len(loops) == len(matches) else None


def _match_pair(one: LoopBounds, other: LoopBounds) -> FusedLoop | None:
    """
    Return the common loop of two with equal trip counts; None if there is none. If the
    steps differ, its induction variable is that of the loop whose step divides the
    other; if neither divides the other, it counts iterations.
    """
    identity = (1, AffineSum())
    if one == other:
        return FusedLoop(one, identity, identity)
    if one.trips is None or one.trips != other.trips:
        return None
    if other.step % one.step == 0:
        return FusedLoop(one, identity, _relate_to_base(one, other))
    if one.step % other.step == 0:
        return FusedLoop(other, _relate_to_base(other, one), identity)
    counting = LoopBounds(AffineSum(), AffineSum(one.trips), 1)
    return FusedLoop(
        counting, _relate_to_base(counting, one), _relate_to_base(counting, other)
    )


def _relate_to_base(base: LoopBounds, loop: LoopBounds) -> tuple[int, AffineSum]:
    factor = loop.step // base.step
    return factor, loop.lower - base.lower * factor
