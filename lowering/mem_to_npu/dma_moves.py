"""Lowering of moves to DMA instructions, split at ring buffer wraps."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

from xdsl.utils.exceptions import PassFailedException

from tlf.dialects import mem, npu
from tlf.dialects.mem import Index
from tlf.dialects.target import TargetSpec
from tlf.lowering.mem_to_npu.index_builder import IndexBuilder
from tlf.lowering.mem_to_npu.integer_ranges import range_of
from tlf.lowering.mem_to_npu.memref_views import (
    BufferView,
    BufferViews,
    index_builder_before,
)


@dataclass(frozen=True)
class _Dim:
    """One dim of a move."""

    size: Index
    """Number of elements that are written."""
    low: Index
    """First element that is read."""
    high: Index
    """End of the elements that are read, exclusive."""
    destination: int
    """Destination stride in bytes."""
    source: int
    """Source stride in bytes."""

    @property
    def is_full(self) -> bool:
        """`True` if all written elements are read."""
        return self.low == 0 and self.high == self.size and isinstance(self.size, int)

    @property
    def is_unit(self) -> bool:
        """`True` if there is exactly one element and it is read."""
        return self.is_full and self.size == 1


@dataclass(frozen=True)
class _Span:
    """A range of box elements along one dim that does not cross a ring wrap."""

    begin: Index
    end: Index
    """End of the range, exclusive."""
    destination_lap: int = 0
    source_lap: int = 0
    """Slices subtracted from the index after a wrap: the slots of the ring, or 0."""


def convert_dma(
    op: mem.DmaOp, views: BufferViews, machine: TargetSpec
) -> list[npu.DmaOp]:
    """
    Build the instructions of a move before it: two for each side that may cross the end
    of a ring, of which one may be empty, otherwise one.

    Source bounds become the ranges `inside`, or clip the box of a clipped move.
    Elements outside the destination are clipped.
    """
    source, destination = views.view_of(op.source), views.view_of(op.destination)
    check_dma_levels(machine, op.name, source.level, destination.level)
    index = index_builder_before(op)
    spans = [
        _split_at_wraps(index, op, dim, source, destination)
        for dim in range(len(op.box))
    ]
    return [
        _build_instruction(index, op, each, source, destination, machine)
        for each in product(*spans)
    ]


def _split_at_wraps(
    index: IndexBuilder,
    op: mem.DmaOp,
    number: int,
    source: BufferView,
    destination: BufferView,
) -> list[_Span]:
    """Return the written range along a dim, split at ring wraps."""
    source_offset = op.mixed_source_offsets[number]
    destination_offset = op.mixed_destination_offsets[number]
    first = index.max(0, index.sub(0, destination_offset))
    last = index.sub(destination.shape[number], destination_offset)
    if op.clipped is not None:
        first = index.max(first, index.sub(0, source_offset))
        last = index.min(last, index.sub(source.shape[number], source_offset))
    full = _Span(first, index.min(op.box[number], last))
    spans = [full]
    if (
        wrap := _wrap_position(index, destination, number, destination_offset)
    ) is not None:
        spans = [
            replace(each, destination_lap=lap)
            for each, lap in _split_span(index, full, *wrap)
        ]
    if (wrap := _wrap_position(index, source, number, source_offset)) is not None:
        spans = [
            replace(each, source_lap=lap)
            for span in spans
            for each, lap in _split_span(index, span, *wrap)
        ]
    return spans


def _wrap_position(
    index: IndexBuilder, view: BufferView, number: int, offset: Index
) -> tuple[Index, int] | None:
    """Return the first box element after a ring's end, and the slots of the ring."""
    if view.ring is None or view.ring.axis != number:
        return None
    until_wrap = index.sub(view.ring.slots, view.ring.start)
    return index.sub(until_wrap, offset), view.ring.slots


def _split_span(
    index: IndexBuilder, span: _Span, wrap: Index, slots: int
) -> list[tuple[_Span, int]]:
    """Split a range at a wrap; return each part with the slices to subtract."""
    if range_of(span.end)[1] <= range_of(wrap)[0]:
        return [(span, 0)]
    if range_of(wrap)[1] <= range_of(span.begin)[0]:
        return [(span, slots)]
    split = index.max(span.begin, index.min(wrap, span.end))
    return [(replace(span, end=split), 0), (replace(span, begin=split), slots)]


def _build_instruction(
    index: IndexBuilder,
    op: mem.DmaOp,
    spans: Sequence[_Span],
    source: BufferView,
    destination: BufferView,
    machine: TargetSpec,
) -> npu.DmaOp:
    """Build the instruction for one span per dim."""
    dims: list[_Dim] = []
    source_start, destination_start = list[Index](), list[Index]()
    for axis, span in enumerate(spans):
        origin = index.add(op.mixed_source_offsets[axis], span.begin)
        start = index.add(op.mixed_destination_offsets[axis], span.begin)
        extent = index.max(0, index.sub(span.end, span.begin))
        low, high = _in_bounds_range(index, op, axis, origin, extent, source)
        source_start.append(index.sub(origin, span.source_lap))
        destination_start.append(index.sub(start, span.destination_lap))
        dims.append(
            _Dim(extent, low, high, destination.strides[axis], source.strides[axis])
        )
    dims = _merge_dims(
        _sort_by_stride(dims, _side_of_longest_burst(machine, source, destination))
    )
    instruction = npu.DmaOp(
        destination.with_offsets(destination_start).to_access(
            index, [dim.destination for dim in dims]
        ),
        source.with_offsets(source_start).to_access(
            index, [dim.source for dim in dims]
        ),
        [dim.size for dim in dims],
        _inside_ranges(dims),
        op.fill_value,
    )
    return index.builder.insert(instruction)


def _in_bounds_range(
    index: IndexBuilder,
    op: mem.DmaOp,
    number: int,
    origin: Index,
    extent: Index,
    source: BufferView,
) -> tuple[Index, Index]:
    """Return the range of written elements that are inside the source."""
    if op.clipped is not None:
        return 0, extent
    bound, offset = source.shape[number], op.mixed_source_offsets[number]
    if isinstance(offset, int) and 0 <= offset <= bound - op.box[number]:
        return 0, extent
    low = index.max(0, index.sub(0, origin))
    return low, index.min(extent, index.sub(bound, origin))


def _inside_ranges(dims: Sequence[_Dim]) -> list[tuple[Index, Index]]:
    if all((dim.low == 0 and dim.high is dim.size) or dim.is_full for dim in dims):
        return []
    return [(dim.low, dim.high) for dim in dims]


def check_dma_levels(
    machine: TargetSpec, name: str, source: str, destination: str
) -> None:
    """Raise `PassFailedException` unless a DMA queue connects two levels."""
    queues = list(pairwise(machine.levels))
    if (source, destination) in queues or (destination, source) in queues:
        return
    supported = ", ".join(f"{inner} and {outer}" for inner, outer in queues)
    raise PassFailedException(
        f"{name}: the npu moves between {supported}, got a move from {source} to "
        f"{destination}"
    )


def _side_of_longest_burst(
    machine: TargetSpec, source: BufferView, destination: BufferView
) -> str:
    """Return the side of a move whose level has the longer burst."""
    bursts = {
        name: machine.levels[view.level].burst
        for name, view in (("source", source), ("destination", destination))
    }
    return max(bursts, key=bursts.__getitem__)


def _sort_by_stride(dims: Sequence[_Dim], end: str) -> list[_Dim]:
    """
    Sort dims by descending stride on one side, so that contiguous elements form one
    run. Dims with zero or equal strides are not sorted.
    """
    strides: list[int] = [abs(getattr(dim, end)) for dim in dims if not dim.is_unit]
    if 0 in strides or len(set(strides)) < len(strides):
        return list(dims)
    descending = sorted(
        (dim for dim in dims if not dim.is_unit),
        key=lambda dim: -abs(getattr(dim, end)),
    )
    ordered = iter(descending)
    return [dim if dim.is_unit else next(ordered) for dim in dims]


def _merge_dims(dims: Sequence[_Dim]) -> list[_Dim]:
    """Drop unit dims and merge adjacent dims that are contiguous on both sides."""
    result: list[_Dim] = []
    for dim in dims:
        if dim.is_unit:
            continue
        if result and (merged := _try_merge(result[-1], dim)) is not None:
            result[-1] = merged
        else:
            result.append(dim)
    return result


def _try_merge(outer: _Dim, inner: _Dim) -> _Dim | None:
    if not inner.is_full or not isinstance(inner.size, int):
        return None
    if (outer.destination, outer.source) != (
        inner.destination * inner.size,
        inner.source * inner.size,
    ):
        return None
    range_values = [outer.size, outer.low, outer.high]
    scaled = [number * inner.size for number in range_values if isinstance(number, int)]
    if len(scaled) != len(range_values):
        return None
    size, low, high = scaled
    return _Dim(size, low, high, inner.destination, inner.source)
