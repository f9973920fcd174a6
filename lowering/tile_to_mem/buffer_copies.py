"""
Buffer copies within a memory level in the lowering of tiles to `mem`: by an engine, or
through an inner level.
"""

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

from tlf.analysis.buffers.tile_liveness import SharedStorage
from tlf.dialects import mem
from tlf.dialects.mem import Index
from tlf.dialects.target import Level
from tlf.dialects.types import dtype_of, memref_type, tensor_type
from tlf.lowering.tile_to_mem.buffer_builders import AnyBuffer, build_index_sum
from tlf.lowering.tile_to_mem.bufferization_error import BufferizationError
from tlf.lowering.tile_to_mem.bufferization_state import BufferizationState
from tlf.lowering.tile_to_mem.structured_compute import copy_body

LEVEL_FRACTION = 8
"""A copy through an inner level uses 1 / LEVEL_FRACTION of its capacity."""


def copy_buffer(
    scope: BufferizationState,
    op: Operation,
    source: SSAValue,
    place: SSAValue,
    axis: int | None = None,
) -> None:
    """
    Copy one buffer to another in the same level.

    In the innermost level an engine copies. In other levels, slices along `axis` (by
    default the longest axis) move to the next inner level and back, in ascending order,
    so that a buffer can be shifted towards its start in place.
    """
    if source is place:
        return
    type_ = memref_type(place)
    level = cast(StringAttr, type_.memory_space).data
    names = list(scope.target.levels)
    if level == names[0]:
        _copy_by_engine(scope, source, place, type_)
        return
    _copy_through_inner_level(scope, op, CopySource(source, axis), place, level)


def copy_box(
    scope: BufferizationState,
    op: Operation,
    source: SSAValue,
    offsets: Sequence[Index],
    fill: float | None,
    place: SSAValue,
) -> None:
    """
    Copy a box of a buffer, through the next inner level, to another buffer. Elements
    outside the source become `fill`.
    """
    level = mem.level_of(place.type)
    _copy_through_inner_level(
        scope, op, CopySource(source, None, offsets, fill), place, level
    )


@dataclass(frozen=True)
class CopySource:
    """Source of a copy: a box of a buffer, moved in slices along an axis."""

    buffer: SSAValue
    axis: int | None
    offsets: Sequence[Index] = ()
    """Offsets of the box in the buffer; empty for a box at its start."""
    fill: float | None = None

    def slice_axis(self, shape: Sequence[int]) -> int:
        """Return the axis that a box of the given shape is sliced along."""
        if self.axis is not None:
            return self.axis
        return max(range(len(shape)), key=shape.__getitem__, default=0)

    def offsets_in_buffer(
        self, builder: Builder, offsets: Sequence[Index]
    ) -> list[Index]:
        """Translate offsets in the box to offsets in the buffer."""
        pairs = zip(self.offsets or [0] * len(offsets), offsets, strict=True)
        return [build_index_sum(builder, start, offset) for start, offset in pairs]


def acquire_writable_buffer(
    scope: BufferizationState, op: Operation, value: SSAValue
) -> tuple[SSAValue, SharedStorage]:
    """
    Return a writable buffer of a tile and its storage: the tile's own buffer if the
    tile is dead after `op`, otherwise a copy.
    """
    source, storage = scope.operand(value), scope.storages[value]
    readers = [each for each in op.operands if scope.storages.get(each) is storage]
    if len(readers) == 1 and scope.liveness.try_reuse(storage, op):
        scope.moves.wait(scope.builder, writes=[storage])
        return source, storage
    scope.wait_before_read(value)
    copy = scope.allocate(tensor_type(value))
    copy_buffer(scope, op, source, copy)
    return copy, SharedStorage()


def _copy_by_engine(
    scope: BufferizationState, source: SSAValue, place: SSAValue, type_: AnyBuffer
) -> None:
    identity = AffineMap.identity(type_.get_num_dims())
    body = copy_body(type_.element_type)
    maps = [identity, identity]
    scope.builder.insert(mem.MapOp([source], [place], type_.get_shape(), maps, body))


def _copy_through_inner_level(
    scope: BufferizationState, op: Operation, part: CopySource, place: SSAValue, at: str
) -> None:
    names = list(scope.target.levels)
    level = scope.target.levels[names[names.index(at) - 1]]
    if level.kind != "buffer":
        raise BufferizationError(op, f"cannot copy a tile within {at}")
    type_ = memref_type(place)
    shape = list(type_.get_shape())
    if not shape:
        _bounce_box(scope.builder, part, place, [], type_, level)
        return
    axis = part.slice_axis(shape)
    size = dtype_of(type_.element_type).itemsize
    slice_bytes = size * prod(shape) // shape[axis]
    if slice_bytes > level.capacity // 2:
        raise BufferizationError(
            op,
            f"a slice of {slice_bytes} bytes is too large to copy through {level.name}",
        )
    count = min(shape[axis], max(1, level.capacity // LEVEL_FRACTION // slice_bytes))
    box = [*shape]
    box[axis] = count
    offsets: list[Index] = [0] * len(shape)
    box_type = MemRefType(type_.element_type, box)
    if count == shape[axis]:
        _bounce_box(scope.builder, part, place, offsets, box_type, level)
        return
    lower, upper, step = (scope.to_index_value(n) for n in (0, shape[axis], count))
    body = Block(arg_types=[IndexType()])
    offsets[axis] = body.args[0]
    body_builder = Builder(InsertPoint.at_end(body))
    _bounce_box(body_builder, part, place, offsets, box_type, level)
    body_builder.insert(scf.YieldOp())
    scope.builder.insert(scf.ForOp(lower, upper, step, [], body))


def _bounce_box(
    builder: Builder,
    part: CopySource,
    place: SSAValue,
    offsets: list[Index],
    box: AnyBuffer,
    level: Level,
) -> None:
    """Move a box to an inner level and from there to its destination."""
    shape = box.get_shape()
    type_ = MemRefType(box.element_type, shape, NoneAttr(), StringAttr(level.name))
    staging = builder.insert(mem.AllocOp(type_)).buffer
    zeros = [0] * len(shape)
    starts = part.offsets_in_buffer(builder, offsets)
    move = mem.DmaOp(part.buffer, starts, staging, zeros, shape, part.fill)
    load = builder.insert(move)
    builder.insert(mem.WaitOp([load.token]))
    store = builder.insert(mem.DmaOp(staging, zeros, place, offsets, shape))
    builder.insert(mem.WaitOp([store.token]))
