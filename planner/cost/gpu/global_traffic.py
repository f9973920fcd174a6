"""Cost model of the global memory traffic of a GPU kernel's programs, per tile."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import gcd, prod

from xdsl.ir import Operation, SSAValue

from tlf.analysis.tiling.box_covering import cover_box_over_iterations
from tlf.analysis.tiling.group_tiling import (
    GroupTiling,
    TiledOperation,
    TileLoop,
    count_elements_of_box,
)
from tlf.dialects.types import tensor_type
from tlf.planner.cost.covered_extents import covered_index_count
from tlf.planner.cost.gpu.access_totals import AccessTotals
from tlf.planner.cost.gpu.first_cache import RepeatedRead
from tlf.planner.cost.gpu.global_tensor import GlobalTensor, global_tensor_of
from tlf.planner.cost.gpu.window_read import WindowRead
from tlf.planner.cost.gpu.window_unrolling import WindowUnrolling
from tlf.planner.settings.gpu_calibration import TRITON_CALIBRATION
from tlf.support.affine.index_access import (
    Box,
    IndexAccess,
    Interval,
    accessed_box,
)


@dataclass(frozen=True)
class TileTraffic:
    """Global memory traffic that all programs of a kernel together cause for a tile."""

    totals: AccessTotals
    program_footprint: float
    """Footprint of one program: repeated accesses are counted once."""
    kernel_footprint: float
    """Footprint of all programs: repeated accesses are counted once."""
    program_loops: frozenset[TileLoop]
    """Loops over programs that the tile depends on."""
    is_read: bool = True


@dataclass
class TrafficModel:
    """Global memory traffic of a group's tiles."""

    tiling: GroupTiling
    sector_bytes: int
    thread_count: int = 1
    """Number of threads of a program."""
    warp_size: int = 32
    """Number of threads that load or store together."""
    share_of_iterations: float = 1.0
    """Iterations of reductions that are executed, in the mean over programs."""
    unrolling: WindowUnrolling | None = None
    """Alternating tiles that a program moves at once, if any."""

    _tensors: dict[SSAValue, GlobalTensor] = field(
        init=False, default_factory=dict[SSAValue, "GlobalTensor"]
    )
    _window_reads: dict[Operation, WindowRead] = field(
        init=False, default_factory=dict[Operation, "WindowRead"]
    )

    def __post_init__(self) -> None:
        self.outer = tuple(self.tiling.loops.values())
        self.inner = tuple(self.tiling.inner_loops.values())
        self.within = (*self.inner, *self.tiling.nested_loops)
        self.programs = prod(loop.trips for loop in self.outer)

    def traffic_of_box(
        self, value: SSAValue, box: Box, *, is_inner: bool = False, is_read: bool = True
    ) -> TileTraffic:
        """
        Return the traffic of a tile that is loaded from a tensor or stored to one.
        """
        tensor, symbols = self._memoized_tensor_of(value), _offset_symbols_of(box)
        payload = (
            self._count_elements_moved(box, symbols, tensor.shape, is_inner)
            * tensor.item_bytes
        )
        contiguous = self._contiguous_bytes_per_thread(tensor, box)
        width = _bytes_per_masked_access(tensor, box, contiguous)
        bus = payload * tensor.sector_bytes_per_byte(box, self.sector_bytes)
        if not is_read and width < contiguous:
            # Each store covers only a part of a sector.
            factor = TRITON_CALIBRATION.partial_sector_cost * contiguous / width
            cached = bus * max(1.0, factor)
        else:
            cached = self._requested_bytes(tensor, box, contiguous, payload, bus)
        return self._make_tile_traffic(
            tensor,
            box,
            symbols,
            AccessTotals(
                payload=payload,
                bus_bytes=bus,
                cache_bytes=cached,
                row_count=payload
                / max(self.sector_bytes, tensor.contiguous_bytes_of_box(box)),
                access_count=payload / width,
                lane_steps=(
                    TRITON_CALIBRATION.address_steps
                    + TRITON_CALIBRATION.mask_steps * tensor.needs_mask(box)
                )
                * payload
                / width,
            ),
            is_read,
        )

    def _requested_bytes(
        self,
        tensor: GlobalTensor,
        box: Box,
        contiguous: int,
        payload: float,
        bus: float,
    ) -> float:
        """
        Return the bytes of the cache's requests for accesses of `contiguous` bytes that
        move `bus` bytes: more than these if rows start at any offset within a sector.
        A tile that lies in padding moves none.
        """
        if contiguous >= TRITON_CALIBRATION.vector_bytes:
            return bus
        if not payload or not tensor.has_unaligned_rows(box, self.sector_bytes):
            return bus
        requested = self.sector_bytes / (contiguous * self.warp_size)
        return bus * max(1.0, 1.0 + (requested - (bus / payload - 1)))

    def traffic_of_gather(
        self, tiled: TiledOperation, *, is_inner: bool
    ) -> TileTraffic:
        """Return the traffic of a movement's tile that is gathered by element."""
        if (read := self._find_window_read(tiled)) is not None:
            return self._traffic_of_windows(read, tiled, is_inner)
        tensor = self._memoized_tensor_of(tiled.op.operands[0])
        result = self._memoized_tensor_of(tiled.op.results[0])
        accesses, moved = tiled.facts.indexing_maps[0] or (), tiled.result
        payload = (
            self._count_elements_moved(
                moved, _offset_symbols_of(moved), result.shape, is_inner
            )
            * tensor.item_bytes
        )
        box = accessed_box(accesses, tiled.box)
        return self._make_tile_traffic(
            tensor,
            box,
            _offset_symbols_of(box),
            self._gather_totals(tiled, tensor, box, payload),
            is_read=True,
        )

    def _gather_totals(
        self, tiled: TiledOperation, tensor: GlobalTensor, box: Box, payload: float
    ) -> AccessTotals:
        """Return the accesses of a movement's tile that read a box of a tensor."""
        accesses = tiled.facts.indexing_maps[0] or ()
        run = _contiguous_gather_bytes(accesses, tiled.box, tensor)
        is_whole = run % self.sector_bytes == 0 and _has_single_iterator_axes(accesses)
        extra = 0 if is_whole else self.sector_bytes - tensor.item_bytes
        width = self.bytes_per_gather_load(tiled)
        terms = sum(1 + len(access.terms) for access in accesses)
        # Every element has its own address.
        bus = payload * (run + extra) / run
        totals = AccessTotals(
            payload=payload,
            bus_bytes=bus,
            cache_bytes=bus,
            row_count=payload / max(self.sector_bytes, run),
            access_count=payload / width,
            lane_steps=terms * payload / (width if is_whole else tensor.item_bytes),
        )
        if is_whole:
            return totals
        own = cover_box_over_iterations(box, self.within)
        span = self.warp_size * tensor.item_bytes * _least_step(accesses, tensor)
        lines = span + TRITON_CALIBRATION.line_bytes - tensor.item_bytes
        return self._serve_repeated_reads(
            totals,
            footprint=tensor.bytes_of_constant_box(own),
            row_bytes=tensor.contiguous_bytes_of_box(own),
            sectors_per_byte=tensor.sector_bytes_per_byte(own, self.sector_bytes),
            lines_per_byte=lines / (self.warp_size * width),
        )

    def _serve_repeated_reads(
        self,
        totals: AccessTotals,
        *,
        footprint: float,
        row_bytes: int,
        sectors_per_byte: float,
        lines_per_byte: float,
    ) -> AccessTotals:
        """
        Return the accesses of a tile without the requests that the first cache serves.
        Factors of products are copied to shared memory past it.
        """
        if self._has_products:
            return totals
        iterations = prod(loop.trips for loop in self.within)
        read = RepeatedRead(
            footprint, row_bytes, sectors_per_byte, lines_per_byte, iterations
        )
        if not read.is_served:
            return totals
        return read.limit_accesses(totals, self._program_count, self.sector_bytes)

    @property
    def _program_count(self) -> float:
        """Number of programs, of which each moves several tiles at once."""
        return self.programs / (1 if self.unrolling is None else self.unrolling.factor)

    def _traffic_of_windows(
        self, read: WindowRead, tiled: TiledOperation, is_inner: bool
    ) -> TileTraffic:
        """Return the traffic of a tile of windows that are loaded as its rows."""
        box, result = tiled.result, self._memoized_tensor_of(tiled.op.results[0])
        symbols = _offset_symbols_of(box)
        moved = self._count_elements_moved(box, symbols, result.shape, is_inner)
        payload = moved * read.tensor.item_bytes
        run = read.contiguous_bytes(box)
        width = self._bytes_per_window_load(read, box)
        bus = payload * read.sector_bytes_per_byte(run, self.sector_bytes)
        mask = TRITON_CALIBRATION.window_mask_steps * read.padded_axis_count
        is_partial = run < TRITON_CALIBRATION.line_bytes
        line_cost = TRITON_CALIBRATION.partial_line_cost if is_partial else 1.0
        totals = AccessTotals(
            payload=payload,
            bus_bytes=bus,
            cache_bytes=bus * line_cost,
            row_count=payload / max(self.sector_bytes, run),
            access_count=payload / width,
            lane_steps=(TRITON_CALIBRATION.address_steps + mask) * payload / width,
        )
        own = cover_box_over_iterations(box, self.within)
        row, warp = read.footprint_row_bytes(own), self.warp_size * width
        totals = self._serve_repeated_reads(
            totals,
            footprint=self._footprint_of_windows(read, own),
            row_bytes=max(row, run),
            sectors_per_byte=read.sector_bytes_per_byte(
                max(row, run), self.sector_bytes
            ),
            lines_per_byte=read.line_bytes_per_byte(
                box, warp, TRITON_CALIBRATION.line_bytes
            ),
        )
        totals = self._share_accesses(totals, symbols)
        return self._window_traffic(read, totals, box)

    def _footprint_of_windows(self, read: WindowRead, box: Box) -> float:
        """Return the bytes that a program reads for a box of windows, repeats once."""
        if (unrolling := self.unrolling) is None:
            return read.footprint_bytes(box)
        jammed = [
            Interval(each.offset, each.size * unrolling.factor)
            if (unrolling.loop, 1) in each.offset.terms
            else each
            for each in box
        ]
        whole = tuple(jammed)
        return min(read.footprint_bytes(whole), read.mean_footprint_bytes(whole))

    def _share_accesses(
        self, totals: AccessTotals, symbols: AbstractSet[Hashable]
    ) -> AccessTotals:
        """Return the accesses that remain where windows of a program overlap."""
        if self.unrolling is None or self.unrolling.loop not in symbols:
            return totals
        share = self.unrolling.window_share
        return replace(
            totals,
            access_count=totals.access_count * share,
            lane_steps=totals.lane_steps * share,
            line_bytes=totals.line_bytes * share,
        )

    def _window_traffic(
        self, read: WindowRead, totals: AccessTotals, box: Box
    ) -> TileTraffic:
        """Return the traffic of a tile of windows with its footprints."""
        symbols, payload = _offset_symbols_of(box), totals.payload
        loops = frozenset([loop for loop in self.outer if loop in symbols])
        whole = cover_box_over_iterations(box, (*self.outer, *self.within))
        kernel = min(read.footprint_bytes(whole), payload)
        if self._has_products:
            own = cover_box_over_iterations(box, self.within)
            program = read.footprint_bytes(own)
        else:
            # Neighbours, which run at the same time, share what their windows overlap.
            program = kernel / prod(loop.trips for loop in loops)
        return TileTraffic(
            totals=totals,
            program_footprint=min(program, payload / self.programs),
            kernel_footprint=kernel,
            program_loops=loops,
        )

    @cached_property
    def _has_products(self) -> bool:
        return any(tiled.facts.is_product for tiled in self.tiling.tiles.values())

    def _find_window_read(self, tiled: TiledOperation) -> WindowRead | None:
        """Return the read of a movement that reads windows, or None."""
        if (access := tiled.facts.delinearized_access) is None:
            return None
        if tiled.op not in self._window_reads:
            tensor = self._memoized_tensor_of(tiled.op.operands[0])
            self._window_reads[tiled.op] = WindowRead(tensor, access)
        return self._window_reads[tiled.op]

    def _bytes_per_window_load(self, read: WindowRead, box: Box) -> int:
        return self._limit_access_width(
            read.aligned_load_bytes(box), box, read.tensor.item_bytes
        )

    def bytes_per_masked_access(self, value: SSAValue, box: Box) -> int:
        """Return the bytes per access, reduced to the alignment of masked rows."""
        tensor = self._memoized_tensor_of(value)
        contiguous = self._contiguous_bytes_per_thread(tensor, box)
        return _bytes_per_masked_access(tensor, box, contiguous)

    def _contiguous_bytes_per_thread(self, tensor: GlobalTensor, box: Box) -> int:
        """Return the bytes of a contiguous access by one thread to a tile."""
        return self._limit_access_width(
            tensor.aligned_access_width(box), box, tensor.item_bytes
        )

    def bytes_per_gather_load(self, tiled: TiledOperation) -> int:
        """Return the bytes per load of a thread from a movement's operand."""
        if (read := self._find_window_read(tiled)) is not None:
            return self._bytes_per_window_load(read, tiled.result)
        tensor = self._memoized_tensor_of(tiled.op.operands[0])
        accesses = tiled.facts.indexing_maps[0] or ()
        if not _has_single_iterator_axes(accesses):
            return tensor.item_bytes
        width = gcd(
            _contiguous_gather_bytes(accesses, tiled.box, tensor),
            TRITON_CALIBRATION.vector_bytes,
        )
        return self._limit_access_width(width, tiled.result, tensor.item_bytes)

    def _memoized_tensor_of(self, value: SSAValue) -> GlobalTensor:
        if (known := self._tensors.get(value)) is None:
            known = self._tensors[value] = global_tensor_of(tensor_type(value))
        return known

    def _limit_access_width(self, width: int, box: Box, item_bytes: int) -> int:
        """Limit an access width so that every thread gets a part of the tile."""
        each = max(1, count_elements_of_box(box) // self.thread_count) * item_bytes
        return max(item_bytes, min(width, each))

    def _make_tile_traffic(
        self,
        tensor: GlobalTensor,
        box: Box,
        symbols: AbstractSet[Hashable],
        totals: AccessTotals,
        is_read: bool,
    ) -> TileTraffic:
        """
        Return the traffic of a tile, whose offset depends on `symbols`: `totals`, and
        footprints in bytes of one and of all programs, at most the payload.
        """
        program_bytes = tensor.bytes_of_constant_box(
            cover_box_over_iterations(box, self.within)
        )
        kernel_bytes = tensor.bytes_of_constant_box(
            cover_box_over_iterations(box, (*self.outer, *self.within))
        )
        loops = frozenset([loop for loop in self.outer if loop in symbols])
        each = totals.payload / self.programs
        return TileTraffic(
            totals=totals,
            program_footprint=min(program_bytes, each),
            kernel_footprint=min(kernel_bytes, totals.payload),
            program_loops=loops,
            is_read=is_read,
        )

    def _count_elements_moved(
        self,
        box: Box,
        symbols: AbstractSet[Hashable],
        shape: Sequence[int],
        is_inner: bool,
    ) -> float:
        """
        Return the elements of a box within a tensor, over all iterations that move it.
        `symbols` are those that its offset depends on.
        """
        within = (*self.outer, *self.inner) if is_inner else self.outer
        covered = prod(
            covered_index_count(interval, extent)
            for interval, extent in zip(box, shape, strict=True)
        )
        hoisted = {*symbols, self.tiling.scan_loop}
        times = float(prod(loop.trips for loop in within if loop not in hoisted))
        if self.unrolling is not None:
            times *= self.unrolling.share_of(symbols, is_window=False)
        return covered * times * (self.share_of_iterations if is_inner else 1.0)


def _offset_symbols_of(box: Box) -> set[Hashable]:
    """Return the symbols that the offsets of a box depend on."""
    return {symbol for interval in box for symbol, _ in interval.offset.terms}


def _bytes_per_masked_access(
    tensor: GlobalTensor, box: Box, contiguous_bytes: int
) -> int:
    """Return the bytes per access, reduced to the alignment of masked rows."""
    alignment = tensor.masked_row_alignment(box)
    return max(tensor.item_bytes, gcd(contiguous_bytes, alignment))


def _contiguous_gather_bytes(
    accesses: Sequence[IndexAccess], box: Box, tensor: GlobalTensor
) -> int:
    """Return the contiguous bytes that threads read of a gathered tile."""
    long = [axis for axis in tensor.axis_order if tensor.shape[axis] > 1]
    if not accesses or not long:
        return tensor.item_bytes
    last = accesses[long[-1]]
    if last.index is not None:
        return tensor.item_bytes
    sizes = [box[iterator].size for iterator, step in last.terms if abs(step) == 1]
    return tensor.item_bytes * max(sizes, default=1)


def _least_step(accesses: Sequence[IndexAccess], tensor: GlobalTensor) -> int:
    """Return the least distance along the innermost axis of a gather's elements."""
    long = [axis for axis in tensor.axis_order if tensor.shape[axis] > 1]
    terms = accesses[long[-1]].terms if accesses and long else ()
    return min((abs(step) for _, step in terms), default=1)


def _has_single_iterator_axes(accesses: Sequence[IndexAccess]) -> bool:
    """
    Return `True` if every axis is indexed by one iterator, so that rows start where
    tiles start.
    """
    return all(access.is_loop_dim or not access.terms for access in accesses)
