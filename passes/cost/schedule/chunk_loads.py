"""Loads that nests use chunk by chunk, as `mem-chunk-loads` cuts them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tlf.dialects.access import Linear
from tlf.dialects.target import Level
from tlf.passes.analysis.chunks import Cut, period_of
from tlf.passes.cost.schedule.in_chunks import (
    cut_of,
    in_chunks,
    is_quiet,
    is_start,
    other_move,
    taking,
    users_of,
    without,
)
from tlf.passes.cost.schedule.moves import MovePrice
from tlf.passes.cost.schedule.program import (
    Chunk,
    Item,
    Nest,
    Step,
    iterations,
    value_of,
)


@dataclass(frozen=True)
class Use:
    """A load of a whole buffer, and the one move that reads it in a nest behind."""

    load: Step
    loading: MovePrice
    move: Step
    reading: MovePrice
    nest: Nest


@dataclass(frozen=True)
class Pace:
    """How fast a move in nests uses chunks."""

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
            if cut is not None:
                _cut(items, use, cut)


def _uses(items: Sequence[Item], nest: Nest, far: Level) -> Iterator[Use]:
    """The loads right before a nest that may be cut, in order."""
    first = at = items.index(nest)
    while first and is_quiet(items[first - 1], far, source=True):
        first -= 1
    for load in items[first:at]:
        if not isinstance(load, Step) or load.moves is None:
            continue
        if not isinstance(price := load.price, MovePrice) or not _is_whole(load, price):
            continue
        if (user := other_move(load, load.moves[1], nest, items)) is None:
            continue
        move, reading = user
        if reading.source.place == price.destination.place:
            yield Use(load, price, move, reading, nest)


def _is_whole(load: Step, price: MovePrice) -> bool:
    """Whether a load fills a buffer of its own, from where another one begins."""
    buffer = price.destination.place.buffer
    if (
        load.ahead
        or buffer.home is not None
        or buffer.turns is not None
        or buffer.slices > 1
    ):
        return False
    sides = price.source, price.destination
    return all(
        side.place.shape == price.box
        and is_start(side)
        and side.place.base == Linear()
        and side.place.window is None
        for side in sides
    )


def _paces(use: Use) -> Callable[[int, range], Pace | None]:
    """How fast chunks along an axis are used."""
    path = _path(use)

    def pace(axis: int, starts: range) -> Pace | None:
        offset, size = use.reading.source.offsets[axis], use.reading.box[axis]
        for depth, nest in enumerate(path, 1):
            if not nest.trips:
                return None
            if any(symbol not in nest.variables for symbol, _ in offset.terms):
                continue
            found = [value_of(offset, values) for values in iterations(nest)]
            period = period_of(found, size, starts)
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
    """Where chunks go: behind other loads for a nest, before those for later ones."""
    for at in range(items.index(use.load) + 1, len(items)):
        item = items[at]
        if item is use.nest:
            return at
        if isinstance(item, Step) and item.moves is not None:
            if not users_of(item.moves[1], [use.nest]):
                return at
    return items.index(use.nest)
