"""What a group moves between two memories: bytes, and cycles of the channel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from tlf.dialects.access import Box, Interval
from tlf.passes.cost.nest import Moves
from tlf.passes.tiling.boxes import moves_with
from tlf.passes.tiling.model import GroupTiling, Loop


@dataclass(frozen=True)
class Traffic:
    """Moves in one direction, all of them together."""

    bytes: int = 0
    """Payload."""
    cycles: float = 0.0
    """That they take the channel."""

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(self.bytes + other.bytes, self.cycles + other.cycles)


class Movements:
    """
    Adds up what moves of boxes cost over all iterations of a group's loops.
    """

    def __init__(self, tiling: GroupTiling, moves: Moves) -> None:
        self.moves = moves
        rolled = tiling.rolled
        loops = [loop for loop in tiling.loops.values() if loop is not rolled]
        self.outer = [*loops, rolled] if rolled is not None else loops
        """The loops over tiles, outermost first."""
        self.loops = [*self.outer, *tiling.inner_loops.values()]
        """Those over the pieces of a reduction, too."""

    def into(self, value: SSAValue, box: Box) -> Traffic:
        """Bring a box near, outside of the loops further in that do not move it."""
        return self._all(value, box, self.repeats(box), inward=True)

    def back(self, value: SSAValue, box: Box) -> Traffic:
        """Put a box back in every iteration."""
        return self._all(value, box, self._iterations(box, self.outer), inward=False)

    def repeats(self, box: Box) -> int:
        """How often the same box is moved."""
        return self._iterations(box, self.loops[: self.depth(box)])

    def depth(self, box: Box) -> int:
        """Within how many loops a box is cut."""
        return max(
            (n + 1 for n, loop in enumerate(self.loops) if moves_with(box, (loop,))),
            default=0,
        )

    @staticmethod
    def _iterations(box: Box, loops: Sequence[Loop]) -> int:
        """The iterations of those loops that do not move a box."""
        return prod(loop.trips for loop in loops if not moves_with(box, (loop,)))

    def _all(self, value: SSAValue, box: Box, times: int, *, inward: bool) -> Traffic:
        shape, item, _ = self.moves.measure(value)
        covered = [
            covered_extent(interval, extent)
            for interval, extent in zip(box, shape, strict=True)
        ]
        payload = prod(covered) * item * times
        cost = self.moves.into(value, box) if inward else self.moves.back(value, box)
        typical = prod(
            min(interval.room, extent)
            for interval, extent in zip(box, shape, strict=True)
        )
        cycles = max((busy for _, busy in cost.shared), default=cost.cycles)
        cycles *= payload / max(1, typical * item)
        return Traffic(payload, max(cycles, self.moves.least(payload)))


def covered_extent(interval: Interval, extent: int) -> int:
    """The indices of an axis that an interval holds, over all iterations together."""
    loops = [symbol for symbol, _ in interval.offset.terms if isinstance(symbol, Loop)]
    if not loops:
        return clipped(interval.offset.constant, interval.size, extent)
    if len(loops) > 1:
        return min(interval.size, extent) * prod(loop.trips for loop in loops)
    ((_, factor),) = interval.offset.terms
    (loop,) = loops
    first, step = interval.offset.constant, factor * loop.tile
    last = loop.trips - 1
    inside = [
        number
        for number in range(loop.trips)
        if number in (0, 1, last - 1, last) or loop.trips <= MANY
    ]
    total = sum(
        clipped(first + number * step, interval.size, extent) for number in inside
    )
    return total + (loop.trips - len(inside)) * min(interval.size, extent)


MANY = 64
"""Of more iterations than this, those in the middle are taken to be whole."""


def clipped(first: int, size: int, extent: int) -> int:
    """How many of `size` indices from `first` on an axis has."""
    return max(0, min(first + size, extent) - max(first, 0))
