"""Moves on the DMA queues that follow indices."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.utils.exceptions import PassFailedException

from tlf.dialects import mem, npu
from tlf.dialects.mem import Index
from tlf.dialects.target import Target
from tlf.lowering.mem_to_npu.dma import check_levels
from tlf.lowering.mem_to_npu.index import IndexBuilder
from tlf.lowering.mem_to_npu.views import View, Views, index_builder
from tlf.support.affine.linear_map import Linear, accesses


@dataclass(frozen=True)
class _Dim:
    """One dimension of a move: its elements, strides in bytes, and what is moved."""

    size: int
    moved: int
    table: int
    indices: int
    low: Index = 0
    high: Index | None = None
    """The end of what the table has of it; None for all."""

    def holds(self, inner: "_Dim") -> bool:
        """
        Return `True` if this and the next dimension can be merged: in the table, in the
        moved data and in the indices.
        """
        size = inner.size
        return (
            (self.high, inner.high) == (None, None)
            and self.moved == inner.moved * size
            and self.table == inner.table * size
            and self.indices == inner.indices * size
        )


@dataclass(frozen=True)
class _Walk:
    """
    Iteration space of an indexed move: accesses to the table, to the moved data and to
    the indices.
    """

    index: IndexBuilder
    dims: Sequence[_Dim]
    table: npu.Access
    moved: npu.Access
    indices: npu.Access


def convert_gather(op: mem.DmaGatherOp, views: Views, machine: Target) -> npu.DmaOp:
    """
    Build the instruction for a move before it. Indices tell the places along one axis;
    elements outside of the source along others become the ranges `inside`.
    """
    source = views.view(op.source)
    walk = _walk(op, source, views.view(op.destination), views, machine)
    dims, axis = walk.dims, op.indexed_axis
    table = npu.Indexed(walk.indices, source.strides[axis], source.shape[axis])
    return walk.index.builder.insert(
        npu.DmaOp(
            walk.moved,
            walk.table,
            [dim.size for dim in dims],
            _inside(dims),
            op.fill_value,
            table,
        )
    )


def convert_scatter(op: mem.DmaScatterOp, views: Views, machine: Target) -> npu.DmaOp:
    """
    Build the instruction for a move before it. Indices tell the places along one axis;
    elements behind the end of the destination along others are cut off.
    """
    destination = views.view(op.destination)
    walk = _walk(op, destination, views.view(op.source), views, machine)
    if any(dim.low != 0 for dim in walk.dims):
        message = "expected places that are not before the start of the destination"
        op.emit_error(message, PassFailedException(message))
    axis = op.indexed_axis
    table = npu.Indexed(
        walk.indices,
        destination.strides[axis],
        destination.shape[axis],
        scatter=True,
        accumulate=op.adds,
    )
    sizes = [dim.size if dim.high is None else dim.high for dim in walk.dims]
    return walk.index.builder.insert(
        npu.DmaOp(walk.table, walk.moved, sizes, indexed=table)
    )


def _walk(
    op: mem.DmaGatherOp | mem.DmaScatterOp,
    table: View,
    moved: View,
    views: Views,
    machine: Target,
) -> _Walk:
    source, destination = (
        views.view(each).level for each in (op.source, op.destination)
    )
    check_levels(machine, op.name, source, destination)
    if machine.levels[moved.level].indexed_row is None:
        way = "into" if moved.level == destination else "out of"
        raise PassFailedException(
            f"{op.name}: expected moves {way} {moved.level} that follow indices, "
            "got a target whose moves do not"
        )
    index, indices = index_builder(op), views.view(op.indices)
    named, placed = accesses(op.index_map), accesses(op.place_map)
    pairs = zip(op.mixed_offsets, placed, strict=True)
    origins = [index.add(offset, place.constant) for offset, place in pairs]
    dims = _simplify(
        [
            _Dim(
                size,
                moved.strides[number],
                _along(placed, table, number),
                _along(named, indices, number),
                *_range(index, op, table, origins, number),
            )
            for number, size in enumerate(op.box)
        ]
    )
    names = indices.moved([place.constant for place in named])
    return _Walk(
        index,
        dims,
        table.moved(origins).access(index, [dim.table for dim in dims]),
        moved.access(index, [dim.moved for dim in dims]),
        names.access(index, [dim.indices for dim in dims]),
    )


def _along(places: Sequence[Linear], view: View, dimension: int) -> int:
    """The bytes between neighbours along a dimension of the box."""
    return sum(
        place.coefficients[dimension] * stride
        for place, stride in zip(places, view.strides, strict=True)
    )


def _range(
    index: IndexBuilder,
    op: mem.DmaGatherOp | mem.DmaScatterOp,
    table: View,
    origins: Sequence[Index],
    dimension: int,
) -> tuple[Index, Index | None]:
    """The range along a dimension of the box that the table has."""
    low, high, size = 0, None, op.box[dimension]
    for axis, place in enumerate(accesses(op.place_map)):
        if axis == op.indexed_axis or not place.coefficients[dimension]:
            continue
        origin, bound = origins[axis], table.shape[axis]
        lowest, highest = _reach(place, op.box)
        if isinstance(origin, int) and 0 <= origin + lowest <= origin + highest < bound:
            continue
        if place.dimension != dimension or high is not None:
            end = "source" if isinstance(op, mem.DmaGatherOp) else "destination"
            message = f"expected one axis of the {end} along each dimension"
            op.emit_error(message, PassFailedException(message))
        low = index.max(0, index.sub(0, origin))
        high = index.min(size, index.sub(bound, origin))
    return low, high


def _reach(place: Linear, box: Sequence[int]) -> tuple[int, int]:
    """
    Return the least and the greatest offset of the elements of a box, relative to the
    first element.
    """
    steps = [
        coefficient * (size - 1)
        for coefficient, size in zip(place.coefficients, box, strict=True)
    ]
    return sum(min(0, step) for step in steps), sum(max(0, step) for step in steps)


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
            dim = _Dim(size, dim.moved, dim.table, dim.indices)
        result.append(dim)
    return result
