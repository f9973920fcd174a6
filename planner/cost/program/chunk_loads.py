"""Loads that nests use chunk by chunk, as `mem-chunk-loads` cuts them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import add

from tlf.analysis.buffers.chunks import Cut, period_of
from tlf.dialects.target import Level
from tlf.planner.cost.program.in_chunks import (
    cut_of,
    in_chunks,
    is_quiet,
    shift_along,
    taking,
    users_of,
    without,
)
from tlf.planner.cost.program.moves import MovePrice, Side
from tlf.planner.cost.program.program import (
    Buffer,
    Chunk,
    Item,
    Nest,
    Step,
    iterations,
    value_of,
)
from tlf.support.affine.access import Linear


@dataclass(frozen=True)
class Use:
    """A load of a box, and the one move that reads it in a nest behind."""

    load: Step
    loading: MovePrice
    move: Step
    reading: MovePrice
    nest: Nest


@dataclass(frozen=True)
class Pace:
    """Rate at which a move in nests uses chunks."""

    loops: tuple[Nest, ...]
    period: int

    @property
    def depth(self) -> int:
        """In how many nests chunks are used."""
        return len(self.loops)


def load_in_chunks(items: list[Item], far: Level) -> None:
    """Cut loads whose user need not wait for all of them."""
    for nest in [item for item in items if isinstance(item, Nest)]:
        for use in list(_uses(items, nest, far)):
            load = use.loading
            cut = cut_of(load.source, load.box, far, _paces(use))
            if cut is not None and _ends_with(load, cut):
                _cut(items, use, cut)


def _uses(items: Sequence[Item], nest: Nest, far: Level) -> Iterator[Use]:
    """The loads right before a nest that may be cut, in order."""

    def is_load(_: Buffer, destination: Buffer) -> bool:
        return destination.level != far.name

    first = at = items.index(nest)
    while first and is_quiet(items[first - 1], is_load):
        first -= 1
    for number, load in enumerate(items[first:at], first + 1):
        if not isinstance(load, Step) or not _is_from(load, far):
            continue
        if not isinstance(price := load.price, MovePrice) or not _is_fixed(load, price):
            continue
        if (user := _reader(load, items, number, at)) is None:
            continue
        move, reading = user
        yield Use(load, _filling(price), move, reading, nest)


def _is_from(load: Step, far: Level) -> bool:
    return load.moves is not None and load.moves[0].level == far.name


def _is_fixed(load: Step, price: MovePrice) -> bool:
    """Return `True` if a load fills a box of a buffer outside of all loops."""
    buffer = price.destination.place.buffer
    if load.ahead or buffer.home is not None or buffer.turns is not None:
        return False
    sides = price.source, price.destination
    return all(not offset.terms for side in sides for offset in side.offsets)


def _reader(
    load: Step, items: Sequence[Item], behind: int, nest: int
) -> tuple[Step, MovePrice] | None:
    """The one move that reads what a load filled, behind it and up to a nest."""
    assert load.moves is not None
    users = users_of(load.moves[1], items[behind:])
    if len(inside := [step for item, step in users if item is items[nest]]) != 1:
        return None
    if any(item in items[behind:nest] for item, _ in users):
        return None
    if users_of(load.moves[1], items[: behind - 1]):
        return None
    (found,) = inside
    return (found, found.price) if isinstance(found.price, MovePrice) else None


def _filling(price: MovePrice) -> MovePrice:
    """A load, without what lies before its source begins."""
    left = [max(0, -each.constant) for each in price.source.offsets]
    if not any(left):
        return price
    sides = [
        Side(side.place, tuple(map(add, side.offsets, map(Linear, left))))
        for side in (price.source, price.destination)
    ]
    box = tuple(size - cut for size, cut in zip(price.box, left, strict=True))
    return MovePrice(price.costs, price.engine, sides[0], sides[1], box)


def _ends_with(load: MovePrice, cut: Cut[Pace]) -> bool:
    """Return `True` if chunks fill no more than the load does."""
    size, axis = load.box[cut.axis], cut.axis
    end = load.destination.offsets[axis].constant + size
    return size % cut.size == 0 or end >= load.destination.place.shape[axis]


def _paces(use: Use) -> Callable[[int, range], Pace | None]:
    """Return a function for the rate at which chunks along an axis are used."""
    path = _path(use)

    def pace(axis: int, starts: range) -> Pace | None:
        offset, size = use.reading.source.offsets[axis], use.reading.box[axis]
        first = use.loading.destination.offsets[axis].constant
        shift = shift_along(
            use.loading.destination.place, use.reading.source.place, axis
        )
        if shift is None:
            return None
        first += shift
        chunks = [first + start for start in starts]
        for depth, nest in enumerate(path, 1):
            if not nest.trips:
                return None
            if any(symbol not in nest.variables for symbol, _ in offset.terms):
                continue
            found = [value_of(offset, values) for values in iterations(nest)]
            period = period_of(found, size, chunks)
            return None if period is None else Pace(path[:depth], period)
        return None

    return pace


def _path(use: Use) -> tuple[Nest, ...]:
    """The nests around the move of a use, from the outermost one on."""
    path, body = [use.nest], use.nest.body
    while use.move not in body:
        inner = next(
            item for item in body if isinstance(item, Nest) and use.move in item.steps()
        )
        path.append(inner)
        body = inner.body
    return tuple(path)


def _cut(items: list[Item], use: Use, cut: Cut[Pace]) -> None:
    """Put a nest over chunks of a load right before the one that uses it."""
    made, step = in_chunks(use.load, use.loading, cut.axis, cut.size, None)
    buffer = use.loading.destination.place.buffer
    queues = {s.queue for s in use.nest.body if isinstance(s, Step) and s.ahead}
    if queues <= {use.load.queue}:
        made.opens = use.nest
    taking(step, buffer, Chunk(use.load, made, 1, made.trips))
    taking(
        use.move,
        buffer,
        Chunk(use.load, cut.pace.loops[-1], cut.pace.period, made.trips),
    )
    at = _place(items, use)
    items[:] = [*without(items[:at], use.load), made, *without(items[at:], use.load)]


def _place(items: Sequence[Item], use: Use) -> int:
    """
    Return the position of chunks: after other loads for a nest, before those for later
    ones.
    """
    at, nest = items.index(use.load), items.index(use.nest)
    needed = {access.buffer for step in use.nest.steps() for access in step.touched}
    for item in items[nest - 1 : at : -1]:
        if (ends := _ends(item)) is not None and ends[1] in needed:
            needed.add(ends[0])
    for number, item in enumerate(items[at + 1 : nest], at + 1):
        if (ends := _ends(item)) is not None and ends[1] not in needed:
            return number
    return nest


def _ends(item: Item) -> tuple[Buffer, Buffer] | None:
    """Between which buffers an item moves boxes."""
    return None if isinstance(item, Nest) or item.indexed else item.moves
