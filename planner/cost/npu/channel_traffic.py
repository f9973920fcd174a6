"""
Cost model of a group's traffic between two NPU memory levels: bytes and channel cycles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from tlf.analysis.tiling.box_covering import innermost_moving_depth, symbols_of_box
from tlf.analysis.tiling.group_tiling import GroupTiling, TiledOperation, TileLoop
from tlf.dialects.interfaces import IndexedReadInterface
from tlf.planner.cost.covered_extents import covered_index_count
from tlf.planner.cost.npu.transfer_costs import TransferCosts
from tlf.support.affine.index_access import Box


@dataclass(slots=True)
class ChannelTraffic:
    """
    Total of the moves in one direction. Treat instances as immutable; a frozen class
    would be slower to construct.
    """

    bytes: int = 0
    """Payload."""
    cycles: float = 0.0
    """Channel cycles."""

    def __add__(self, other: ChannelTraffic) -> ChannelTraffic:
        return ChannelTraffic(self.bytes + other.bytes, self.cycles + other.cycles)


class GroupTransferTraffic:
    """Total traffic of moving boxes over all iterations of a group's loops."""

    def __init__(self, tiling: GroupTiling, transfer_costs: TransferCosts) -> None:
        self.moves = transfer_costs
        sliding = tiling.rolling_loop
        loops = [loop for loop in tiling.loops.values() if loop is not sliding]
        self.outer = [*loops, sliding] if sliding is not None else loops
        """Loops over tiles, outermost first."""
        self.loops = [*self.outer, *tiling.inner_loops.values()]
        """Loops over tiles, then over reduction tiles."""

    def traffic_of_load(self, value: SSAValue, box: Box) -> ChannelTraffic:
        """
        Return the traffic of loading a box, hoisted out of inner loops that do not move
        it.
        """
        return self._traffic_of_repeated_moves(
            value, box, self.count_repeated_moves(box), is_load=True
        )

    def traffic_of_store(self, value: SSAValue, box: Box) -> ChannelTraffic:
        """Return the traffic of storing a box in every iteration."""
        return self._traffic_of_repeated_moves(
            value, box, self._trips_of_invariant_loops(box, self.outer), is_load=False
        )

    def traffic_of_gather(self, tiled: TiledOperation) -> ChannelTraffic:
        """
        Return the traffic of gathering an operation's tile by indices in every
        iteration.
        """
        op, moves = tiled.op, self.moves
        assert isinstance(op, IndexedReadInterface)
        shape, item, _ = moves.shape_item_and_layout_of(op.results[0])
        extents = [interval.tile_extent for interval in tiled.result]
        pairs = zip(tiled.result, shape, strict=True)
        times = self._trips_of_invariant_loops(tiled.result, self.outer)
        payload = prod(covered_index_count(*each) for each in pairs) * item * times
        cost = moves.gather_cost_of(op, tiled.result)
        cycles = cost.cycles * payload / max(1, prod(map(min, extents, shape)) * item)
        return ChannelTraffic(payload, max(cycles, moves.min_channel_cycles(payload)))

    def count_repeated_moves(self, box: Box) -> int:
        """Return how many times the same box is moved."""
        return self._trips_of_invariant_loops(
            box, self.loops[: self.depth_of_moving_loop(box)]
        )

    def depth_of_moving_loop(self, box: Box) -> int:
        """
        Return the depth of the innermost loop that moves a box; 0 if no loop does.
        """
        return innermost_moving_depth(box, self.loops)

    @staticmethod
    def _trips_of_invariant_loops(box: Box, loops: Sequence[TileLoop]) -> int:
        """Return the number of iterations of the given loops that do not move a box."""
        moving = symbols_of_box(box)
        return prod([loop.trips for loop in loops if loop not in moving])

    def _traffic_of_repeated_moves(
        self, value: SSAValue, box: Box, move_count: int, *, is_load: bool
    ) -> ChannelTraffic:
        """
        Return the bytes and channel cycles of moving each box, clipped to the tensor,
        `move_count` times.
        """
        shape, item, _ = self.moves.shape_item_and_layout_of(value)
        payload = elements = item
        for interval, extent in zip(box, shape, strict=True):
            payload *= covered_index_count(interval, extent)
            elements *= min(interval.tile_extent, extent)
        payload *= move_count
        cost = (
            self.moves.load_cost_of(value, box)
            if is_load
            else self.moves.store_cost_of(value, box)
        )
        cycles = max((busy for _, busy in cost.channel_occupancy), default=cost.cycles)
        cycles *= payload / max(1, elements)
        return ChannelTraffic(
            payload, max(cycles, self.moves.min_channel_cycles(payload))
        )
