"""Cost model of moving a box of a tensor between two NPU memory levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import TypeAlias

from xdsl.ir import SSAValue

from tlf.dialects.encoding import layout_of
from tlf.dialects.npu import dma_engine
from tlf.dialects.types import dtype_of, tensor_type
from tlf.machine.instruction_costs import Cost, InstructionCosts, TransferEnd
from tlf.planner.cost.burst_phases import burst_phases_of
from tlf.support.affine.axis_orders import candidate_orders, row_major
from tlf.support.affine.index_access import Box
from tlf.support.allocation.buffer import align

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
        self, costs: InstructionCosts, near: str, far: str, *, ordered: bool
    ) -> None:
        self.costs = costs
        self.near, self.far = near, far
        self.ordered = ordered
        self.layouts: Mapping[SSAValue, Sequence[int]] = {}
        """Layouts of values that override those of their types."""
        self.free: AbstractSet[SSAValue] = frozenset()
        """Values of any axis order: each box is moved in the best order."""
        self.phased = False
        """True if offsets within a burst count; otherwise moves start at a burst."""
        self.burst = costs.machine.levels[far].burst
        levels = [costs.machine.levels[name] for name in (near, far)]
        shared = [level.bandwidth for level in levels if level.shared]
        self.bandwidth = min(shared) if shared else max(e.bandwidth for e in levels)
        """Bytes per cycle of the bandwidth that moves share with others."""
        self.load = dma_engine(far, near)
        self.store = dma_engine(near, far)
        self._known: dict[MoveKey, Cost] = {}
        self._orders: dict[Sizes, tuple[Sizes, ...]] = {}
        self._measures: dict[SSAValue, tuple[Sizes, int, Sizes]] = {}

    def load_cost_of(self, value: SSAValue, box: Box) -> Cost:
        """Return the cost of loading a box into the inner level."""
        return self._cheapest_move(self.load, value, box, inward=True)

    def store_cost_of(self, value: SSAValue, box: Box) -> Cost:
        """Return the cost of storing a box to the outer level."""
        return self._cheapest_move(self.store, value, box, inward=False)

    def min_channel_cycles(self, payload: int) -> float:
        """Return a lower bound of the channel cycles of a payload in whole bursts."""
        farther = self.costs.machine.levels[self.far]
        bursts = align(payload, self.burst)
        return max(payload / self.bandwidth, bursts / farther.bandwidth)

    def storage_of(self, value: SSAValue) -> tuple[Sizes, int, Sizes]:
        """Return the shape of a tensor, the bytes per element, and its layout."""
        if (known := self._measures.get(value)) is None:
            type_ = tensor_type(value)
            item = dtype_of(type_.element_type).itemsize
            shape = type_.get_shape()
            known = shape, item, tuple(layout_of(type_)) or row_major(len(shape))
            self._measures[value] = known
        return known

    def _cheapest_move(
        self, engine: str, value: SSAValue, box: Box, *, inward: bool
    ) -> Cost:
        whole, item, layout = self.storage_of(value)
        extents = [interval.tile_extent for interval in box]
        shape = tuple(map(min, extents, whole))
        orders = self._candidate_orders(value, whole, layout)
        starts: Sizes = (0,)
        costs: list[Cost] = []
        for axes in orders:
            if self.phased and self.burst > item:
                plain = range(len(whole))
                starts = burst_phases_of(
                    box, _strides_of(whole, item, axes, plain), self.burst
                )
            key = engine, whole, shape, item, axes, starts
            if (known := self._known.get(key)) is None:
                known = self._known[key] = self._cost_of_move(*key, inward=inward)
            costs.append(known)
        return min(costs, key=_channel_cycles) if len(costs) > 1 else costs[0]

    def _candidate_orders(
        self, value: SSAValue, whole: Sizes, layout: Sizes
    ) -> Sequence[Sizes]:
        """Return the possible orders of the axes of a tensor."""
        if not self.free or value not in self.free:
            override = self.layouts.get(value) if self.layouts else None
            return (tuple(override or layout),)
        if whole not in self._orders:
            self._orders[whole] = tuple(candidate_orders(whole))
        return self._orders[whole]

    def _cost_of_move(
        self,
        engine: str,
        whole: Sizes,
        shape: Sizes,
        item: int,
        axes: Sizes,
        starts: Sizes,
        *,
        inward: bool,
    ) -> Cost:
        """
        Return the cost of moving a box of some shape, averaged over its start phases.
        """
        walked = tuple(shape[axis] for axis in axes)
        inner = axes if self.ordered else tuple(range(len(whole)))
        near = TransferEnd(0, walked, _strides_of(shape, item, inner, axes))
        costs: list[Cost] = []
        for start in starts:
            far = TransferEnd(start, walked, _strides_of(whole, item, axes, axes))
            ends = (far, near) if inward else (near, far)
            costs.append(self.costs.cost_of_move(engine, *ends, item))
        return _mean_cost(costs)


def _channel_cycles(cost: Cost) -> int:
    """
    Return the cycles of a move on shared resources, or its own cycles if there are
    none.
    """
    return max((busy for _, busy in cost.shared), default=cost.cycles)


def _mean_cost(costs: Sequence[Cost]) -> Cost:
    """Return the mean cost of some moves by one engine."""
    first, count = costs[0], len(costs)
    shared = tuple(
        (channel, round(sum(each.shared[index][1] for each in costs) / count))
        for index, (channel, _) in enumerate(first.shared)
    )
    cycles = round(sum(each.cycles for each in costs) / count)
    return replace(first, cycles=cycles, shared=shared) if count > 1 else first


def _strides_of(
    shape: Sequence[int], item: int, axes: Sequence[int], walked: Sequence[int]
) -> tuple[int, ...]:
    """
    Return the byte strides, in the order `walked`, of a contiguous array with the axis
    order `axes`.
    """
    strides: dict[int, int] = {}
    for axis in reversed(axes):
        strides[axis] = item
        item *= shape[axis]
    return tuple(strides[axis] for axis in walked)
