"""
Rewrite of a move as a loop over chunks, and selection of the chunk size, for the passes
`mem-chunk-loads` and `mem-chunk-stores`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd

from xdsl.builder import Builder
from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.analysis.buffers.dma_chunks import Chunking, RateT, select_chunking_of_move
from tlf.analysis.buffers.index_congruence import (
    NO_CONGRUENCE,
    add_congruences,
    congruence_of,
    multiply_congruences,
)
from tlf.analysis.buffers.memory_effects import VIEW_OPS
from tlf.analysis.buffers.normalized_loops import is_index_arithmetic
from tlf.dialects import mem
from tlf.dialects.affine_values import insert_affine_apply
from tlf.dialects.located_rewriting import replace_op
from tlf.dialects.mem import Index
from tlf.dialects.target import Level
from tlf.dialects.types import dtype_of
from tlf.passes.mem.loop_normalization import build_index_constant


def is_wait_or_address_computation(op: Operation) -> bool:
    """
    Return `True` if an operation is a wait, an allocation, a view or index arithmetic.
    """
    return is_index_arithmetic(op) or isinstance(
        op, (mem.WaitOp, mem.AllocOp, *VIEW_OPS)
    )


def select_move_chunking(
    buffer_type: MemRefType[Attribute],
    offsets: Sequence[Index],
    box_shape: Sequence[int],
    outer_level: Level,
    rate_of: Callable[[int, range], RateT | None],
) -> Chunking[RateT] | None:
    """
    Return the best chunking of the move of a box from or to a buffer of type
    `buffer_type` in the level `outer_level`; see `select_chunking_of_move`.
    """
    item = dtype_of(buffer_type.element_type).itemsize
    strides = buffer_type.get_strides() or ()
    steps = [each * item for each in strides if each is not None]
    if len(steps) != len(box_shape):
        return None
    first = buffer_type.get_offset()
    congruence = multiply_congruences(
        NO_CONGRUENCE if first is None else (0, first), (0, item)
    )
    for offset, step in zip(offsets, steps, strict=True):
        congruence = add_congruences(
            congruence, multiply_congruences(congruence_of(offset), (0, step))
        )
    return select_chunking_of_move(
        box_shape, steps, item, gcd(*congruence), outer_level, rate_of
    )


def replace_move_by_chunk_loop(
    move: mem.DmaOp,
    insertion_op: Operation,
    axis: int,
    chunk_size: int,
    clips_partial_chunk: bool = False,
) -> None:
    """
    Replace a move by a loop before `insertion_op` over chunks of `chunk_size` elements
    along an axis. The loop waits for each chunk, so the token is dropped from all
    waits. The chunks are clipped to the bounds of the buffers if the move is, or if
    `clips_partial_chunk` and the last chunk is partial.
    """
    body = Block(arg_types=[IndexType()])
    body.args[0].name_hint = "c"
    body_builder = Builder(InsertPoint.at_end(body))
    chunk = _build_move_of_chunk(
        move, axis, chunk_size, clips_partial_chunk, body_builder, body.args[0]
    )
    body.add_ops([chunk, mem.WaitOp([chunk.token]), scf.YieldOp()])
    builder = Builder(InsertPoint.before(insertion_op))
    count = -(-move.box_sizes[axis] // chunk_size)
    bounds = [build_index_constant(builder, number) for number in (0, count, 1)]
    loop = scf.ForOp(bounds[0], bounds[1], bounds[2], [], body)
    loop.location = move.location
    builder.insert(loop)
    for use in list(move.token.uses):
        _drop_token_from_wait(use.operation, move.token)
    Rewriter.erase_op(move)


def _build_move_of_chunk(
    move: mem.DmaOp,
    axis: int,
    chunk_size: int,
    clips_partial_chunk: bool,
    builder: Builder,
    chunk_index: SSAValue,
) -> mem.DmaOp:
    """
    Return the new, not yet inserted move of chunk `chunk_index`, and insert the
    operations that compute its offsets.
    """
    box = [
        chunk_size if number == axis else each
        for number, each in enumerate(move.box_sizes)
    ]
    source, destination = _build_chunk_offsets(
        move, axis, chunk_size, builder, chunk_index
    )
    clips_partial_chunk = move.clipped is not None or (
        clips_partial_chunk and move.box_sizes[axis] % chunk_size > 0
    )
    chunk = mem.DmaOp(
        move.source,
        source,
        move.destination,
        destination,
        box,
        move.fill_value,
        clips_partial_chunk,
    )
    chunk.location = move.location
    return chunk


def _build_chunk_offsets(
    move: mem.DmaOp,
    axis: int,
    chunk_size: int,
    builder: Builder,
    chunk_index: SSAValue,
) -> tuple[list[Index], list[Index]]:
    """Build the offsets of a chunk in the source and the destination of a move."""
    source_offsets, destination_offsets = (
        move.mixed_source_offsets,
        move.mixed_destination_offsets,
    )
    firsts = dict.fromkeys((source_offsets[axis], destination_offsets[axis]))
    starts = {
        each: _offset_of_chunk(builder, each, chunk_size, chunk_index)
        for each in firsts
    }
    source, destination = (
        [starts[each] if dim == axis else each for dim, each in enumerate(offsets)]
        for offsets in (source_offsets, destination_offsets)
    )
    return source, destination


def _offset_of_chunk(
    builder: Builder, first_offset: Index, chunk_size: int, chunk_index: SSAValue
) -> SSAValue:
    """
    Return the offset of chunk `chunk_index`, with the first chunk at `first_offset`.
    """
    offset = AffineExpr.dimension(0) * chunk_size
    if isinstance(first_offset, int):
        return insert_affine_apply(
            builder, offset + first_offset if first_offset else offset, [chunk_index]
        )
    return insert_affine_apply(
        builder, offset + AffineExpr.dimension(1), [chunk_index, first_offset]
    )


def _drop_token_from_wait(wait: Operation, token: SSAValue) -> None:
    """Drop a token from a wait; erase the wait if no token remains."""
    assert isinstance(wait, mem.WaitOp)
    remaining = [each for each in wait.tokens if each is not token]
    replace_op(wait, [mem.WaitOp(remaining)] if remaining else [], [])
