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
    """
    Loop that can replace two loops of equal trip count, with the maps to their
    induction variables.
    """

    common_loop: LoopBounds
    factor_and_offset_of_first: tuple[int, AffineSum]
    """
    Factor and summand that map the common induction variable to that of the first loop.
    """
    factor_and_offset_of_second: tuple[int, AffineSum]


def match_loops_of_nests(
    first: tile.WhileOp, second: tile.WhileOp
) -> Sequence[FusedLoop] | None:
    """Return one common loop per pair of loops; None if trip counts may differ."""
    pairs = zip(loop_bounds_of(first), loop_bounds_of(second), strict=True)
    matches = [_find_common_loop(one, other) for one, other in pairs]
    loops = [each for each in matches if each is not None]
    return loops if len(loops) == len(matches) else None


def _find_common_loop(
    first_loop: LoopBounds, second_loop: LoopBounds
) -> FusedLoop | None:
    """
    Return the common loop of two with equal trip counts; None if there is none. If the
    steps differ, its induction variable is that of the loop whose step divides the
    other; if neither divides the other, it counts iterations.
    """
    identity = (1, AffineSum())
    if first_loop == second_loop:
        return FusedLoop(first_loop, identity, identity)
    if first_loop.trips is None or first_loop.trips != second_loop.trips:
        return None
    if second_loop.step % first_loop.step == 0:
        return FusedLoop(
            first_loop, identity, _affine_relation_to_base_loop(first_loop, second_loop)
        )
    if first_loop.step % second_loop.step == 0:
        return FusedLoop(
            second_loop,
            _affine_relation_to_base_loop(second_loop, first_loop),
            identity,
        )
    counting = LoopBounds(AffineSum(), AffineSum(first_loop.trips), 1)
    return FusedLoop(
        counting,
        _affine_relation_to_base_loop(counting, first_loop),
        _affine_relation_to_base_loop(counting, second_loop),
    )


def _affine_relation_to_base_loop(
    base: LoopBounds, loop: LoopBounds
) -> tuple[int, AffineSum]:
    factor = loop.step // base.step
    return factor, loop.lower - base.lower * factor
