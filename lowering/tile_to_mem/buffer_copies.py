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
from xdsl.ir import Attribute, Block, Operation, SSAValue
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
from tlf.lowering.tile_to_mem.structured_compute import build_copy_body

LEVEL_FRACTION = 8
"""A copy through an inner level uses 1 / LEVEL_FRACTION of its capacity."""


def copy_buffer(
    state: BufferizationState,
    op: Operation,
    source: SSAValue,
    destination: SSAValue,
    axis: int | None = None,
) -> None:
    """
    Build the copy of one buffer to another in the same level, or nothing if they are
    one.

    In the innermost level an engine copies. In other levels, slices along `axis` (by
    default the longest axis) move to the next inner level and back, in ascending order,
    so that a buffer can be shifted towards its start in place.
    """
    if source is destination:
        return
    type_ = memref_type(destination)
    level = cast(StringAttr, type_.memory_space).data
    names = list(state.target.levels)
    if level == names[0]:
        _copy_buffer_by_engine(state, source, destination, type_)
        return
    _copy_through_inner_level(state, op, CopySource(source, axis), destination, level)


def copy_box(
    state: BufferizationState,
    op: Operation,
    source: SSAValue,
    offsets: Sequence[Index],
    fill: float | None,
    destination: SSAValue,
) -> None:
    """
    Copy a box of a buffer, through the next inner level, to another buffer. Elements
    outside the source become `fill`.
    """
    level = mem.level_of(destination.type)
    _copy_through_inner_level(
        state, op, CopySource(source, None, offsets, fill), destination, level
    )


@dataclass(frozen=True)
class CopySource:
    """Source of a copy: a box of a buffer, moved in slices along an axis."""

    buffer: SSAValue
    axis: int | None
    offsets: Sequence[Index] = ()
    """Offsets of the box in the buffer; empty for a box at its start."""
    fill: float | None = None

    def slicing_axis_of(self, shape: Sequence[int]) -> int:
        """Return the axis that a box of the given shape is sliced along."""
        if self.axis is not None:
            return self.axis
        return max(range(len(shape)), key=shape.__getitem__, default=0)

    def translate_to_buffer_offsets(
        self, builder: Builder, offsets: Sequence[Index]
    ) -> list[Index]:
        """Translate offsets in the box to offsets in the buffer."""
        pairs = zip(self.offsets or [0] * len(offsets), offsets, strict=True)
        return [build_index_sum(builder, start, offset) for start, offset in pairs]


def acquire_writable_buffer(
    state: BufferizationState, op: Operation, value: SSAValue
) -> tuple[SSAValue, SharedStorage]:
    """
    Return a writable buffer of a tile and its storage: the tile's own buffer if the
    tile is dead after `op`, otherwise a copy.
    """
    source, storage = state.lowered_operand_of(value), state.storages[value]
    readers = [each for each in op.operands if state.storages.get(each) is storage]
    if len(readers) == 1 and state.liveness.try_reuse_dead_storage(storage, op):
        state.moves.wait_for_conflicting_moves(state.builder, writes=[storage])
        return source, storage
    state.wait_for_writes_in_flight(value)
    copy = state.allocate_tile_buffer(tensor_type(value))
    copy_buffer(state, op, source, copy)
    return copy, SharedStorage()


def _copy_buffer_by_engine(
    state: BufferizationState, source: SSAValue, destination: SSAValue, type_: AnyBuffer
) -> None:
    """Insert a `mem.map` that copies `source` to `destination` element by element."""
    identity = AffineMap.identity(type_.get_num_dims())
    body = build_copy_body(type_.element_type)
    maps = [identity, identity]
    state.builder.insert(
        mem.MapOp([source], [destination], type_.get_shape(), maps, body)
    )


def _copy_through_inner_level(
    state: BufferizationState,
    op: Operation,
    copy_source: CopySource,
    destination: SSAValue,
    level_name: str,
) -> None:
    """Copy slices by DMA through the next inner level, in a loop if not all fit."""
    names = list(state.target.levels)
    level = state.target.levels[names[names.index(level_name) - 1]]
    if level.kind != "buffer":
        raise BufferizationError(op, f"cannot copy a tile within {level_name}")
    type_ = memref_type(destination)
    shape = list(type_.get_shape())
    if not shape:
        _copy_box_through_level(
            state.builder, copy_source, destination, [], type_, level
        )
        return
    axis = copy_source.slicing_axis_of(shape)
    count = _count_slices_that_fit(op, type_, axis, level)
    box = [*shape]
    box[axis] = count
    offsets: list[Index] = [0] * len(shape)
    box_type = MemRefType(type_.element_type, box)
    if count == shape[axis]:
        _copy_box_through_level(
            state.builder, copy_source, destination, offsets, box_type, level
        )
        return
    lower, upper, step = (state.to_ssa_index(n) for n in (0, shape[axis], count))
    body = Block(arg_types=[IndexType()])
    offsets[axis] = body.args[0]
    body_builder = Builder(InsertPoint.at_end(body))
    _copy_box_through_level(
        body_builder, copy_source, destination, offsets, box_type, level
    )
    body_builder.insert(scf.YieldOp())
    state.builder.insert(scf.ForOp(lower, upper, step, [], body))


def _count_slices_that_fit(
    op: Operation, type_: MemRefType[Attribute], axis: int, level: Level
) -> int:
    """Return the number of slices along an axis to copy at once through a level."""
    shape = list(type_.get_shape())
    size = dtype_of(type_.element_type).itemsize
    slice_bytes = size * prod(shape) // shape[axis]
    if slice_bytes > level.capacity // 2:
        raise BufferizationError(
            op,
            f"a slice of {slice_bytes} bytes is too large to copy through {level.name}",
        )
    return min(shape[axis], max(1, level.capacity // LEVEL_FRACTION // slice_bytes))


def _copy_box_through_level(
    builder: Builder,
    copy_source: CopySource,
    destination: SSAValue,
    offsets: list[Index],
    box: AnyBuffer,
    level: Level,
) -> None:
    """Move a box to an inner level and from there to its destination."""
    shape = box.get_shape()
    type_ = MemRefType(box.element_type, shape, NoneAttr(), StringAttr(level.name))
    staging = builder.insert(mem.AllocOp(type_)).buffer
    zeros = [0] * len(shape)
    starts = copy_source.translate_to_buffer_offsets(builder, offsets)
    move = mem.DmaOp(
        copy_source.buffer, starts, staging, zeros, shape, copy_source.fill
    )
    load = builder.insert(move)
    builder.insert(mem.WaitOp([load.token]))
    store = builder.insert(mem.DmaOp(staging, zeros, destination, offsets, shape))
    builder.insert(mem.WaitOp([store.token]))
