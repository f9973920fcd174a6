"""
Analysis of tiles that can be computed in place, in a subview of their destination
tensor.

A new tile that loops fill, and that is finally stored into a tensor of the same memory
level, needs no separate buffer: it becomes a subview of the tensor's buffer. Tensors
are thus concatenated without moves.
"""

from __future__ import annotations

from xdsl.dialects.affine import ApplyOp
from xdsl.ir import Block, Operation, SSAValue

from tlf.analysis.affine_loops.index_ranges import is_box_within_tensor, value_range_of
from tlf.analysis.buffers.tile_liveness import TileLiveness
from tlf.dialects import tile
from tlf.dialects.interfaces import ViewInterface
from tlf.dialects.move_interface import MoveInterface
from tlf.dialects.slice_views import is_axis_merge, is_axis_split
from tlf.dialects.target import TargetSpec
from tlf.dialects.tile import level_of
from tlf.dialects.types import tensor_type


def find_in_place_subviews(
    function: Operation, target: TargetSpec, liveness: TileLiveness
) -> dict[SSAValue, tile.DesliceOp]:
    """Return the stores of tiles that can be computed in place, by tile."""
    _, *levels_between = reversed(target.tile_levels)
    names = [level.name for level in levels_between if level.kind == "buffer"]
    levels = (None, *names)
    stores: dict[SSAValue, tile.DesliceOp] = {}
    for op in function.walk():
        if not isinstance(op, tile.DesliceOp) or not _is_store_of_whole_tile(op):
            continue
        if level_of(op.source.type) not in levels:
            continue
        origin = _find_tile_built_in_place(op)
        if origin is not None and _has_exclusive_destination(op, origin, liveness):
            stores[origin] = op
    return stores


def enclosing_destination_of(store: tile.DesliceOp) -> SSAValue:
    """
    Return the tensor in which a tile is computed, before other tiles of its block are
    stored into it.
    """
    return _previous_values_of_destination(store)[-1]


def _previous_values_of_destination(store: tile.DesliceOp) -> list[SSAValue]:
    """
    Return the successive values of the destination tensor before a store, latest first,
    back through the stores of the same block.
    """
    values = [store.destination]
    while isinstance(owner := values[-1].owner, tile.DesliceOp):
        if owner.parent is not store.parent:
            break
        values.append(owner.destination)
    return values


def _is_store_of_whole_tile(op: tile.DesliceOp) -> bool:
    """Return `True` if a store puts the whole tile into a tensor of the same level."""
    source, destination = tensor_type(op.source), tensor_type(op.destination)
    if level_of(source) != level_of(destination):
        return False
    if op.valid_box_extents != source.get_shape():
        return False
    return is_box_within_tensor(
        op.mixed_offsets, op.valid_box_extents, destination.get_shape()
    )


def _find_tile_built_in_place(op: tile.DesliceOp) -> SSAValue | None:
    """
    Return the new or loaded tile of the same block from which the stored tile is built,
    possibly of another shape; None if there is none.
    """
    value, view = op.source, op.source.owner
    if isinstance(view, ViewInterface) and is_axis_merge(view):
        value = view.operands[0]
    while True:
        owner = value.owner
        if not isinstance(owner, Operation) or owner.parent is not op.parent:
            return None
        users = (use.operation for use in value.uses)
        if not all(user is view or _is_move_only(value, user) for user in users):
            return None
        match owner:
            case tile.EmptyOp():
                return value
            case tile.SliceOp() if level_of(owner.source.type) != level_of(value.type):
                return value
            case tile.DesliceOp():
                value = owner.destination
            case tile.WhileOp():
                value = owner.inits[list[SSAValue](owner.results).index(value)]
            case _:
                return None


def _is_move_only(value: SSAValue, user: Operation) -> bool:
    """
    Return `True` if an operation only moves a tile, possibly with its axes split, or is
    a loop that stores tiles into it.
    """
    match user:
        case MoveInterface():
            (result,) = user.results
            return level_of(result.type) != level_of(value.type)
        case ViewInterface():
            (view,) = user.results
            readers = [use.operation for use in view.uses]
            return is_axis_split(user) and all(
                isinstance(reader, MoveInterface | ViewInterface)
                and _is_move_only(view, reader)
                for reader in readers
            )
        case tile.WhileOp():
            return True
        case _:
            return isinstance(user, tile.DesliceOp | tile.YieldOp)


def _has_exclusive_destination(
    op: tile.DesliceOp, origin: SSAValue, liveness: TileLiveness
) -> bool:
    """
    Return `True` if nothing else uses the tensor while the tile is computed, and the
    offsets of the tile are available before.
    """
    values = _previous_values_of_destination(op)
    stores = [value.owner for value in values[:-1]]
    if not all(value.uses.get_length() == 1 for value in values):
        return False
    if not all(
        isinstance(each, tile.DesliceOp) and _has_disjoint_tiles(op, each)
        for each in stores
    ):
        return False
    first, destination_owner = origin.owner, values[-1].owner
    assert isinstance(first, Operation)
    if destination_owner is not op.parent:
        if (
            not isinstance(destination_owner, tile.EmptyOp)
            or destination_owner.parent is not op.parent
        ):
            return False
        if liveness.position[destination_owner] > liveness.position[first]:
            return False
    return all(
        isinstance(offset, int) or _is_available_before(offset, first, liveness)
        for offset in op.mixed_offsets
    )


def _has_disjoint_tiles(store: tile.DesliceOp, other_store: tile.DesliceOp) -> bool:
    """
    Return `True` if constant offsets prove that two `tile.deslice` write disjoint
    boxes.
    """
    starts = zip(store.mixed_offsets, other_store.mixed_offsets, strict=True)
    return any(
        isinstance(start, int)
        and isinstance(other_start, int)
        and (start + extent <= other_start or other_start + other_extent <= start)
        for (start, other_start), extent, other_extent in zip(
            starts, store.valid_box_extents, other_store.valid_box_extents, strict=True
        )
    )


def _is_available_before(
    value: SSAValue, first_user: Operation, liveness: TileLiveness
) -> bool:
    """
    Return `True` if an index is defined before an operation, or can be computed there.
    """
    owner = value.owner
    if isinstance(owner, Block) or owner.parent is not first_user.parent:
        return True
    if liveness.position[owner] < liveness.position[first_user]:
        return True
    if not isinstance(owner, ApplyOp):
        return False
    return all(
        _is_available_before(each, first_user, liveness) for each in owner.operands
    )


def can_slice_read_out_of_bounds(op: tile.SliceOp) -> bool:
    """
    Return `True` if a `tile.slice` is not provably inside its source, and either has a
    fill value or all of its offsets have known ranges.
    """
    source, result = tensor_type(op.source), tensor_type(op.result)
    if is_box_within_tensor(op.mixed_offsets, result.get_shape(), source.get_shape()):
        return False
    return op.fill is not None or None not in map(value_range_of, op.mixed_offsets)
