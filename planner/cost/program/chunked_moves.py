"""
Cost model of chunked moves: helper that splits moves of an estimated schedule into
chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tlf.analysis.buffers.dma_chunks import Chunking, RateT, select_chunking
from tlf.analysis.buffers.strided_views import has_unique_stride, stride_steps_between
from tlf.dialects.target import Level
from tlf.planner.cost.program.buffer_views import BufferView
from tlf.planner.cost.program.instruction_nests import (
    Buffer,
    ChunkBox,
    Instruction,
    Item,
    LoopCounter,
    Nest,
    gcd_of_index,
    has_access_to,
    instructions_in,
)
from tlf.planner.cost.program.move_cost import MoveCost, MoveSide
from tlf.support.affine.index_access import AffineSum


def users_of(buffer: Buffer, items: Sequence[Item]) -> list[tuple[Item, Instruction]]:
    """
    Return the instructions that access a buffer, with the items that contain them.
    """
    return [
        (item, step)
        for item in items
        for step in instructions_in([item])
        if has_access_to(step, buffer)
    ]


def find_other_move(
    move: Instruction, buffer: Buffer, nest: Nest, items: Sequence[Item]
) -> tuple[Instruction, MoveCost] | None:
    """
    Return the only other instruction that accesses a buffer of a move, if it is a move
    in a nest.
    """
    others = [each for each in users_of(buffer, items) if each[1] is not move]
    if len(others) != 1 or others[0][0] is not nest:
        return None
    other = others[0][1]
    return (other, other.cost) if isinstance(other.cost, MoveCost) else None


def find_best_cut(
    side: MoveSide,
    box: Sequence[int],
    far: Level,
    pace_of: Callable[[int, range], RateT | None],
) -> Chunking[RateT] | None:
    """
    Return the best chunking of a move of a box, with one side in a level; see
    `select_chunking`.
    """
    view, start = side.place, gcd_of_index(side.address())
    return select_chunking(box, view.strides, view.item, start, far, pace_of)


def is_wait_or_move(item: Item, is_move: Callable[[Buffer, Buffer], bool]) -> bool:
    """
    Return `True` if an item is a wait, or a move that `is_move` accepts by its two
    buffers.
    """
    if isinstance(item, Nest) or item.indexed:
        return False
    return bool(item.finishes) if item.moves is None else is_move(*item.moves)


def is_at_start(side: MoveSide) -> bool:
    """Return `True` if all offsets of a side within its view are 0."""
    return all(each == AffineSum() for each in side.offsets)


def offset_between(one: BufferView, other: BufferView, axis: int) -> int | None:
    """
    Return the offset of the first element of one view from that of another along an
    axis; `None` if it is unknown, or if the axis is not the same axis of their buffer.
    """
    if one == other:
        return 0
    if one.buffer is not other.buffer or len(one.shape) != len(other.shape):
        return None
    if (stride := one.strides[axis]) != other.strides[axis]:
        return None
    if not all(
        has_unique_stride(each.shape, each.strides, axis) for each in (one, other)
    ):
        return None
    first, second = one.window, other.window
    if first is not None and second is not None and axis == first.axis:
        distance = first.start - second.start
        return None if distance.terms else distance.constant
    if one.base.terms or other.base.terms:
        return 0 if one.base == other.base else None
    bases = one.base.constant, other.base.constant
    return stride_steps_between(*bases, stride, (*one.strides, *other.strides))


def chunk_move(
    move: Instruction,
    price: MoveCost,
    axis: int,
    size: int,
    around: Nest | None,
    clipped: bool = False,
) -> tuple[Nest, Instruction]:
    """
    Return a nest that executes a move in chunks of `size` along an axis, and its only
    step.
    """
    count = -(-price.box[axis] // size)
    variable = LoopCounter(0, size, count)
    box = [size if index == axis else each for index, each in enumerate(price.box)]
    sides = [
        MoveSide(
            side.place,
            tuple(
                each + AffineSum.of(variable) if index == axis else each
                for index, each in enumerate(side.offsets)
            ),
        )
        for side in (price.source, price.destination)
    ]
    cost = MoveCost(price.costs, price.engine, sides[0], sides[1], tuple(box), clipped)
    nest = Nest((variable,), around)
    nest.body.append(step := replace(move, cost=cost))
    return nest, step


def drop_move(items: Sequence[Item], move: Instruction) -> Iterator[Item]:
    """Yield the items without a move, and without waits for only this move."""
    for item in items:
        if isinstance(item, Instruction) and move in item.finishes:
            item.finishes = tuple(each for each in item.finishes if each is not move)
            if not item.finishes:
                continue
        if item is not move:
            yield item


def with_chunk_access(step: Instruction, buffer: Buffer, chunk: ChunkBox) -> None:
    """Restrict an instruction's access of a buffer to a chunk."""
    step.reads, step.writes = (
        tuple(
            replace(each, disjoint_box=chunk) if each.buffer is buffer else each
            for each in accesses
        )
        for accesses in (step.reads, step.writes)
    )
