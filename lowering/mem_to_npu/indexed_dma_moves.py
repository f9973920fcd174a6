"""Lower gathers and scatters to indexed DMA instructions."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.utils.exceptions import PassFailedException

from tlf.dialects import mem, npu
from tlf.dialects.mem import Index
from tlf.dialects.target import TargetSpec
from tlf.lowering.mem_to_npu.dma_moves import check_dma_levels
from tlf.lowering.mem_to_npu.index_builder import IndexBuilder
from tlf.lowering.mem_to_npu.memref_views import (
    BufferView,
    BufferViews,
    index_builder_before,
)
from tlf.support.affine.linear_access import Linear, access_functions


@dataclass(frozen=True)
class _Dim:
    """
    One dimension of an indexed move: its extent, strides in bytes and valid range.
    """

    size: int
    moved: int
    table: int
    indices: int
    low: Index = 0
    high: Index | None = None
    """The end of what the table has of it; None for all."""

    def can_merge(self, inner: "_Dim") -> bool:
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
class _IterationSpace:
    """
    Iteration space of an indexed move: accesses to the table, to the moved data and to
    the indices.
    """

    index: IndexBuilder
    dims: Sequence[_Dim]
    table: npu.Access
    moved: npu.Access
    indices: npu.Access


def convert_gather(
    op: mem.DmaGatherOp, views: BufferViews, machine: TargetSpec
) -> npu.DmaOp:
    """
    Build the instruction for a move before it. Indices tell the places along one axis;
    elements outside of the source along others become the ranges `inside`.
    """
    source = views.view_of(op.source)
    walk = _build_iteration_space(
        op, source, views.view_of(op.destination), views, machine
    )
    dims, axis = walk.dims, op.indexed_axis
    table = npu.IndexedRows(walk.indices, source.strides[axis], source.shape[axis])
    return walk.index.builder.insert(
        npu.DmaOp(
            walk.moved,
            walk.table,
            [dim.size for dim in dims],
            _inside_ranges(dims),
            op.fill_value,
            table,
        )
    )


def convert_scatter(
    op: mem.DmaScatterOp, views: BufferViews, machine: TargetSpec
) -> npu.DmaOp:
    """
    Build the instruction for a move before it. Indices tell the places along one axis;
    elements behind the end of the destination along others are cut off.
    """
    destination = views.view_of(op.destination)
    walk = _build_iteration_space(
        op, destination, views.view_of(op.source), views, machine
    )
    if any(dim.low != 0 for dim in walk.dims):
        message = "expected places that are not before the start of the destination"
        op.emit_error(message, PassFailedException(message))
    axis = op.indexed_axis
    table = npu.IndexedRows(
        walk.indices,
        destination.strides[axis],
        destination.shape[axis],
        scatter=True,
        accumulate=op.is_scatter_add,
    )
    sizes = [dim.size if dim.high is None else dim.high for dim in walk.dims]
    return walk.index.builder.insert(
        npu.DmaOp(walk.table, walk.moved, sizes, indexed=table)
    )


def _build_iteration_space(
    op: mem.DmaGatherOp | mem.DmaScatterOp,
    table: BufferView,
    moved: BufferView,
    views: BufferViews,
    machine: TargetSpec,
) -> _IterationSpace:
    source, destination = (
        views.view_of(each).level for each in (op.source, op.destination)
    )
    check_dma_levels(machine, op.name, source, destination)
    if machine.levels[moved.level].indexed_row is None:
        way = "into" if moved.level == destination else "out of"
        raise PassFailedException(
            f"{op.name}: expected moves {way} {moved.level} that follow indices, "
            "got a target whose moves do not"
        )
    index, indices = index_builder_before(op), views.view_of(op.indices)
    named, placed = access_functions(op.index_map), access_functions(op.table_map)
    pairs = zip(op.mixed_offsets, placed, strict=True)
    origins = [index.add(offset, place.constant) for offset, place in pairs]
    dims = _merge_dims(
        [
            _Dim(
                size,
                moved.strides[number],
                _stride_along(placed, table, number),
                _stride_along(named, indices, number),
                *_in_bounds_range(index, op, table, origins, number),
            )
            for number, size in enumerate(op.box)
        ]
    )
    names = indices.with_offsets([place.constant for place in named])
    return _IterationSpace(
        index,
        dims,
        table.with_offsets(origins).to_access(index, [dim.table for dim in dims]),
        moved.to_access(index, [dim.moved for dim in dims]),
        names.to_access(index, [dim.indices for dim in dims]),
    )


def _stride_along(places: Sequence[Linear], view: BufferView, dimension: int) -> int:
    """Return the bytes between neighbouring elements along a dimension of the box."""
    return sum(
        place.coefficients[dimension] * stride
        for place, stride in zip(places, view.strides, strict=True)
    )


def _in_bounds_range(
    index: IndexBuilder,
    op: mem.DmaGatherOp | mem.DmaScatterOp,
    table: BufferView,
    origins: Sequence[Index],
    dimension: int,
) -> tuple[Index, Index | None]:
    """Return the range along a dimension of the box that lies inside of the table."""
    low, high, size = 0, None, op.box[dimension]
    for axis, place in enumerate(access_functions(op.table_map)):
        if axis == op.indexed_axis or not place.coefficients[dimension]:
            continue
        origin, bound = origins[axis], table.shape[axis]
        lowest, highest = _offset_range(place, op.box)
        if isinstance(origin, int) and 0 <= origin + lowest <= origin + highest < bound:
            continue
        if place.dimension != dimension or high is not None:
            end = "source" if isinstance(op, mem.DmaGatherOp) else "destination"
            message = f"expected one axis of the {end} along each dimension"
            op.emit_error(message, PassFailedException(message))
        low = index.max(0, index.sub(0, origin))
        high = index.min(size, index.sub(bound, origin))
    return low, high


def _offset_range(place: Linear, box: Sequence[int]) -> tuple[int, int]:
    """
    Return the least and the greatest offset of the elements of a box, relative to the
    first element.
    """
    steps = [
        coefficient * (size - 1)
        for coefficient, size in zip(place.coefficients, box, strict=True)
    ]
    return sum(min(0, step) for step in steps), sum(max(0, step) for step in steps)


def _inside_ranges(dims: Sequence[_Dim]) -> list[tuple[Index, Index]]:
    if all(dim.high is None for dim in dims):
        return []
    return [(dim.low, dim.size if dim.high is None else dim.high) for dim in dims]


def _merge_dims(dims: Sequence[_Dim]) -> list[_Dim]:
    """Drop dimensions of one element, merge neighbours that are one."""
    result: list[_Dim] = []
    for dim in dims:
        if dim.size == 1 and dim.high is None:
            continue
        if result and result[-1].can_merge(dim):
            size = result.pop().size * dim.size
            dim = _Dim(size, dim.moved, dim.table, dim.indices)
        result.append(dim)
    return result
