"""
Moves on the DMA queues.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from xdsl.utils.exceptions import PassFailedException

from tlf.dialects import mem, npu
from tlf.dialects.mem import Index
from tlf.dialects.target import Target
from tlf.lowering.npu.views import Views, index_builder


@dataclass(frozen=True)
class _Dim:
    """One dimension of a move."""

    size: Index
    """Elements that are written."""
    low: Index
    """The first element that is read."""
    high: Index
    """The end of the elements that are read."""
    destination: int
    """Stride in bytes."""
    source: int
    """Stride in bytes."""

    @property
    def is_full(self) -> bool:
        """Whether everything written is read."""
        return self.low == 0 and self.high == self.size and isinstance(self.size, int)


def convert_dma(op: mem.DmaOp, views: Views, machine: Target) -> npu.DmaOp:
    """
    Build the instruction for a move before it.

    Elements outside the source become the ranges `inside`; elements outside the
    destination are cut off.
    """
    source, destination = views.view(op.source), views.view(op.destination)
    _check_levels(machine, source.level, destination.level)
    index = index_builder(op)
    dims: list[_Dim] = []
    source_start, destination_start = list[Index](), list[Index]()
    for number, size in enumerate(op.box):
        source_offset = op.mixed_source_offsets[number]
        destination_offset = op.mixed_destination_offsets[number]
        first = index.max(0, index.sub(0, destination_offset))
        last = index.sub(destination.shape[number], destination_offset)
        last = index.min(size, last)
        origin = index.add(source_offset, first)
        extent = index.max(0, index.sub(last, first))
        low = index.max(0, index.sub(0, origin))
        high = index.min(extent, index.sub(source.shape[number], origin))
        source_start.append(origin)
        destination_start.append(index.add(destination_offset, first))
        dims.append(
            _Dim(extent, low, high, destination.strides[number], source.strides[number])
        )
    dims = _simplify(dims)
    instruction = npu.DmaOp(
        destination.moved(destination_start).access(
            index, [dim.destination for dim in dims]
        ),
        source.moved(source_start).access(index, [dim.source for dim in dims]),
        [dim.size for dim in dims],
        _inside(dims),
        op.fill_value,
    )
    return index.builder.insert(instruction)


def _inside(dims: Sequence[_Dim]) -> list[tuple[Index, Index]]:
    if all((dim.low == 0 and dim.high is dim.size) or dim.is_full for dim in dims):
        return []
    return [(dim.low, dim.high) for dim in dims]


def _check_levels(machine: Target, source: str, destination: str) -> None:
    queues = list(pairwise(machine.levels))
    if (source, destination) in queues or (destination, source) in queues:
        return
    known = ", ".join(f"{near} and {far}" for near, far in queues)
    raise PassFailedException(
        f"mem.dma: the npu moves between {known}, got a move from {source} to "
        f"{destination}"
    )


def _simplify(dims: Sequence[_Dim]) -> list[_Dim]:
    """Drop dimensions of one element, merge neighbours that are one on both sides."""
    result: list[_Dim] = []
    for dim in dims:
        if dim.is_full and dim.size == 1:
            continue
        if result and (merged := _merged(result[-1], dim)) is not None:
            result[-1] = merged
        else:
            result.append(dim)
    return result


def _merged(outer: _Dim, inner: _Dim) -> _Dim | None:
    if not inner.is_full or not isinstance(inner.size, int):
        return None
    if (outer.destination, outer.source) != (
        inner.destination * inner.size,
        inner.source * inner.size,
    ):
        return None
    numbers = [outer.size, outer.low, outer.high]
    scaled = [number * inner.size for number in numbers if isinstance(number, int)]
    if len(scaled) != len(numbers):
        return None
    size, low, high = scaled
    return _Dim(size, low, high, inner.destination, inner.source)
