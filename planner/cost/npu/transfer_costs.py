"""Cost model of moving a box of a tensor between two NPU memory levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import TypeAlias

from xdsl.ir import SSAValue

from tlf.dialects.encoding_attribute import layout_of
from tlf.dialects.interfaces import IndexedReadInterface
from tlf.dialects.npu import dma_engine_name
from tlf.dialects.types import dtype_of, tensor_type
from tlf.machine.instruction_costs import Cost, InstructionCosts, TransferEnd
from tlf.planner.cost.bus_burst_phases import burst_phases_of
from tlf.planner.cost.npu.indexed_costs import gather_move_cost_of
from tlf.support.affine.axis_orders import candidate_axis_orders, row_major_order
from tlf.support.affine.index_access import Box
from tlf.support.allocation.buffer_model import align_offset

Sizes: TypeAlias = tuple[int, ...]

MoveKey: TypeAlias = tuple[str, Sizes, Sizes, int, Sizes, Sizes]
"""Engine, tensor shape, box shape, bytes per element, axis order, and start phases."""


class TransferCosts:
    """
    Cost of moving boxes between two memory levels. In the outer level, the axes of a
    tensor are in the order of its layout; in the inner level, those of a box are as
    well, if tiles are `ordered`. Both are traversed in this order.
    """

    def __init__(
        self,
        costs: InstructionCosts,
        inner_level: str,
        outer_level: str,
        *,
        is_axis_ordered: bool,
    ) -> None:
        self.costs = costs
        self.near, self.far = inner_level, outer_level
        self.ordered = is_axis_ordered
        self.layouts: Mapping[SSAValue, Sequence[int]] = {}
        """Layouts of values that override those of their types."""
        self.free: AbstractSet[SSAValue] = frozenset()
        """Values of any axis order: each box is moved in the best order."""
        self.phased = False
        """True if offsets within a burst count; otherwise moves start at a burst."""
        self.burst = costs.machine.levels[outer_level].burst
        levels = [costs.machine.levels[name] for name in (inner_level, outer_level)]
        shared = [level.bandwidth for level in levels if level.shared]
        self.bandwidth = min(shared) if shared else max(e.bandwidth for e in levels)
        """Bytes per cycle of the bandwidth that moves share with others."""
        self.load = dma_engine_name(outer_level, inner_level)
        self.store = dma_engine_name(inner_level, outer_level)
        self._known: dict[MoveKey, Cost] = {}
        self._plain: dict[tuple[str, SSAValue, Sizes], Cost] = {}
        """Costs of moves in the layouts of types, from the start of a burst."""
        self._orders: dict[Sizes, tuple[Sizes, ...]] = {}
        self._measures: dict[SSAValue, tuple[Sizes, int, Sizes]] = {}

    def load_cost_of(self, value: SSAValue, box: Box) -> Cost:
        """Return the cost of loading a box into the inner level."""
        return self._cheapest_move_cost(self.load, value, _extents_of(box), box)

    def store_cost_of(self, value: SSAValue, box: Box) -> Cost:
        """Return the cost of storing a box to the outer level."""
        return self._cheapest_move_cost(self.store, value, _extents_of(box), box)

    def move_cost_of_extents(
        self, engine: str, value: SSAValue, extents: Sequence[int]
    ) -> Cost:
        """Return the cost of moving a box of some extents, if moves are not phased."""
        assert not self.phased
        return self._cheapest_move_cost(engine, value, extents, ())

    def gather_cost_of(self, op: IndexedReadInterface, box: Box) -> Cost:
        """Return the cost of moving a box of a result to the inner level by indices."""
        return self.gather_cost_of_extents(op, _extents_of(box))

    def gather_cost_of_extents(
        self, op: IndexedReadInterface, extents: Sequence[int]
    ) -> Cost:
        """Return the cost of moving a box of some extents by indices."""
        return gather_move_cost_of(self.costs, op, extents, self.near, self.far)

    def min_channel_cycles(self, payload: int) -> float:
        """Return a lower bound of the channel cycles of a payload in whole bursts."""
        farther = self.costs.machine.levels[self.far]
        bursts = align_offset(payload, self.burst)
        return max(payload / self.bandwidth, bursts / farther.bandwidth)

    def shape_item_and_layout_of(self, value: SSAValue) -> tuple[Sizes, int, Sizes]:
        """Return the shape of a tensor, the bytes per element, and its layout."""
        if (known := self._measures.get(value)) is None:
            type_ = tensor_type(value)
            item = dtype_of(type_.element_type).itemsize
            shape = type_.get_shape()
            known = shape, item, tuple(layout_of(type_)) or row_major_order(len(shape))
            self._measures[value] = known
        return known

    def _cheapest_move_cost(
        self, engine: str, value: SSAValue, extents: Sequence[int], box: Box
    ) -> Cost:
        """
        Return the cost of moving a box, averaged over burst phases, in the axis order
        that takes the fewest cycles of shared channels.
        """
        if self.phased or self.free or self.layouts:
            return self._find_cheapest_move_cost(engine, value, extents, box)
        key = engine, value, tuple(extents)
        if (known := self._plain.get(key)) is None:
            known = self._find_cheapest_move_cost(engine, value, extents, box)
            self._plain[key] = known
        return known

    def _find_cheapest_move_cost(
        self, engine: str, value: SSAValue, extents: Sequence[int], box: Box
    ) -> Cost:
        whole, item, layout = self.shape_item_and_layout_of(value)
        shape = tuple(map(min, extents, whole))
        orders = self._candidate_axis_orders(value, whole, layout)
        starts: Sizes = (0,)
        costs: list[Cost] = []
        for axes in orders:
            if self.phased and self.burst > item:
                plain = range(len(whole))
                starts = burst_phases_of(
                    box,
                    _strides_in_traversal_order(whole, item, axes, plain),
                    self.burst,
                )
            key = engine, whole, shape, item, axes, starts
            if (known := self._known.get(key)) is None:
                known = self._known[key] = self._mean_cost_over_phases(*key)
            costs.append(known)
        return min(costs, key=_shared_resource_cycles) if len(costs) > 1 else costs[0]

    def _candidate_axis_orders(
        self, value: SSAValue, tensor_shape: Sizes, layout: Sizes
    ) -> Sequence[Sizes]:
        """Return the axis orders to evaluate: candidates of a free value, else one."""
        if not self.free or value not in self.free:
            override = self.layouts.get(value) if self.layouts else None
            return (tuple(override or layout),)
        if tensor_shape not in self._orders:
            self._orders[tensor_shape] = tuple(candidate_axis_orders(tensor_shape))
        return self._orders[tensor_shape]

    def _mean_cost_over_phases(
        self,
        engine: str,
        tensor_shape: Sizes,
        box_shape: Sizes,
        item_bytes: int,
        axis_order: Sizes,
        start_phases: Sizes,
    ) -> Cost:
        """
        Return the cost of moving a box of some shape, averaged over its start phases.
        """
        walked = tuple(box_shape[axis] for axis in axis_order)
        inner = axis_order if self.ordered else tuple(range(len(tensor_shape)))
        near = TransferEnd(
            0,
            walked,
            _strides_in_traversal_order(box_shape, item_bytes, inner, axis_order),
        )
        costs: list[Cost] = []
        for start in start_phases:
            far = TransferEnd(
                start,
                walked,
                _strides_in_traversal_order(
                    tensor_shape, item_bytes, axis_order, axis_order
                ),
            )
            ends = (far, near) if engine == self.load else (near, far)
            costs.append(self.costs.cost_of_move(engine, *ends, item_bytes))
        return _mean_cost_of_moves(costs)


def _extents_of(box: Box) -> list[int]:
    """Return the extents of the tile that contains a box."""
    return [interval.tile_extent for interval in box]


def _shared_resource_cycles(cost: Cost) -> int:
    """
    Return the cycles of a move on shared resources, or its own cycles if there are
    none.
    """
    return max((busy for _, busy in cost.channel_occupancy), default=cost.cycles)


def _mean_cost_of_moves(costs: Sequence[Cost]) -> Cost:
    """Return the first cost, with cycles and channel occupancy averaged over all."""
    first, count = costs[0], len(costs)
    shared = tuple(
        (
            channel,
            round(sum(each.channel_occupancy[index][1] for each in costs) / count),
        )
        for index, (channel, _) in enumerate(first.channel_occupancy)
    )
    cycles = round(sum(each.cycles for each in costs) / count)
    return (
        replace(first, cycles=cycles, channel_occupancy=shared) if count > 1 else first
    )


def _strides_in_traversal_order(
    shape: Sequence[int],
    item_bytes: int,
    axis_order: Sequence[int],
    traversal_order: Sequence[int],
) -> tuple[int, ...]:
    """
    Return the byte strides, in the order `traversal_order`, of a contiguous array with
    the axis order `axis_order`.
    """
    strides: dict[int, int] = {}
    for axis in reversed(axis_order):
        strides[axis] = item_bytes
        item_bytes *= shape[axis]
    return tuple(strides[axis] for axis in traversal_order)
