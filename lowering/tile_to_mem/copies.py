"""Copies within a memory level: by an engine, or by way of a nearer level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType, MemRefType, NoneAttr, StringAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.rewriter import InsertPoint

from tlf.analysis.buffers.tile_liveness import Storage
from tlf.dialects import mem
from tlf.dialects.mem import Index
from tlf.dialects.target import Level
from tlf.dialects.types import dtype_of, tensor_type
from tlf.lowering.tile_to_mem.buffers import AnyBuffer, index_sum
from tlf.lowering.tile_to_mem.compute import copy_body
from tlf.lowering.tile_to_mem.errors import BufferizationError
from tlf.lowering.tile_to_mem.scope import Scope

SHARE = 8
"""A copy by way of a nearer level uses one part in so many of that level."""


def copy(
    scope: Scope,
    op: Operation,
    source: SSAValue,
    place: SSAValue,
    axis: int | None = None,
) -> None:
    """
    Copy one buffer to another in the same level.

    Engines copy in the nearest level. Elsewhere slices along `axis`, the longest unless
    given, move to the next nearer level and back, first ones first, so that a buffer
    can be shifted towards its start in place.
    """
    if source is place:
        return
    type_ = cast(AnyBuffer, place.type)
    level = cast(StringAttr, type_.memory_space).data
    names = list(scope.target.levels)
    if level == names[0]:
        _copy_here(scope, source, place, type_)
        return
    _copy_by_way_of(scope, op, Part(source, axis), place, level)


def copy_part(
    scope: Scope,
    op: Operation,
    source: SSAValue,
    offsets: Sequence[Index],
    fill: float | None,
    place: SSAValue,
) -> None:
    """
    Copy a box of a buffer, by way of the next nearer level, to another one of its
    level. What is outside of the source becomes `fill`.
    """
    level = mem.level_of(place.type)
    _copy_by_way_of(scope, op, Part(source, None, offsets, fill), place, level)


@dataclass(frozen=True)
class Part:
    """Source of a copy: a box of a buffer, moved in slices along an axis."""

    buffer: SSAValue
    axis: int | None
    offsets: Sequence[Index] = ()
    """Offsets of the box; empty if it is at the start of the buffer."""
    fill: float | None = None

    def along(self, shape: Sequence[int]) -> int:
        """The axis of the slices of a box of a shape."""
        if self.axis is not None:
            return self.axis
        return max(range(len(shape)), key=shape.__getitem__, default=0)

    def at(self, builder: Builder, offsets: Sequence[Index]) -> list[Index]:
        """Return the offsets in the buffer for offsets in the box."""
        pairs = zip(self.offsets or [0] * len(offsets), offsets, strict=True)
        return [index_sum(builder, start, offset) for start, offset in pairs]


def own(scope: Scope, op: Operation, value: SSAValue) -> tuple[SSAValue, Storage]:
    """
    A buffer with the elements of a tile that `op` may change: that of the tile, if
    nobody needs it afterwards, or a copy.
    """
    source, storage = scope.operand(value), scope.storages[value]
    readers = [each for each in op.operands if scope.storages.get(each) is storage]
    if len(readers) == 1 and scope.liveness.take_over(storage, op):
        scope.moves.wait(scope.builder, writes=[storage])
        return source, storage
    scope.reading(value)
    place = scope.allocate(tensor_type(value))
    copy(scope, op, source, place)
    return place, Storage()


def _copy_here(
    scope: Scope, source: SSAValue, place: SSAValue, type_: AnyBuffer
) -> None:
    identity = AffineMap.identity(type_.get_num_dims())
    body = copy_body(type_.element_type)
    maps = [identity, identity]
    scope.builder.insert(mem.MapOp([source], [place], type_.get_shape(), maps, body))


def _copy_by_way_of(
    scope: Scope, op: Operation, part: Part, place: SSAValue, at: str
) -> None:
    names = list(scope.target.levels)
    level = scope.target.levels[names[names.index(at) - 1]]
    if level.kind != "buffer":
        raise BufferizationError(op, f"cannot copy a tile within {at}")
    type_ = cast(AnyBuffer, place.type)
    shape = list(type_.get_shape())
    if not shape:
        _bounce(scope.builder, part, place, [], type_, level)
        return
    axis = part.along(shape)
    size = dtype_of(type_.element_type).itemsize
    slice_bytes = size * prod(shape) // shape[axis]
    if slice_bytes > level.capacity // 2:
        raise BufferizationError(
            op, f"a slice of {slice_bytes} bytes is too large to pass {level.name}"
        )
    count = min(shape[axis], max(1, level.capacity // SHARE // slice_bytes))
    box = [*shape]
    box[axis] = count
    offsets: list[Index] = [0] * len(shape)
    between = MemRefType(type_.element_type, box)
    if count == shape[axis]:
        _bounce(scope.builder, part, place, offsets, between, level)
        return
    lower, upper, step = (scope.index_value(n) for n in (0, shape[axis], count))
    body = Block(arg_types=[IndexType()])
    offsets[axis] = body.args[0]
    inside = Builder(InsertPoint.at_end(body))
    _bounce(inside, part, place, offsets, between, level)
    inside.insert(scf.YieldOp())
    scope.builder.insert(scf.ForOp(lower, upper, step, [], body))


def _bounce(
    builder: Builder,
    part: Part,
    place: SSAValue,
    offsets: list[Index],
    box: AnyBuffer,
    level: Level,
) -> None:
    """Move a box to a nearer level, and from there to its place."""
    shape = box.get_shape()
    type_ = MemRefType(box.element_type, shape, NoneAttr(), StringAttr(level.name))
    between = builder.insert(mem.AllocOp(type_)).buffer
    zeros = [0] * len(shape)
    starts = part.at(builder, offsets)
    move = mem.DmaOp(part.buffer, starts, between, zeros, shape, part.fill)
    there = builder.insert(move)
    builder.insert(mem.WaitOp([there.token]))
    back = builder.insert(mem.DmaOp(between, zeros, place, offsets, shape))
    builder.insert(mem.WaitOp([back.token]))
