"""
Emission of Triton code for gathers: pointers and bounds conditions computed from index
tiles.
"""

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import i32

from tlf.dialects import mem
from tlf.lowering.mem_to_triton.access_writer import (
    AccessWriter,
    PointerView,
    ValidExtents,
    masked_load,
)
from tlf.lowering.mem_to_triton.element_positions import ElementPositions, Position
from tlf.lowering.mem_to_triton.element_types import element_type_of, shape_of
from tlf.lowering.mem_to_triton.flat_axes import FlatAxes
from tlf.lowering.mem_to_triton.index_expressions import IndexExpr
from tlf.lowering.mem_to_triton.tile_broadcasting import (
    align_tile_to_domain,
    domain_dims_of,
)


def gather_load_expression(access: AccessWriter, op: mem.GatherOp, indices: str) -> str:
    """
    Return the expression that loads the value of `op`; `indices` is the variable of its
    indices. Out-of-bounds indices are masked.
    """
    view = access.views[op.source]
    extents = ValidExtents(op.box_sizes, view.shape)
    address, condition = indexed_address_and_condition(
        access, op, view, extents, indices
    )
    return masked_load(op, address, condition)


def indexed_address_and_condition(
    access: AccessWriter,
    op: mem.GatherOp | mem.ScatterOp,
    view: PointerView,
    extents: ValidExtents,
    indices: str,
) -> tuple[str, str]:
    """
    Return the expressions of the pointers to the elements of the table of `op`, with
    the shape of its value, and of the condition that they are in bounds; `indices` is
    the variable of its indices.
    """
    tile_shape, axis = shape_of(op.value), op.indexed_axis
    extent = view.shape[axis]
    dims = domain_dims_of(op.index_map, tile_shape)
    index, _ = align_tile_to_domain(
        access.source, indices, shape_of(op.indices), dims, tile_shape
    )
    is_valid_index = f"({index} >= 0) & ({index} < {extent})"
    if access.wide and element_type_of(op.indices) == i32:
        index = f"{index}.to(tl.int64)"
    positions = ElementPositions.from_offsets(
        access.index_expressions_of(op.mixed_offsets),
        FlatAxes.of_dims(tile_shape),
        op.table_map,
    )
    indexed_position = Position(IndexExpr(index, 0, extent - 1), ())
    along = (*positions.along[:axis], indexed_position, *positions.along[axis + 1 :])
    positions = replace(positions, along=along)
    address = access.pointer_expression(view, positions)
    if not _has_address_full_shape(positions, dims if extent > 1 else ()):
        # Broadcast the pointers, and thereby the condition, to the shape of the value.
        address = f"tl.broadcast_to({address}, {list(tile_shape)})"
    in_bounds = access.mask_condition(positions, extents)
    condition = (
        is_valid_index if in_bounds is None else f"{is_valid_index} & {in_bounds}"
    )
    return address, condition


def _has_address_full_shape(
    positions: ElementPositions, dims: Sequence[int | None]
) -> bool:
    """
    Return `True` if addresses, with indices along `dims`, have the shape of the value.
    """
    shape = positions.tile_shape
    used = {dim for position in positions.along for dim, _ in position.terms}
    nonunit = {dim for dim, extent in enumerate(shape) if extent > 1}
    return not shape or (len(nonunit) > 0 and nonunit <= used | {*dims})
