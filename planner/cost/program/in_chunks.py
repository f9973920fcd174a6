"""Moves of a schedule that are cut into chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tlf.analysis.buffers.chunks import Cut, P, best_cut
from tlf.analysis.buffers.strided import is_alone, steps_between
from tlf.dialects.target import Level
from tlf.planner.cost.program.moves import MovePrice, Side
from tlf.planner.cost.program.places import Place
from tlf.planner.cost.program.program import (
    Buffer,
    Chunk,
    Item,
    Nest,
    Step,
    Variable,
    divisor_of,
    steps_of,
)
from tlf.support.affine.access import Linear


def users_of(buffer: Buffer, items: Sequence[Item]) -> list[tuple[Item, Step]]:
    """Return the instructions that touch a buffer, with the items that hold them."""
    return [
        (item, step)
        for item in items
        for step in steps_of([item])
        if any(access.buffer is buffer for access in step.touched)
    ]


def other_move(
    move: Step, buffer: Buffer, nest: Nest, items: Sequence[Item]
) -> tuple[Step, MovePrice] | None:
    """The one other step that touches a buffer of a move, if it is a move in a nest."""
    others = [each for each in users_of(buffer, items) if each[1] is not move]
    if len(others) != 1 or others[0][0] is not nest:
        return None
    found = others[0][1]
    return (found, found.price) if isinstance(found.price, MovePrice) else None


def cut_of(
    side: Side,
    box: Sequence[int],
    far: Level,
    pace_of: Callable[[int, range], P | None],
) -> Cut[P] | None:
    """
    Return the best cut of a move of a box into chunks, with one side in a level; see
    `best_cut`.
    """
    place, start = side.place, divisor_of(side.address())
    return best_cut(box, place.strides, place.item, start, far, pace_of)


def is_quiet(item: Item, is_move: Callable[[Buffer, Buffer], bool]) -> bool:
    """
    Return `True` if an item is a wait, or a move that `is_move` accepts by its two
    buffers.
    """
    if isinstance(item, Nest) or item.indexed:
        return False
    return bool(item.finishes) if item.moves is None else is_move(*item.moves)


def is_start(side: Side) -> bool:
    """Return `True` if all offsets of a side in its place are 0."""
    return all(each == Linear() for each in side.offsets)


def shift_along(one: Place, other: Place, axis: int) -> int | None:
    """
    Return the offset of the first element of one place from that of another one along
    an axis; None if that is not known, or if the axis is not the same one of their
    buffer.
    """
    if one == other:
        return 0
    if one.buffer is not other.buffer or len(one.shape) != len(other.shape):
        return None
    if (stride := one.strides[axis]) != other.strides[axis]:
        return None
    if not all(is_alone(each.shape, each.strides, axis) for each in (one, other)):
        return None
    first, second = one.window, other.window
    if first is not None and second is not None and axis == first.axis:
        distance = first.start - second.start
        return None if distance.terms else distance.constant
    if one.base.terms or other.base.terms:
        return 0 if one.base == other.base else None
    places = one.base.constant, other.base.constant
    return steps_between(*places, stride, (*one.strides, *other.strides))


def in_chunks(
    move: Step,
    price: MovePrice,
    axis: int,
    size: int,
    around: Nest | None,
    clipped: bool = False,
) -> tuple[Nest, Step]:
    """A nest that makes a move in chunks of a size along an axis, and its one step."""
    count = -(-price.box[axis] // size)
    variable = Variable(0, size, count)
    box = [size if at == axis else each for at, each in enumerate(price.box)]
    sides = [
        Side(
            side.place,
            tuple(
                each + Linear.of(variable) if at == axis else each
                for at, each in enumerate(side.offsets)
            ),
        )
        for side in (price.source, price.destination)
    ]
    cut = MovePrice(price.costs, price.engine, sides[0], sides[1], tuple(box), clipped)
    made = Nest((variable,), around)
    made.body.append(step := replace(move, price=cut))
    return made, step


def without(items: Sequence[Item], move: Step) -> Iterator[Item]:
    """Items without a move, and without waits for nothing else."""
    for item in items:
        if isinstance(item, Step) and move in item.finishes:
            item.finishes = tuple(each for each in item.finishes if each is not move)
            if not item.finishes:
                continue
        if item is not move:
            yield item


def taking(step: Step, buffer: Buffer, chunk: Chunk) -> None:
    """Let a step touch a chunk of a buffer."""
    step.reads, step.writes = (
        tuple(
            replace(each, turn=chunk) if each.buffer is buffer else each
            for each in accesses
        )
        for accesses in (step.reads, step.writes)
    )
