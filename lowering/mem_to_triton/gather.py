"""
Loads of elements that indices name: an address and a condition for each element.
"""

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import i32

from tlf.dialects import mem
from tlf.lowering.mem_to_triton.access import Access, Extents, otherwise
from tlf.lowering.mem_to_triton.alignment import aligned, dimensions
from tlf.lowering.mem_to_triton.indices import Index
from tlf.lowering.mem_to_triton.positions import Position, Positions
from tlf.lowering.mem_to_triton.types import element_of, shape_of


def gather(access: Access, op: mem.GatherOp, indices: str) -> str:
    """
    The expression that loads the value of `op`; `indices` is the variable of its
    indices. Nothing is read for an index that lies outside of the source.
    """
    view, room, axis = access.views[op.source], shape_of(op.value), op.axis.value.data
    extent = view.shape[axis]
    dims = dimensions(op.index_map, room)
    index, _ = aligned(access.source, indices, shape_of(op.indices), dims, room)
    known = f"({index} >= 0) & ({index} < {extent})"
    if access.wide and element_of(op.indices) == i32:
        index = f"{index}.to(tl.int64)"
    positions = Positions.of(access.places(op.mixed_offsets), room, op.place_map)
    place = Position(Index(index, 0, extent - 1), ())
    along = (*positions.along[:axis], place, *positions.along[axis + 1 :])
    positions = replace(positions, along=along)
    address = access.address(view, positions)
    if not _is_full(positions, dims if extent > 1 else ()):
        # The pointers, and with them the condition, get the shape of the value.
        address = f"tl.broadcast_to({address}, {list(room)})"
    inside = access.condition(positions, Extents(op.box, view.shape))
    condition = known if inside is None else f"{known} & {inside}"
    return f"tl.load({address}, mask={condition}{otherwise(op)})"


def _is_full(positions: Positions, dims: Sequence[int | None]) -> bool:
    """
    Return `True` if addresses, with indices along `dims`, have the shape of the value.
    """
    room = positions.room
    used = {dim for position in positions.along for dim, _ in position.terms}
    long = {dim for dim, extent in enumerate(room) if extent > 1}
    return not room or (len(long) > 0 and long <= used | {*dims})
