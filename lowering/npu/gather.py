"""Moves on the DMA queues that follow indices."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.utils.exceptions import PassFailedException

from tlf.dialects import mem, npu
from tlf.dialects.linear_map import Linear, accesses
from tlf.dialects.mem import Index
from tlf.dialects.target import Target
from tlf.lowering.npu.dma import check_levels
from tlf.lowering.npu.index import IndexBuilder
from tlf.lowering.npu.views import View, Views, index_builder


@dataclass(frozen=True)
class _Dim:
    """One dimension of a move: its elements, strides in bytes, and what is read."""

    size: int
    destination: int
    source: int
    indices: int
    low: Index = 0
    high: Index | None = None
    """The end of what is read; None for all."""

    def holds(self, inner: "_Dim") -> bool:
        """Whether this and the next dimension are one, at both ends and of indices."""
        size = inner.size
        return (
            (self.high, inner.high) == (None, None)
            and self.destination == inner.destination * size
            and self.source == inner.source * size
            and self.indices == inner.indices * size
        )


def convert_gather(op: mem.DmaGatherOp, views: Views, machine: Target) -> npu.DmaOp:
    """
    Build the instruction for a move before it. Indices tell the places along one axis;
    elements outside of the source along others become the ranges `inside`.
    """
    source, destination = views.view(op.source), views.view(op.destination)
    indices = views.view(op.indices)
    check_levels(machine, op.name, source.level, destination.level)
    if machine.levels[destination.level].indexed_row is None:
        raise PassFailedException(
            f"{op.name}: expected moves into {destination.level} that follow indices, "
            "got a target whose moves do not"
        )
    index, axis = index_builder(op), op.indexed_axis
    named = accesses(op.index_map)
    starts = [access.constant for access in named]
    origins = [
        index.add(offset, access.constant)
        for offset, access in zip(op.mixed_offsets, accesses(op.place_map), strict=True)
    ]
    dims = [
        _Dim(
            size,
            destination.strides[number],
            _along(accesses(op.place_map), source, number),
            _along(named, indices, number),
            *_read(index, op, source, origins, number),
        )
        for number, size in enumerate(op.box)
    ]
    dims = _simplify(dims)
    table = npu.Indexed(
        indices.moved(starts).access(index, [dim.indices for dim in dims]),
        source.strides[axis],
        source.shape[axis],
    )
    return index.builder.insert(
        npu.DmaOp(
            destination.access(index, [dim.destination for dim in dims]),
            source.moved(origins).access(index, [dim.source for dim in dims]),
            [dim.size for dim in dims],
            _inside(dims),
            op.fill_value,
            table,
        )
    )


def _along(places: Sequence[Linear], view: View, dimension: int) -> int:
    """The bytes between neighbours along a dimension of the box."""
    return sum(
        place.coefficients[dimension] * stride
        for place, stride in zip(places, view.strides, strict=True)
    )


def _read(
    index: IndexBuilder,
    op: mem.DmaGatherOp,
    source: View,
    origins: Sequence[Index],
    dimension: int,
) -> tuple[Index, Index | None]:
    """The range along a dimension of the box that the source has."""
    low, high, size = 0, None, op.box[dimension]
    for axis, place in enumerate(accesses(op.place_map)):
        if axis == op.indexed_axis or not place.coefficients[dimension]:
            continue
        origin, bound = origins[axis], source.shape[axis]
        if isinstance(origin, int) and 0 <= origin <= bound - size:
            continue
        if place.dimension != dimension or high is not None:
            message = "expected one axis of the source along each dimension"
            op.emit_error(message, PassFailedException(message))
        low = index.max(0, index.sub(0, origin))
        high = index.min(size, index.sub(bound, origin))
    return low, high


def _inside(dims: Sequence[_Dim]) -> list[tuple[Index, Index]]:
    if all(dim.high is None for dim in dims):
        return []
    return [(dim.low, dim.size if dim.high is None else dim.high) for dim in dims]


def _simplify(dims: Sequence[_Dim]) -> list[_Dim]:
    """Drop dimensions of one element, merge neighbours that are one."""
    result: list[_Dim] = []
    for dim in dims:
        if dim.size == 1 and dim.high is None:
            continue
        if result and result[-1].holds(dim):
            size = result.pop().size * dim.size
            dim = _Dim(size, dim.destination, dim.source, dim.indices)
        result.append(dim)
    return result
