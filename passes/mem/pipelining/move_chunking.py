"""
Rewrite of moves as loops over chunks, for the passes `mem-chunk-loads` and
`mem-chunk-stores`.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.dialects import mem
from tlf.dialects.affine_values import insert_affine_apply
from tlf.dialects.located_rewriting import replace_op
from tlf.dialects.mem import Index
from tlf.passes.mem.loop_normalization import build_index_constant
from tlf.planner.chunking.chunk_selection import ChunkedMove
from tlf.planner.chunking.mem_block import MemBlock, MemTileAccess


def replace_moves_by_chunk_loops(
    block: MemBlock, chunked_moves: Sequence[ChunkedMove[MemTileAccess]]
) -> None:
    """
    Replace moves by loops over their chunks. The loops wait for each chunk, so the
    tokens are dropped from all waits.
    """
    for chunked in chunked_moves:
        move, place = (
            block.dma_at(chunked.position),
            block.ops[chunked.insertion_position],
        )
        _insert_chunk_loop(Builder(InsertPoint.before(place)), move, chunked)
        for use in list(move.token.uses):
            _drop_token_from_wait(use.operation, move.token)
        Rewriter.erase_op(move)


def _insert_chunk_loop(
    builder: Builder, move: mem.DmaOp, chunked: ChunkedMove[MemTileAccess]
) -> None:
    """Insert a loop over the chunks of a move."""
    body = Block(arg_types=[IndexType()])
    body.args[0].name_hint = "c"
    chunk = _build_move_of_chunk(
        Builder(InsertPoint.at_end(body)), move, chunked, body.args[0]
    )
    body.add_ops([chunk, mem.WaitOp([chunk.token]), scf.YieldOp()])
    count = chunked.chunking.rate.chunk_count
    bounds = [build_index_constant(builder, number) for number in (0, count, 1)]
    loop = scf.ForOp(bounds[0], bounds[1], bounds[2], [], body)
    loop.location = move.location
    builder.insert(loop)


def _build_move_of_chunk(
    builder: Builder,
    move: mem.DmaOp,
    chunked: ChunkedMove[MemTileAccess],
    chunk_index: SSAValue,
) -> mem.DmaOp:
    """
    Return the new, not yet inserted move of chunk `chunk_index`, and insert the
    operations that compute its offsets.
    """
    axis, size = chunked.chunking.axis, chunked.chunking.size
    sides = [
        [
            each + start if start and isinstance(each, int) else each
            for each, start in zip(offsets, chunked.start, strict=True)
        ]
        for offsets in (move.mixed_source_offsets, move.mixed_destination_offsets)
    ]
    starts = {
        each: _offset_of_chunk(builder, each, size, chunk_index)
        for each in dict.fromkeys(offsets[axis] for offsets in sides)
    }
    for offsets in sides:
        offsets[axis] = starts[offsets[axis]]
    chunk = mem.DmaOp(
        move.source,
        sides[0],
        move.destination,
        sides[1],
        (*chunked.shape[:axis], size, *chunked.shape[axis + 1 :]),
        move.fill_value,
        move.clipped is not None or chunked.is_clipped,
    )
    chunk.location = move.location
    return chunk


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
