"""Lowering of moves to DMA instructions, split at ring buffer wraps."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

from xdsl.utils.exceptions import PassFailedException

from tlf.dialects import mem, npu
from tlf.dialects.mem import Index
from tlf.dialects.target import TargetSpec
from tlf.lowering.mem_to_npu.index_builder import IndexBuilder
from tlf.lowering.mem_to_npu.index_ranges import index_range_of
from tlf.lowering.mem_to_npu.memref_views import (
    BufferView,
    BufferViews,
    index_builder_before,
)


@dataclass(frozen=True)
class _MoveDim:
    """Extent, read range and byte strides of one dim of a DMA instruction."""

    extent: Index
    """Number of elements that are written."""
    read_begin: Index
    """First element that is read."""
    read_end: Index
    """End of the elements that are read, exclusive."""
    destination: int
    """Destination stride in bytes."""
    source: int
    """Source stride in bytes."""

    @property
    def is_read_in_full(self) -> bool:
        """
        `True` if the extent is constant and every written element is read from the
        source.
        """
        return (
            self.read_begin == 0
            and self.read_end == self.extent
            and isinstance(self.extent, int)
        )

    @property
    def is_single_element(self) -> bool:
        """`True` if there is exactly one element and it is read."""
        return self.is_read_in_full and self.extent == 1


@dataclass(frozen=True)
class _UnwrappedRange:
    """A range of box elements along one dim that does not cross a ring wrap."""

    begin: Index
    end: Index
    """End of the range, exclusive."""
    destination_lap: int = 0
    source_lap: int = 0
    """Slices subtracted from the index after a wrap: the slots of the ring, or 0."""


def convert_move_to_dma(
    op: mem.DmaOp, views: BufferViews, machine: TargetSpec
) -> list[npu.DmaOp]:
    """
    Build the instructions of a move before it: two for each side that may cross the end
    of a ring, of which one may be empty, otherwise one.

    Source bounds become the ranges `inside`, or clip the box of a clipped move.
    Elements outside the destination are clipped.
    """
    source, destination = views.view_of(op.source), views.view_of(op.destination)
    check_dma_connects_levels(machine, op.name, source.level, destination.level)
    index = index_builder_before(op)
    spans = [
        _split_box_axis_at_ring_wraps(index, op, dim, source, destination)
        for dim in range(len(op.box_sizes))
    ]
    return [
        _build_dma_instruction(index, op, each, source, destination, machine)
        for each in product(*spans)
    ]


def _split_box_axis_at_ring_wraps(
    index_builder: IndexBuilder,
    op: mem.DmaOp,
    axis: int,
    source: BufferView,
    destination: BufferView,
) -> list[_UnwrappedRange]:
    """Return the written box indices on `axis`, as ranges without a ring wrap."""
    source_offset = op.mixed_source_offsets[axis]
    destination_offset = op.mixed_destination_offsets[axis]
    first = index_builder.build_max(0, index_builder.build_sub(0, destination_offset))
    last = index_builder.build_sub(destination.shape[axis], destination_offset)
    if op.clipped is not None:
        first = index_builder.build_max(
            first, index_builder.build_sub(0, source_offset)
        )
        last = index_builder.build_min(
            last, index_builder.build_sub(source.shape[axis], source_offset)
        )
    full = _UnwrappedRange(first, index_builder.build_min(op.box_sizes[axis], last))
    spans = [full]
    if (
        wrap := _box_index_of_ring_wrap(
            index_builder, destination, axis, destination_offset
        )
    ) is not None:
        spans = [
            replace(each, destination_lap=lap)
            for each, lap in _split_range_at_wrap(index_builder, full, *wrap)
        ]
    if (
        wrap := _box_index_of_ring_wrap(index_builder, source, axis, source_offset)
    ) is not None:
        spans = [
            replace(each, source_lap=lap)
            for span in spans
            for each, lap in _split_range_at_wrap(index_builder, span, *wrap)
        ]
    return spans


def _box_index_of_ring_wrap(
    index_builder: IndexBuilder, view: BufferView, axis: int, offset: Index
) -> tuple[Index, int] | None:
    """Return the first box element after a ring's end, and the slots of the ring."""
    if view.ring is None or view.ring.axis != axis:
        return None
    until_wrap = index_builder.build_sub(view.ring.slots, view.ring.start)
    return index_builder.build_sub(until_wrap, offset), view.ring.slots


def _split_range_at_wrap(
    index_builder: IndexBuilder,
    box_range: _UnwrappedRange,
    wrap_index: Index,
    ring_slots: int,
) -> list[tuple[_UnwrappedRange, int]]:
    """Split a range at a wrap; return each part with the slices to subtract."""
    if index_range_of(box_range.end)[1] <= index_range_of(wrap_index)[0]:
        return [(box_range, 0)]
    if index_range_of(wrap_index)[1] <= index_range_of(box_range.begin)[0]:
        return [(box_range, ring_slots)]
    split = index_builder.build_max(
        box_range.begin, index_builder.build_min(wrap_index, box_range.end)
    )
    return [
        (replace(box_range, end=split), 0),
        (replace(box_range, begin=split), ring_slots),
    ]


def _build_dma_instruction(
    index_builder: IndexBuilder,
    op: mem.DmaOp,
    box_ranges: Sequence[_UnwrappedRange],
    source: BufferView,
    destination: BufferView,
    machine: TargetSpec,
) -> npu.DmaOp:
    """Build the `npu.dma` of the part of the box of `op` in one range per axis."""
    dims: list[_MoveDim] = []
    source_start, destination_start = list[Index](), list[Index]()
    for axis, span in enumerate(box_ranges):
        origin = index_builder.build_add(op.mixed_source_offsets[axis], span.begin)
        start = index_builder.build_add(op.mixed_destination_offsets[axis], span.begin)
        extent = index_builder.build_max(
            0, index_builder.build_sub(span.end, span.begin)
        )
        low, high = _range_inside_source(
            index_builder, op, axis, origin, extent, source
        )
        source_start.append(index_builder.build_sub(origin, span.source_lap))
        destination_start.append(index_builder.build_sub(start, span.destination_lap))
        dims.append(
            _MoveDim(extent, low, high, destination.strides[axis], source.strides[axis])
        )
    dims = _merge_contiguous_dims(
        _sort_dims_by_stride(dims, _side_of_longest_burst(machine, source, destination))
    )
    instruction = npu.DmaOp(
        destination.view_from_element(destination_start).build_access(
            index_builder, [dim.destination for dim in dims]
        ),
        source.view_from_element(source_start).build_access(
            index_builder, [dim.source for dim in dims]
        ),
        [dim.extent for dim in dims],
        _read_ranges_unless_full(dims),
        op.fill_value,
    )
    return index_builder.builder.insert(instruction)


def _range_inside_source(
    index_builder: IndexBuilder,
    op: mem.DmaOp,
    axis: int,
    origin: Index,
    extent: Index,
    source: BufferView,
) -> tuple[Index, Index]:
    """Return the range of written elements that are inside the source."""
    if op.clipped is not None:
        return 0, extent
    bound, offset = source.shape[axis], op.mixed_source_offsets[axis]
    if isinstance(offset, int) and 0 <= offset <= bound - op.box_sizes[axis]:
        return 0, extent
    low = index_builder.build_max(0, index_builder.build_sub(0, origin))
    return low, index_builder.build_min(extent, index_builder.build_sub(bound, origin))


def _read_ranges_unless_full(dims: Sequence[_MoveDim]) -> list[tuple[Index, Index]]:
    """Return the range read along each dim; empty if every dim is read in full."""
    if all(
        (dim.read_begin == 0 and dim.read_end is dim.extent) or dim.is_read_in_full
        for dim in dims
    ):
        return []
    return [(dim.read_begin, dim.read_end) for dim in dims]


def check_dma_connects_levels(
    machine: TargetSpec, op_name: str, source_level: str, destination_level: str
) -> None:
    """Raise `PassFailedException` unless a DMA queue connects two levels."""
    queues = list(pairwise(machine.levels))
    if (source_level, destination_level) in queues or (
        destination_level,
        source_level,
    ) in queues:
        return
    supported = ", ".join(f"{inner} and {outer}" for inner, outer in queues)
    raise PassFailedException(
        f"{op_name}: the npu moves between {supported}, got a move from "
        f"{source_level} to "
        f"{destination_level}"
    )


def _side_of_longest_burst(
    machine: TargetSpec, source: BufferView, destination: BufferView
) -> str:
    """
    Return `source` or `destination`: the side whose level has the longer burst,
    `source` on a tie.
    """
    bursts = {
        name: machine.levels[view.level].burst
        for name, view in (("source", source), ("destination", destination))
    }
    return max(bursts, key=bursts.__getitem__)


def _sort_dims_by_stride(dims: Sequence[_MoveDim], side: str) -> list[_MoveDim]:
    """
    Sort dims by descending stride on one side, so that contiguous elements form one
    run. Dims with zero or equal strides are not sorted.
    """
    strides: list[int] = [
        abs(getattr(dim, side)) for dim in dims if not dim.is_single_element
    ]
    if 0 in strides or len(set(strides)) < len(strides):
        return list(dims)
    descending = sorted(
        (dim for dim in dims if not dim.is_single_element),
        key=lambda dim: -abs(getattr(dim, side)),
    )
    ordered = iter(descending)
    return [dim if dim.is_single_element else next(ordered) for dim in dims]


def _merge_contiguous_dims(dims: Sequence[_MoveDim]) -> list[_MoveDim]:
    """Drop unit dims and merge adjacent dims that are contiguous on both sides."""
    result: list[_MoveDim] = []
    for dim in dims:
        if dim.is_single_element:
            continue
        if result and (merged := _try_merge_dims(result[-1], dim)) is not None:
            result[-1] = merged
        else:
            result.append(dim)
    return result


def _try_merge_dims(outer: _MoveDim, inner: _MoveDim) -> _MoveDim | None:
    """Return both dims as one; `None` unless contiguous, static and `inner` is full."""
    if not inner.is_read_in_full or not isinstance(inner.extent, int):
        return None
    if (outer.destination, outer.source) != (
        inner.destination * inner.extent,
        inner.source * inner.extent,
    ):
        return None
    range_values = [outer.extent, outer.read_begin, outer.read_end]
    scaled = [
        number * inner.extent for number in range_values if isinstance(number, int)
    ]
    if len(scaled) != len(range_values):
        return None
    size, low, high = scaled
    return _MoveDim(size, low, high, inner.destination, inner.source)
