"""Tiles that are cut, put back, masked, rolled or made."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from tlf.analysis.buffers.parts import reaches_out
from tlf.analysis.buffers.rings import SOURCE
from tlf.analysis.buffers.tile_liveness import Storage
from tlf.dialects import mem, tile
from tlf.dialects.graph import remark
from tlf.dialects.interfaces import ConstantInterface
from tlf.dialects.tile import Index, level_of
from tlf.dialects.types import scalar_value, tensor_type
from tlf.lowering.tile_to_mem.buffers import buffer_type, subview
from tlf.lowering.tile_to_mem.copies import copy, copy_part, own
from tlf.lowering.tile_to_mem.errors import BufferizationError
from tlf.lowering.tile_to_mem.scope import Scope
from tlf.lowering.tile_to_mem.windows import make_place, roll

NO_BORDER = "expected a slice within a memory level to have no fill value"


def convert_empty(scope: Scope, op: tile.EmptyOp) -> None:
    """
    A place of its own, the argument that the tile is to be returned in, or the part of
    a tensor that it is to be put into.
    """
    scope.bind(op.result, *make_place(scope, op.result))


def convert_constant(scope: Scope, op: ConstantInterface) -> None:
    """A global. A constant of one value is made where it is needed, if at all."""
    if op.splat() is not None and level_of(op.results[0].type) is not None:
        return
    level = scope.target.outermost.name
    place = scope.constants.get(op, buffer_type(tensor_type(op.results[0]), level))
    made = scope.builder.insert(place)
    scope.bind(op.results[0], made.memref, Storage(writable=False))


def convert_slice(scope: Scope, op: tile.SliceOp) -> None:
    """A move into another level, or a view."""
    type_ = tensor_type(op.result)
    source = scope.operand(op.source)
    offsets = scope.indices(op.mixed_offsets)
    scope.reading(op.source)
    fill = None if op.fill is None else scalar_value(op.fill)
    if not scope.is_value(type_):
        _check_move(op)
    if scope.level(op.source.type) == scope.level(type_):
        _view(scope, op, source, offsets)
    elif scope.is_value(type_):
        map_ = None if op.map is None else op.map.data
        load = mem.LoadOp(source, offsets, type_, fill, op.extents, map_)
        scope.bind(op.result, scope.builder.insert(load).value, Storage())
    else:
        place, storage = make_place(scope, op.result)
        zeros = [0] * len(offsets)
        move = mem.DmaOp(source, offsets, place, zeros, op.extents, fill)
        token = scope.builder.insert(move).token
        scope.moves.start(token, scope.storages[op.source], storage)
        scope.bind(op.result, place, storage)


def _check_move(op: tile.SliceOp) -> None:
    """
    Raise `BufferizationError` unless a move between buffers can implement a slice.
    """
    if op.map is not None:
        raise BufferizationError(op, "cannot move through a map into a buffer")
    if op.fill is not None and op.extents != tensor_type(op.result).get_shape():
        raise BufferizationError(
            op, "cannot fill a buffer beyond the valid extents of a slice"
        )


def _view(
    scope: Scope, op: tile.SliceOp, source: SSAValue, offsets: Sequence[Index]
) -> None:
    """A part of a tile in the tile's own level; a copy of it where it reaches out."""
    type_ = tensor_type(op.result)
    if op.map is not None:
        raise BufferizationError(
            op, "expected a slice within a memory level to have no map"
        )
    if scope.is_value(type_):
        _check_same(op)
        scope.bind(op.result, source, scope.storages[op.source])
    elif not reaches_out(op):
        view = subview(scope.builder, source, offsets, type_.get_shape())
        scope.bind(op.result, view, scope.storages[op.source])
    elif scope.level(type_) == next(iter(scope.target.levels)):
        raise BufferizationError(op, NO_BORDER)
    else:
        remark(op, SOURCE, "missed", "a part that reaches out of a tensor is copied")
        place = scope.allocate(type_)
        fill = None if op.fill is None else scalar_value(op.fill)
        copy_part(scope, op, source, offsets, fill, place)
        scope.bind(op.result, place, Storage())


def _check_same(op: tile.SliceOp) -> None:
    """
    Raise `BufferizationError` unless a slice of a tile of registers covers all of it.
    """
    if op.fill is not None:
        raise BufferizationError(op, NO_BORDER)
    if tensor_type(op.result).get_shape() != tensor_type(op.source).get_shape():
        raise BufferizationError(op, "cannot take a part of a tile of registers")


def convert_deslice(scope: Scope, op: tile.DesliceOp) -> None:
    """A move to where the tile belongs."""
    place, storage = scope.values[op.destination], scope.storages[op.destination]
    source = scope.operand(op.source)
    if source is scope.made.get(op):
        scope.storages[op.source].writable = False
        storage.values.extend(scope.storages[op.source].values)
        scope.bind(op.result, place, storage)
        return
    offsets = scope.indices(op.mixed_offsets)
    scope.reading(op.source)
    scope.moves.wait(scope.builder, writes=[storage])
    if scope.is_value(op.source.type):
        scope.builder.insert(mem.StoreOp(source, place, offsets, op.extents))
    elif scope.level(op.source.type) == scope.level(op.destination.type):
        copy(scope, op, source, subview(scope.builder, place, offsets, op.extents))
    else:
        zeros = [0] * len(offsets)
        move = mem.DmaOp(source, zeros, place, offsets, op.extents)
        token = scope.builder.insert(move).token
        scope.moves.start(token, scope.storages[op.source], storage)
    scope.bind(op.result, place, storage)


def convert_mask(scope: Scope, op: tile.MaskOp) -> None:
    """A mask, in place where the unmasked tile is not needed."""
    offsets = scope.indices(op.mixed_offsets)
    bounds = tuple(op.bounds.get_values())
    fill = scalar_value(op.fill)
    if scope.is_value(op.result.type):
        source = scope.operand(op.source)
        mask = mem.MaskOp(source, offsets, bounds, fill, op.extents)
        scope.bind(op.result, scope.builder.insert(mask).results[0], Storage())
        return
    place, storage = own(scope, op, op.source)
    scope.builder.insert(mem.MaskOp(place, offsets, bounds, fill, op.extents))
    scope.bind(op.result, place, storage)


def convert_roll(scope: Scope, op: tile.RollOp) -> None:
    """
    Let a window of a ring be some slices further on. Shift what is kept of any other
    window to its start, in its own place if it is not needed any more, and put what
    follows behind it.
    """
    if (ring := scope.rings.by_roll.get(op)) is not None:
        roll(scope, op, ring)
        return
    window, following = tensor_type(op.window), tensor_type(op.next)
    if scope.is_value(window):
        raise BufferizationError(op, "cannot roll a tile of registers")
    axis = op.axis.value.data
    count, shape = following.get_shape()[axis], window.get_shape()

    def along(extent: int, others: Sequence[int]) -> list[int]:
        return [extent if each == axis else other for each, other in enumerate(others)]

    scope.reading(op.window, op.next)
    source = scope.operand(op.window)
    place, storage = _rolled_place(scope, op)
    zeros = [0] * len(shape)
    kept = along(shape[axis] - count, shape)
    if kept[axis]:
        old = subview(scope.builder, source, along(count, zeros), kept)
        copy(scope, op, old, subview(scope.builder, place, zeros, kept), axis)
    end = along(shape[axis] - count, zeros)
    part = subview(scope.builder, place, end, following.get_shape())
    copy(scope, op, scope.operand(op.next), part)
    scope.bind(op.result, place, storage)


def _rolled_place(scope: Scope, op: tile.RollOp) -> tuple[SSAValue, Storage]:
    """The window's own place, unless it is needed or engines would shift it at once."""
    storage = scope.storages[op.window]
    nearest = next(iter(scope.target.levels))
    near = scope.level(op.window.type) == nearest
    if near or not scope.liveness.take_over(storage, op):
        return scope.allocate(tensor_type(op.window)), Storage()
    scope.moves.wait(scope.builder, writes=[storage])
    return scope.values[op.window], storage
