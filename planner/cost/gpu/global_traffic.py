"""Cost model of the global memory traffic of a GPU kernel's programs, per tile."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import gcd, prod

from xdsl.ir import SSAValue

from tlf.analysis.tiling.box_covering import cover_iterations
from tlf.analysis.tiling.group_tiling import (
    GroupTiling,
    TiledOperation,
    TileLoop,
    elements_of_box,
    max_end,
    min_start,
)
from tlf.dialects.tile import layout_of
from tlf.dialects.types import AnyTensor, dtype_of, tensor_type
from tlf.machine.bursts import bus_bytes
from tlf.planner.cost.burst_phases import burst_phases_of
from tlf.planner.cost.covered_extents import covered_extent
from tlf.planner.settings.gpu_calibration import TRITON_CALIBRATION
from tlf.support.affine.index_access import Box, IndexAccess, Interval, accessed_box


@dataclass(frozen=True)
class AccessTotals:
    """
    Memory accesses of all programs for one tile, in bytes unless stated otherwise.
    """

    payload: float
    bus_bytes: float
    """Bytes in whole sectors."""
    cache_bytes: float
    """Bytes of all requests between processors and the cache, in whole sectors."""
    rows: float
    """Number of contiguous rows."""
    accesses: float
    """Number of loads or stores by threads."""
    steps: float
    """Lane steps for addresses and masks."""


@dataclass(frozen=True)
class TileTraffic:
    """Traffic of all programs for one tile, in bytes."""

    totals: AccessTotals
    program_footprint: float
    """Footprint of one program: repeated accesses are counted once."""
    kernel_footprint: float
    """Footprint of all programs: repeated accesses are counted once."""
    loops: frozenset[TileLoop]
    """Loops over programs that the tile depends on."""
    is_read: bool = True


@dataclass
class TrafficModel:
    """Global memory traffic of a group's tiles."""

    tiling: GroupTiling
    sector: int
    threads: int = 1
    """Number of threads of a program."""
    warp: int = 32
    """Number of threads that load or store together."""

    _tensors: dict[SSAValue, _StoredTensor] = field(
        init=False, default_factory=dict[SSAValue, "_StoredTensor"]
    )

    def __post_init__(self) -> None:
        self.outer = tuple(self.tiling.loops.values())
        self.inner = tuple(self.tiling.inner_loops.values())
        self.within = (*self.inner, *self.tiling.nested_loops)
        self.programs = prod(loop.trips for loop in self.outer)

    def traffic_of_box(
        self, value: SSAValue, box: Box, *, inner: bool = False, is_read: bool = True
    ) -> TileTraffic:
        """
        Return the traffic of a tile that is loaded from a tensor or stored to one.
        """
        tensor = self._tensor_of(value)
        payload = self._payload_of(box, tensor.shape, inner) * tensor.item
        contiguous, width = (
            self.contiguous_width(value, box),
            self.masked_width(value, box),
        )
        bus = payload * tensor.sector_overhead(box, self.sector)
        cache_factor = 1.0
        if not is_read and width < contiguous:
            # Each store covers only a part of a sector.
            cache_factor = TRITON_CALIBRATION.partial_sector_cost * contiguous / width
        elif contiguous < TRITON_CALIBRATION.vector_bytes and tensor.is_unaligned(
            box, self.sector
        ):
            cache_factor += self.sector / (contiguous * self.warp) - (bus / payload - 1)
        return self._make_traffic(
            tensor,
            box,
            AccessTotals(
                payload=payload,
                bus_bytes=bus,
                cache_bytes=bus * max(1.0, cache_factor),
                rows=payload / max(self.sector, tensor.contiguous_bytes(box)),
                accesses=payload / width,
                steps=(
                    TRITON_CALIBRATION.address_steps
                    + TRITON_CALIBRATION.mask_steps * tensor.needs_mask(box)
                )
                * payload
                / width,
            ),
            is_read,
        )

    def traffic_of_gather(self, tiled: TiledOperation, *, inner: bool) -> TileTraffic:
        """Return the traffic of a movement's tile that is gathered by element."""
        tensor = self._tensor_of(tiled.op.operands[0])
        result = self._tensor_of(tiled.op.results[0])
        accesses = tiled.facts.indexing_maps[0] or ()
        payload = self._payload_of(tiled.result, result.shape, inner) * tensor.item
        run = _contiguous_gather_bytes(accesses, tiled.box, tensor)
        is_whole = run % self.sector == 0 and _has_plain_axes(accesses)
        extra = 0 if is_whole else self.sector - tensor.item
        width = self.gathered_width(tiled)
        terms = sum(1 + len(access.terms) for access in accesses)
        # Every element has its own address.
        bus = payload * (run + extra) / run
        return self._make_traffic(
            tensor,
            accessed_box(accesses, tiled.box),
            AccessTotals(
                payload=payload,
                bus_bytes=bus,
                cache_bytes=bus,
                rows=payload / max(self.sector, run),
                accesses=payload / width,
                steps=terms * payload / (width if is_whole else tensor.item),
            ),
            is_read=True,
        )

    def contiguous_width(self, value: SSAValue, box: Box) -> int:
        """Return the contiguous bytes of a tile per thread."""
        tensor = self._tensor_of(value)
        return self._divide_among_threads(tensor.vector_width(box), box, tensor.item)

    def masked_width(self, value: SSAValue, box: Box) -> int:
        """Return the bytes per access, reduced to the alignment of masked rows."""
        tensor = self._tensor_of(value)
        return max(
            tensor.item,
            gcd(self.contiguous_width(value, box), tensor.border_alignment(box)),
        )

    def gathered_width(self, tiled: TiledOperation) -> int:
        """Return the bytes per load of a thread from a movement's operand."""
        tensor = self._tensor_of(tiled.op.operands[0])
        accesses = tiled.facts.indexing_maps[0] or ()
        if not _has_plain_axes(accesses):
            return tensor.item
        width = gcd(
            _contiguous_gather_bytes(accesses, tiled.box, tensor),
            TRITON_CALIBRATION.vector_bytes,
        )
        return self._divide_among_threads(width, tiled.result, tensor.item)

    def _tensor_of(self, value: SSAValue) -> _StoredTensor:
        if value not in self._tensors:
            self._tensors[value] = _stored_tensor_of(tensor_type(value))
        return self._tensors[value]

    def _divide_among_threads(self, width: int, box: Box, item: int) -> int:
        """Limit an access width so that every thread gets a part of the tile."""
        each = max(1, elements_of_box(box) // self.threads) * item
        return max(item, min(width, each))

    def _make_traffic(
        self,
        tensor: _StoredTensor,
        box: Box,
        moved: AccessTotals,
        is_read: bool,
    ) -> TileTraffic:
        program_bytes = tensor.bytes_of_box(cover_iterations(box, self.within))
        kernel_bytes = tensor.bytes_of_box(
            cover_iterations(box, (*self.outer, *self.within))
        )
        symbols = _symbols_of(box)
        loops = frozenset(loop for loop in self.outer if loop in symbols)
        each = moved.payload / self.programs
        return TileTraffic(
            totals=moved,
            program_footprint=min(program_bytes, each),
            kernel_footprint=min(kernel_bytes, moved.payload),
            loops=loops,
            is_read=is_read,
        )

    def _payload_of(self, box: Box, shape: Sequence[int], inner: bool) -> float:
        """
        Return the elements of a box within a tensor, over all iterations that move it.
        """
        within = (*self.outer, *self.inner) if inner else self.outer
        covered = prod(
            covered_extent(interval, extent)
            for interval, extent in zip(box, shape, strict=True)
        )
        symbols = _symbols_of(box)
        times = prod(loop.trips for loop in within if loop not in symbols)
        return float(covered * times)


def _symbols_of(box: Box) -> set[Hashable]:
    """Return the symbols that the offsets of a box depend on."""
    return {symbol for interval in box for symbol, _ in interval.offset.terms}


@dataclass(frozen=True)
class _StoredTensor:
    """A tensor in memory: sizes in elements, strides in bytes."""

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    """Axes in memory order, the contiguous axis last."""
    strides: tuple[int, ...]
    item: int

    def bytes_of_box(self, box: Box) -> float:
        """
        Return the bytes of a box within the tensor, for a box with constant offsets.
        """
        inside = (
            max(0, min(each.offset.constant + each.size, n) - max(0, start))
            for each, n in zip(box, self.shape, strict=True)
            for start in (each.offset.constant,)
        )
        return float(prod(inside) * self.item)

    def sector_overhead(self, box: Box, sector: int) -> float:
        """Return the bytes in whole sectors per byte of a box."""
        sizes = [min(each.size, n) for each, n in zip(box, self.shape, strict=True)]
        walked = tuple(sizes[axis] for axis in self.axes)
        strides = tuple(self.strides[axis] for axis in self.axes)
        starts = burst_phases_of(box, self.strides, sector)
        moved = sum(
            bus_bytes(start, walked, strides, self.item, sector) for start in starts
        )
        return moved / (len(starts) * prod(sizes) * self.item)

    def contiguous_bytes(self, box: Box) -> int:
        """Return the contiguous bytes of a box."""
        run = self.item
        for axis in reversed(self.axes):
            if self.strides[axis] != run and box[axis].size > 1:
                break
            run = self.strides[axis] * min(box[axis].size, self.shape[axis])
            if box[axis].size < self.shape[axis]:
                break
        return run

    def border_alignment(self, box: Box) -> int:
        """
        Return the alignment in bytes of the end of a masked row, or 0 without a mask.
        """
        axis = self.axes[-1] if self.axes else None
        if axis is None or not self._is_out_of_bounds(box[axis], self.shape[axis]):
            return 0
        interval = box[axis]
        end = gcd(self.shape[axis], interval.size if self._is_padded(interval) else 0)
        return end * self.item

    def needs_mask(self, box: Box) -> bool:
        """Return `True` if a tile crosses a border along some axis and needs masks."""
        return any(map(self._is_out_of_bounds, box, self.shape))

    def is_unaligned(self, box: Box, sector: int) -> bool:
        """
        Return `True` if the rows of a box may start at any offset within a sector.
        """
        long = [axis for axis in self.axes[:-1] if box[axis].size > 1]
        varying = [
            axis for axis in self.axes[:-1] if box[axis].offset.terms or axis in long
        ]
        return any(self.strides[axis] % sector for axis in varying)

    @staticmethod
    def _is_padded(interval: Interval) -> bool:
        return interval.tile_extent > interval.size

    @classmethod
    def _is_out_of_bounds(cls, interval: Interval, extent: int) -> bool:
        return min_start(interval) < 0 or max_end(interval) > extent

    def vector_width(self, box: Box) -> int:
        """
        Return the bytes per access of a thread: contiguous elements, limited so that
        every row of the tile starts at a multiple of them.
        """
        width, run = TRITON_CALIBRATION.vector_bytes, 0
        for axis in reversed(self.axes):
            interval, extent = box[axis], self.shape[axis]
            stride = self.strides[axis]
            width = gcd(width, interval.offset.constant * stride)
            for symbol, factor in interval.offset.terms:
                step = symbol.tile if isinstance(symbol, TileLoop) else 1
                width = gcd(width, factor * step * stride)
            size = min(interval.size, extent)
            if size > 1 and not run:
                run = size * stride if stride == self.item else self.item
            elif size > 1:
                width = gcd(width, stride)
        return max(self.item, gcd(width, run))


@cache
def _stored_tensor_of(type_: AnyTensor) -> _StoredTensor:
    """Return the memory layout of a tensor type."""
    shape = type_.get_shape()
    axes = tuple(layout_of(type_)) or tuple(range(len(shape)))
    item = dtype_of(type_.element_type).itemsize
    strides, size = dict[int, int](), item
    for axis in reversed(axes):
        strides[axis] = size
        size *= shape[axis]
    along = tuple(strides[axis] for axis in range(len(shape)))
    return _StoredTensor(shape, axes, along, item)


def _contiguous_gather_bytes(
    accesses: Sequence[IndexAccess], box: Box, tensor: _StoredTensor
) -> int:
    """Return the contiguous bytes that threads read of a gathered tile."""
    long = [axis for axis in tensor.axes if tensor.shape[axis] > 1]
    if not accesses or not long:
        return tensor.item
    last = accesses[long[-1]]
    if last.index is not None:
        return tensor.item
    sizes = [box[iterator].size for iterator, step in last.terms if abs(step) == 1]
    return tensor.item * max(sizes, default=1)


def _has_plain_axes(accesses: Sequence[IndexAccess]) -> bool:
    """
    Return `True` if every axis is indexed by one iterator, so that rows start where
    tiles start.
    """
    return all(access.is_loop_dim or not access.terms for access in accesses)
