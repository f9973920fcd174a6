"""Traffic of a group between two memories: bytes, and cycles of the channel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from tlf.analysis.tiling.boxes import moves_with
from tlf.analysis.tiling.model import GroupTiling, Loop, TiledOperation
from tlf.dialects.interfaces import IndexedInterface
from tlf.planner.cost.covered import covered_extent
from tlf.planner.cost.npu.indexed import gathered
from tlf.planner.cost.npu.moves import Moves
from tlf.support.affine.access import Box


@dataclass(slots=True)
class Traffic:
    """
    Moves in one direction, all of them together. It is never changed; a frozen class
    would take longer to make.
    """

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

    def by_indices(self, tiled: TiledOperation) -> Traffic:
        """Bring what indices name near, in every iteration."""
        op, moves = tiled.op, self.moves
        assert isinstance(op, IndexedInterface)
        shape, item, _ = moves.measure(op.results[0])
        rooms = [interval.room for interval in tiled.result]
        pairs = zip(tiled.result, shape, strict=True)
        times = self._iterations(tiled.result, self.outer)
        payload = prod(covered_extent(*each) for each in pairs) * item * times
        cost = gathered(moves.costs, op, rooms, moves.near, moves.far)
        cycles = cost.cycles * payload / max(1, prod(map(min, rooms, shape)) * item)
        return Traffic(payload, max(cycles, moves.least(payload)))

    def repeats(self, box: Box) -> int:
        """Return how many times the same box is moved."""
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
        rooms = [interval.room for interval in box]
        typical = prod(map(min, rooms, shape))
        cycles = max((busy for _, busy in cost.shared), default=cost.cycles)
        cycles *= payload / max(1, typical * item)
        return Traffic(payload, max(cycles, self.moves.least(payload)))
