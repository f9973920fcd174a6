"""Gather loads: pointers and bounds conditions from index tiles."""

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import i32

from tlf.dialects import mem
from tlf.lowering.mem_to_triton.access_writer import (
    AccessWriter,
    ValidExtents,
    other_argument,
)
from tlf.lowering.mem_to_triton.element_positions import Position, Positions
from tlf.lowering.mem_to_triton.element_types import element_type_of, shape_of
from tlf.lowering.mem_to_triton.index_expressions import IndexExpr
from tlf.lowering.mem_to_triton.tile_broadcasting import align_to_domain, domain_dims_of


def gather_expression(access: AccessWriter, op: mem.GatherOp, indices: str) -> str:
    """
    The expression that loads the value of `op`; `indices` is the variable of its
    indices. Nothing is read for an index that lies outside of the source.
    """
    view, room, axis = access.views[op.source], shape_of(op.value), op.axis.value.data
    extent = view.shape[axis]
    dims = domain_dims_of(op.index_map, room)
    index, _ = align_to_domain(access.source, indices, shape_of(op.indices), dims, room)
    known = f"({index} >= 0) & ({index} < {extent})"
    if access.wide and element_type_of(op.indices) == i32:
        index = f"{index}.to(tl.int64)"
    positions = Positions.of(access.index_offsets(op.mixed_offsets), room, op.table_map)
    place = Position(IndexExpr(index, 0, extent - 1), ())
    along = (*positions.along[:axis], place, *positions.along[axis + 1 :])
    positions = replace(positions, along=along)
    address = access.pointer_expression(view, positions)
    if not _has_full_shape(positions, dims if extent > 1 else ()):
        # The pointers, and with them the condition, get the shape of the value.
        address = f"tl.broadcast_to({address}, {list(room)})"
    inside = access.mask_condition(positions, ValidExtents(op.box, view.shape))
    condition = known if inside is None else f"{known} & {inside}"
    return f"tl.load({address}, mask={condition}{other_argument(op)})"


def _has_full_shape(positions: Positions, dims: Sequence[int | None]) -> bool:
    """
    Return `True` if addresses, with indices along `dims`, have the shape of the value.
    """
    room = positions.room
    used = {dim for position in positions.along for dim, _ in position.terms}
    long = {dim for dim, extent in enumerate(room) if extent > 1}
    return not room or (len(long) > 0 and long <= used | {*dims})
