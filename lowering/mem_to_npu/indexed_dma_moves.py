"""Lowering of gathers and scatters to indexed DMA instructions."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.utils.exceptions import PassFailedException

from tlf.dialects import mem, npu
from tlf.dialects.mem import Index
from tlf.dialects.target import TargetSpec
from tlf.lowering.mem_to_npu.dma_moves import check_dma_connects_levels
from tlf.lowering.mem_to_npu.index_builder import IndexBuilder
from tlf.lowering.mem_to_npu.memref_views import (
    BufferView,
    BufferViews,
    index_builder_before,
)
from tlf.support.affine.linear_access import linear_accesses_of_map, strides_over_domain


@dataclass(frozen=True)
class _IndexedMoveDim:
    """One dim of an indexed move: its extent, strides in bytes and valid range."""

    extent: int
    moved_stride: int
    table_stride: int
    indices_stride: int
    valid_begin: Index = 0
    valid_end: Index | None = None
    """End of the range inside the table, exclusive; `None` if fully inside."""

    def can_merge_with(self, inner: "_IndexedMoveDim") -> bool:
        """
        Return `True` if this dim and the next one are contiguous in the table, in the
        moved data and in the indices.
        """
        size = inner.extent
        return (
            (self.valid_end, inner.valid_end) == (None, None)
            and self.moved_stride == inner.moved_stride * size
            and self.table_stride == inner.table_stride * size
            and self.indices_stride == inner.indices_stride * size
        )


@dataclass(frozen=True)
class _IterationSpace:
    """
    Iteration space of an indexed move: its dims, and the accesses to the table, the
    moved data and the indices.
    """

    index: IndexBuilder
    dims: Sequence[_IndexedMoveDim]
    table: npu.Access
    moved: npu.Access
    indices: npu.Access


def convert_gather_to_dma(
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
            [dim.extent for dim in dims],
            _valid_ranges_unless_full(dims),
            op.fill_value,
            table,
        )
    )


def convert_scatter_to_dma(
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
    if any(dim.valid_begin != 0 for dim in space.dims):
        message = "expected offsets that are not before the start of the destination"
        op.emit_error(message, PassFailedException(message))
    axis = op.indexed_axis
    table = npu.IndexedRows(
        space.indices,
        destination.strides[axis],
        destination.shape[axis],
        is_scatter=True,
        is_accumulating=op.is_scatter_add,
    )
    sizes = [
        dim.extent if dim.valid_end is None else dim.valid_end for dim in space.dims
    ]
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
    """Build the dims and `npu` accesses of a gather or scatter before the operation."""
    _check_npu_has_move(op, moved, views, machine)
    index, indices = index_builder_before(op), views.view_of(op.indices)
    pairs = zip(op.mixed_offsets, linear_accesses_of_map(op.table_map), strict=True)
    origins = [index.build_add(offset, access.offset) for offset, access in pairs]
    table_strides = strides_over_domain(op.table_map, table.strides)
    index_strides = strides_over_domain(op.index_map, indices.strides)
    dims = _merge_contiguous_dims(
        [
            _IndexedMoveDim(
                size,
                moved.strides[dimension],
                table_strides[dimension],
                index_strides[dimension],
                *_range_inside_table(index, op, table, origins, dimension),
            )
            for dimension, size in enumerate(op.box_sizes)
        ]
    )
    shifted_indices = indices.view_from_element(
        [access.offset for access in linear_accesses_of_map(op.index_map)]
    )
    return _IterationSpace(
        index,
        dims,
        table.view_from_element(origins).build_access(
            index, [dim.table_stride for dim in dims]
        ),
        moved.build_access(index, [dim.moved_stride for dim in dims]),
        shifted_indices.build_access(index, [dim.indices_stride for dim in dims]),
    )


def _check_npu_has_move(
    op: mem.DmaGatherOp | mem.DmaScatterOp,
    moved: BufferView,
    views: BufferViews,
    machine: TargetSpec,
) -> None:
    """Raise `PassFailedException` if no engine performs an indexed move."""
    source, destination = (
        views.view_of(each).level for each in (op.source, op.destination)
    )
    check_dma_connects_levels(machine, op.name, source, destination)
    if machine.levels[moved.level].indexed_row is None:
        direction = "into" if moved.level == destination else "out of"
        raise PassFailedException(
            f"{op.name}: the npu has no indexed moves {direction} {moved.level}"
        )


def _range_inside_table(
    index_builder: IndexBuilder,
    op: mem.DmaGatherOp | mem.DmaScatterOp,
    table: BufferView,
    origins: Sequence[Index],
    dimension: int,
) -> tuple[Index, Index | None]:
    """Return the range along a dim of the box that is inside the table."""
    low, high, size = 0, None, op.box_sizes[dimension]
    for axis, access in enumerate(linear_accesses_of_map(op.table_map)):
        if axis == op.indexed_axis or not access.coefficient_of(dimension):
            continue
        origin, bound = origins[axis], table.shape[axis]
        lowest, highest = (
            end - access.offset for end in access.index_bounds(op.box_sizes)
        )
        if isinstance(origin, int) and 0 <= origin + lowest <= origin + highest < bound:
            continue
        if access.loop_dim != dimension or high is not None:
            end = "source" if isinstance(op, mem.DmaGatherOp) else "destination"
            message = f"expected one axis of the {end} along each dimension"
            op.emit_error(message, PassFailedException(message))
        low = index_builder.build_max(0, index_builder.build_sub(0, origin))
        high = index_builder.build_min(size, index_builder.build_sub(bound, origin))
    return low, high


def _valid_ranges_unless_full(
    dims: Sequence[_IndexedMoveDim],
) -> list[tuple[Index, Index]]:
    """Return the valid range of each dim; empty if all dims are inside the table."""
    if all(dim.valid_end is None for dim in dims):
        return []
    return [
        (dim.valid_begin, dim.extent if dim.valid_end is None else dim.valid_end)
        for dim in dims
    ]


def _merge_contiguous_dims(dims: Sequence[_IndexedMoveDim]) -> list[_IndexedMoveDim]:
    """
    Return the dims of an indexed move without unit dims and with contiguous neighbours
    merged into one.
    """
    result: list[_IndexedMoveDim] = []
    for dim in dims:
        if dim.extent == 1 and dim.valid_end is None:
            continue
        if result and result[-1].can_merge_with(dim):
            size = result.pop().extent * dim.extent
            dim = _IndexedMoveDim(
                size, dim.moved_stride, dim.table_stride, dim.indices_stride
            )
        result.append(dim)
    return result
