"""Stores that begin before all is made, as `mem-chunk-stores` cuts them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tlf.analysis.buffers.chunks import Cut, period_before
from tlf.dialects.target import Level
from tlf.planner.cost.program.in_chunks import (
    cut_of,
    in_chunks,
    is_quiet,
    is_start,
    other_move,
    shift_along,
    taking,
    without,
)
from tlf.planner.cost.program.moves import MovePrice
from tlf.planner.cost.program.program import (
    Buffer,
    Chunk,
    Item,
    Nest,
    Step,
    iterations,
    value_of,
)


@dataclass(frozen=True)
class Made:
    """A store of a whole buffer, and the one move that fills it in a nest before."""

    store: Step
    storing: MovePrice
    move: Step
    making: MovePrice
    nest: Nest


@dataclass(frozen=True)
class Delay:
    """Number of iterations that compute a chunk."""

    period: int
    depth: int = 1


def store_in_chunks(items: list[Item], far: Level, around: Nest | None = None) -> None:
    """Cut stores of which the first part is made early, in nests, too."""
    for nest in [item for item in items if isinstance(item, Nest)]:
        store_in_chunks(nest.body, far, nest)
        for made in list(_stores(items, nest, far)):
            if made.storing.source.place.buffer.home is not around:
                continue
            store = made.storing
            cut = cut_of(store.destination, store.box, far, _delays(made))
            if cut is not None:
                _cut(items, made, cut, around)


def _stores(items: Sequence[Item], nest: Nest, far: Level) -> Iterator[Made]:
    """The stores right behind a nest that may be cut, in order."""

    def is_store(_: Buffer, destination: Buffer) -> bool:
        return destination.level == far.name

    at = items.index(nest) + 1
    while at < len(items) and is_quiet(item := items[at], is_store):
        at += 1
        if not isinstance(item, Step) or item.moves is None:
            continue
        if not isinstance(price := item.price, MovePrice) or not _is_whole(price):
            continue
        if (maker := other_move(item, item.moves[0], nest, items)) is None:
            continue
        move, making = maker
        yield Made(item, price, move, making, nest)


def _is_whole(price: MovePrice) -> bool:
    """Return `True` if a store reads all of a buffer."""
    place = price.source.place
    return place.window is None and place.shape == price.box and is_start(price.source)


def _delays(made: Made) -> Callable[[int, range], Delay | None]:
    """
    Return a function for the number of iterations that compute a chunk along an axis.
    """

    def delay(axis: int, starts: range) -> Delay | None:
        ends = made.making.destination.place, made.storing.source.place
        if shift_along(*ends, axis) != 0:
            return None
        offset, size = made.making.destination.offsets[axis], made.making.box[axis]
        nest = made.nest
        if any(symbol not in nest.variables for symbol, _ in offset.terms):
            return None
        found = [value_of(offset, values) for values in iterations(nest)]
        period = period_before(found, size, starts)
        return None if period is None else Delay(period)

    return delay


def _cut(items: list[Item], made: Made, cut: Cut[Delay], around: Nest | None) -> None:
    """Put a nest over chunks in place of a store."""
    chunks, step = in_chunks(
        made.store, made.storing, cut.axis, cut.size, around, clipped=True
    )
    buffer = made.storing.source.place.buffer
    taking(step, buffer, Chunk(made.store, chunks, 1, chunks.trips))
    taking(
        made.move,
        buffer,
        Chunk(made.store, made.nest, cut.pace.period, chunks.trips),
    )
    at = items.index(made.store)
    items[:] = [*items[:at], chunks, *without(items[at:], made.store)]
