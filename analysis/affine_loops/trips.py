"""Nests that run equally often, and one variable for the loops of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tlf.analysis.affine_loops.systems import Loop, loops_of
from tlf.dialects import tile
from tlf.support.affine.access import Linear


@dataclass(frozen=True)
class SharedLoop:
    """One loop for two that run equally often, which follow its variable."""

    loop: Loop
    first: tuple[int, Linear]
    """A factor and a summand: the variable of the first loop."""
    second: tuple[int, Linear]


def shared_loops(
    first: tile.WhileOp, second: tile.WhileOp
) -> Sequence[SharedLoop] | None:
    """One loop for each pair of loops, or None where they may run differently often."""
    pairs = zip(loops_of(first), loops_of(second), strict=True)
    found = [_shared(one, other) for one, other in pairs]
    shared = [each for each in found if each is not None]
    return shared if len(shared) == len(found) else None


def _shared(one: Loop, other: Loop) -> SharedLoop | None:
    """
    Return the shared loop of two with equal trip counts; None if there is none. Where
    the steps differ, its induction variable is that of the loop whose step divides the
    other; where neither does, it counts iterations.
    """
    same = (1, Linear())
    if one == other:
        return SharedLoop(one, same, same)
    if one.trips is None or one.trips != other.trips:
        return None
    if other.step % one.step == 0:
        return SharedLoop(one, same, _following(one, other))
    if one.step % other.step == 0:
        return SharedLoop(other, _following(other, one), same)
    counting = Loop(Linear(), Linear(one.trips), 1)
    return SharedLoop(counting, _following(counting, one), _following(counting, other))


def _following(base: Loop, loop: Loop) -> tuple[int, Linear]:
    factor = loop.step // base.step
    return factor, loop.lower - base.lower * factor
