"""
Cost model of chunked moves, on its schedule instead of IR: helper that splits a move
into chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tlf.analysis.buffers.dma_chunks import Chunking, RateT, select_chunking_of_move
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
    gcd_of_index_values,
    has_access_to_buffer,
    instructions_in,
)
from tlf.planner.cost.program.move_cost import MoveCost, MoveSide
from tlf.support.affine.index_access import AffineSum


def instructions_accessing(
    buffer: Buffer, items: Sequence[Item]
) -> list[tuple[Item, Instruction]]:
    """
    Return the instructions that access a buffer, with the items that contain them.
    """
    return [
        (item, step)
        for item in items
        for step in instructions_in([item])
        if has_access_to_buffer(step, buffer)
    ]


def find_only_other_move(
    move: Instruction, buffer: Buffer, nest: Nest, items: Sequence[Item]
) -> tuple[Instruction, MoveCost] | None:
    """
    Return the only other instruction that accesses a buffer of a move, if it is a move
    in a nest.
    """
    others = [
        each for each in instructions_accessing(buffer, items) if each[1] is not move
    ]
    if len(others) != 1 or others[0][0] is not nest:
        return None
    other = others[0][1]
    return (other, other.cost) if isinstance(other.cost, MoveCost) else None


def find_best_chunking(
    side: MoveSide,
    box: Sequence[int],
    outer_level: Level,
    rate_of: Callable[[int, range], RateT | None],
) -> Chunking[RateT] | None:
    """
    Return the best chunking of a move of a box, with one side in a level; see
    `select_chunking_of_move`.
    """
    view, start = side.view, gcd_of_index_values(side.byte_address())
    return select_chunking_of_move(
        box, view.strides, view.item_bytes, start, outer_level, rate_of
    )


def is_wait_or_move(item: Item, is_move: Callable[[Buffer, Buffer], bool]) -> bool:
    """
    Return `True` if an item is a wait, or a move that `is_move` accepts by its two
    buffers.
    """
    if isinstance(item, Nest) or item.is_indexed:
        return False
    return (
        bool(item.completed_moves)
        if item.move_endpoints is None
        else is_move(*item.move_endpoints)
    )


def is_at_view_start(side: MoveSide) -> bool:
    """Return `True` if all offsets of a side within its view are 0."""
    return all(each == AffineSum() for each in side.offsets)


def offset_between(view: BufferView, base_view: BufferView, axis: int) -> int | None:
    """
    Return the offset of the first element of one view from that of another along an
    axis; `None` if it is unknown, or if the axis is not the same axis of their buffer.
    """
    if view == base_view:
        return 0
    if view.buffer is not base_view.buffer or len(view.shape) != len(base_view.shape):
        return None
    if (stride := view.strides[axis]) != base_view.strides[axis]:
        return None
    if not all(
        has_unique_stride(each.shape, each.strides, axis) for each in (view, base_view)
    ):
        return None
    first, second = view.ring_window, base_view.ring_window
    if first is not None and second is not None and axis == first.axis:
        distance = first.first_slice - second.first_slice
        return None if distance.terms else distance.constant
    if view.byte_offset.terms or base_view.byte_offset.terms:
        return 0 if view.byte_offset == base_view.byte_offset else None
    bases = view.byte_offset.constant, base_view.byte_offset.constant
    return stride_steps_between(*bases, stride, (*view.strides, *base_view.strides))


def split_move_into_chunks(
    move: Instruction,
    move_cost: MoveCost,
    axis: int,
    size: int,
    surrounding_nest: Nest | None,
    is_clipped: bool = False,
) -> tuple[Nest, Instruction]:
    """
    Return a nest that executes a move in chunks of `size` along an axis, and its only
    step.
    """
    count = -(-move_cost.box_shape[axis] // size)
    variable = LoopCounter(0, size, count)
    box = [
        size if index == axis else each
        for index, each in enumerate(move_cost.box_shape)
    ]
    sides = [
        MoveSide(
            side.view,
            tuple(
                each + AffineSum.of_symbol(variable) if index == axis else each
                for index, each in enumerate(side.offsets)
            ),
        )
        for side in (move_cost.source, move_cost.destination)
    ]
    cost = MoveCost(
        move_cost.costs, move_cost.engine, sides[0], sides[1], tuple(box), is_clipped
    )
    nest = Nest((variable,), surrounding_nest)
    nest.body.append(step := replace(move, cost=cost))
    return nest, step


def drop_move_and_waits(items: Sequence[Item], move: Instruction) -> Iterator[Item]:
    """Yield the items without a move, and without waits for only this move."""
    for item in items:
        if isinstance(item, Instruction) and move in item.completed_moves:
            item.completed_moves = tuple(
                each for each in item.completed_moves if each is not move
            )
            if not item.completed_moves:
                continue
        if item is not move:
            yield item


def restrict_access_to_chunk(
    instruction: Instruction, buffer: Buffer, chunk: ChunkBox
) -> None:
    """Mark all accesses to `buffer` by an instruction, in place, as within a chunk."""
    instruction.reads, instruction.writes = (
        tuple(
            replace(each, disjoint_box=chunk) if each.buffer is buffer else each
            for each in accesses
        )
        for accesses in (instruction.reads, instruction.writes)
    )
