"""Lowering of gathers and scatters to indexed DMA instructions."""

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
from tlf.support.affine.linear_access import access_functions, strides_over_domain


@dataclass(frozen=True)
class _Dim:
    """One dim of an indexed move: its extent, strides in bytes and valid range."""

    size: int
    moved: int
    table: int
    indices: int
    low: Index = 0
    high: Index | None = None
    """End of the range inside the table, exclusive; `None` if fully inside."""

    def can_merge(self, inner: "_Dim") -> bool:
        """
        Return `True` if this dim and the next one are contiguous in the table, in the
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
    Iteration space of an indexed move: its dims, and the accesses to the table, the
    moved data and the indices.
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
    Build the instruction of a gather before it. Indices select elements along one axis;
    source bounds along the other axes become the ranges `inside`.
    """
    source = views.view_of(op.source)
    space = _build_iteration_space(
        op, source, views.view_of(op.destination), views, machine
    )
    dims, axis = space.dims, op.indexed_axis
    table = npu.IndexedRows(space.indices, source.strides[axis], source.shape[axis])
    return space.index.builder.insert(
        npu.DmaOp(
            space.moved,
            space.table,
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
    Build the instruction of a scatter before it. Indices select elements along one
    axis; elements beyond the end of the destination along other axes are clipped.
    """
    destination = views.view_of(op.destination)
    space = _build_iteration_space(
        op, destination, views.view_of(op.source), views, machine
    )
    if any(dim.low != 0 for dim in space.dims):
        message = "expected offsets that are not before the start of the destination"
        op.emit_error(message, PassFailedException(message))
    axis = op.indexed_axis
    table = npu.IndexedRows(
        space.indices,
        destination.strides[axis],
        destination.shape[axis],
        scatter=True,
        accumulate=op.is_scatter_add,
    )
    sizes = [dim.size if dim.high is None else dim.high for dim in space.dims]
    return space.index.builder.insert(
        npu.DmaOp(space.table, space.moved, sizes, indexed=table)
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
        direction = "into" if moved.level == destination else "out of"
        raise PassFailedException(
            f"{op.name}: the npu has no indexed moves {direction} {moved.level}"
        )
    index, indices = index_builder_before(op), views.view_of(op.indices)
    pairs = zip(op.mixed_offsets, access_functions(op.table_map), strict=True)
    origins = [index.add(offset, access.offset) for offset, access in pairs]
    table_strides = strides_over_domain(op.table_map, table.strides)
    index_strides = strides_over_domain(op.index_map, indices.strides)
    dims = _merge_dims(
        [
            _Dim(
                size,
                moved.strides[dimension],
                table_strides[dimension],
                index_strides[dimension],
                *_in_bounds_range(index, op, table, origins, dimension),
            )
            for dimension, size in enumerate(op.box)
        ]
    )
    shifted_indices = indices.with_offsets(
        [access.offset for access in access_functions(op.index_map)]
    )
    return _IterationSpace(
        index,
        dims,
        table.with_offsets(origins).to_access(index, [dim.table for dim in dims]),
        moved.to_access(index, [dim.moved for dim in dims]),
        shifted_indices.to_access(index, [dim.indices for dim in dims]),
    )


def _in_bounds_range(
    index: IndexBuilder,
    op: mem.DmaGatherOp | mem.DmaScatterOp,
    table: BufferView,
    origins: Sequence[Index],
    dimension: int,
) -> tuple[Index, Index | None]:
    """Return the range along a dim of the box that is inside the table."""
    low, high, size = 0, None, op.box[dimension]
    for axis, access in enumerate(access_functions(op.table_map)):
        if axis == op.indexed_axis or not access.coefficient_of(dimension):
            continue
        origin, bound = origins[axis], table.shape[axis]
        lowest, highest = (end - access.offset for end in access.bounds(op.box))
        if isinstance(origin, int) and 0 <= origin + lowest <= origin + highest < bound:
            continue
        if access.loop_dim != dimension or high is not None:
            end = "source" if isinstance(op, mem.DmaGatherOp) else "destination"
            message = f"expected one axis of the {end} along each dimension"
            op.emit_error(message, PassFailedException(message))
        low = index.max(0, index.sub(0, origin))
        high = index.min(size, index.sub(bound, origin))
    return low, high


def _inside_ranges(dims: Sequence[_Dim]) -> list[tuple[Index, Index]]:
    if all(dim.high is None for dim in dims):
        return []
    return [(dim.low, dim.size if dim.high is None else dim.high) for dim in dims]


def _merge_dims(dims: Sequence[_Dim]) -> list[_Dim]:
    """Drop unit dims and merge contiguous adjacent dims."""
    result: list[_Dim] = []
    for dim in dims:
        if dim.size == 1 and dim.high is None:
            continue
        if result and result[-1].can_merge(dim):
            size = result.pop().size * dim.size
            dim = _Dim(size, dim.moved, dim.table, dim.indices)
        result.append(dim)
    return result
