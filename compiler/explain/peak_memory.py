"""Explanation of plans: breakdown of the peak memory of a group by use."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum, auto
from math import prod

from xdsl.ir import Operation, SSAValue

from tlf.analysis.tiling.group_tiling import GroupTiling, TileLoop
from tlf.compiler.explain.cost_estimates import GroupEstimate
from tlf.dialects.interfaces import AccumulatingInterface
from tlf.dialects.types import byte_count, itemsize_of, tensor_type
from tlf.planner.cost.npu.tile_footprint import BufferRow
from tlf.support.affine.index_access import Box
from tlf.support.allocation import Buffer, VisitBudget, pack_to_lowest_peak

MAX_VISITS = 20_000
"""Maximum number of search nodes in the allocation of the buffers of a group."""


class MemoryUse(StrEnum):
    """Category of bytes in a memory level, for the breakdown of the peak."""

    INPUTS = auto()
    """Tiles of operands of the group, except for the uses below."""
    HALO = auto()
    """Elements of tiles that the next tiles read as well."""
    WEIGHTS = auto()
    OUTPUTS = auto()
    """Tiles of results."""
    INTERMEDIATES = auto()
    """Values that one nest passes to the next."""
    ACCUMULATORS = auto()
    """Partial sums of products or reductions."""
    LIVE_ACROSS = auto()
    """Values that are live across nests that do not use them."""
    DOUBLE_BUFFERS = auto()
    """Buffers of the tiles of other iterations in flight."""
    RESIDENT = auto()
    """Whole tensors that are resident across groups."""


@dataclass(frozen=True)
class MemoryPeak:
    """
    Predicted peak use of a memory level while a group runs, in bytes, with its
    breakdown.
    """

    capacity: int
    live: int
    """Bytes that are simultaneously live."""
    height: int
    """Height of the best allocation found."""
    uses: Mapping[MemoryUse, int]
    """Live bytes by their use."""

    @property
    def fragmentation(self) -> int:
        """Bytes lost between buffers."""
        return self.height - self.live


def peak_of_group(
    estimate: GroupEstimate,
    weights: Collection[SSAValue],
    other_resident_bytes: int = 0,
) -> MemoryPeak:
    """
    Return the peak of a group. `weights` are among its inputs; `other_resident_bytes`
    bytes are resident around the group without being used by it.
    """
    footprint = estimate.predicted.footprint
    resident_inputs = sum(
        byte_count(tensor_type(each)) for each in estimate.residency.resident_inputs
    )
    buffers = [
        Buffer.live_during(row.byte_count, row.start_step, row.end_step, 1)
        for row in footprint.buffer_rows
    ]
    live, resident_bytes = footprint.peak_bytes, other_resident_bytes + resident_inputs
    height = (
        pack_to_lowest_peak(buffers, VisitBudget(MAX_VISITS)).peak if buffers else 0
    )
    uses = dict.fromkeys(MemoryUse, 0)
    uses[MemoryUse.RESIDENT] = resident_bytes
    for row in _buffers_live_at_peak(footprint.buffer_rows):
        for use, size in _split_buffer_by_use(row, estimate, weights):
            uses[use] += size
    capacity = estimate.level.capacity
    return MemoryPeak(
        capacity, live + resident_bytes, max(height, live) + resident_bytes, uses
    )


def _buffers_live_at_peak(rows: Collection[BufferRow]) -> list[BufferRow]:
    """Return the buffers that are live at the first step of peak use."""
    steps = sorted({row.start_step for row in rows})
    live = [
        [row for row in rows if row.start_step <= step < row.end_step] for step in steps
    ]
    return (
        max(live, key=lambda each: sum(row.byte_count for row in each)) if live else []
    )


def _split_buffer_by_use(
    buffer_row: BufferRow, estimate: GroupEstimate, weights: Collection[SSAValue]
) -> Iterator[tuple[MemoryUse, int]]:
    """
    Yield each use of a buffer with its bytes, maybe 0, which add up to the buffer's
    size.
    """
    value, size = buffer_row.value, buffer_row.byte_count - buffer_row.in_flight_bytes
    yield MemoryUse.DOUBLE_BUFFERS, buffer_row.in_flight_bytes
    if value in estimate.residency.retained_results:
        yield MemoryUse.RESIDENT, size
        return
    halo = min(size, _halo_bytes_of(buffer_row, estimate.tiling))
    yield MemoryUse.HALO, halo
    yield _main_use_of_buffer(buffer_row, estimate, weights), size - halo


def _main_use_of_buffer(
    buffer_row: BufferRow, estimate: GroupEstimate, weights: Collection[SSAValue]
) -> MemoryUse:
    """Classify the bytes of a buffer that are neither halo nor double buffer."""
    value = buffer_row.value
    if value in weights:
        return MemoryUse.WEIGHTS
    if value in estimate.tiling.results:
        return MemoryUse.OUTPUTS
    if _is_live_across_unrelated_nest(value, estimate):
        return MemoryUse.LIVE_ACROSS
    owner = value.owner
    if not isinstance(owner, Operation) or owner not in estimate.tiling.tiles:
        return MemoryUse.INPUTS
    if buffer_row.kind != "temporary" and isinstance(owner, AccumulatingInterface):
        return MemoryUse.ACCUMULATORS
    return MemoryUse.INTERMEDIATES


def _is_live_across_unrelated_nest(value: SSAValue, estimate: GroupEstimate) -> bool:
    """Return `True` if a value is live across a nest that does not use it."""
    ops = [use.operation for use in value.uses]
    if isinstance(value.owner, Operation):
        ops.append(value.owner)
    touched = {estimate.nests[op] for op in ops if op in estimate.nests}
    if not touched:
        return False
    between = set(range(min(touched), max(touched) + 1))
    return not between <= touched


def _halo_bytes_of(buffer_row: BufferRow, tiling: GroupTiling) -> int:
    """Return the bytes of a tile that it shares with the next tile."""
    item = itemsize_of(buffer_row.value)
    elements = prod(interval.size for interval in buffer_row.box)
    return item * (elements - prod(_extents_new_in_next_tile(buffer_row.box, tiling)))


def _extents_new_in_next_tile(box: Box, tiling: GroupTiling) -> Iterator[int]:
    """Yield the extent of a box that is new in the next tile, along each axis."""
    loops = tiling.loops.values()
    for interval in box:
        steps = [
            factor * symbol.tile
            for symbol, factor in interval.offset.terms
            if isinstance(symbol, TileLoop) and symbol in loops
        ]
        yield min([interval.size, *steps])
