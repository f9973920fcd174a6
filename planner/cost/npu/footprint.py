"""
The bytes of a memory level that the tiles of a group take: what is live at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple

from xdsl.ir import Operation, SSAValue

from tlf.analysis.tiling.boxes import moves_with
from tlf.analysis.tiling.cascading import is_carried
from tlf.analysis.tiling.model import (
    WIDEST,
    GroupTiling,
    Loop,
    Scope,
    elements,
    same_box,
)
from tlf.dialects.interfaces import (
    ContractionInterface,
    ElementwiseInterface,
)
from tlf.dialects.types import tensor_type
from tlf.planner.cost.npu.in_flight import InFlight
from tlf.planner.cost.npu.in_place import InPlace
from tlf.planner.cost.npu.joined import Joined
from tlf.planner.cost.npu.nests import Nests
from tlf.planner.cost.npu.steps import Steps
from tlf.support.affine.access import Box, Interval
from tlf.support.allocation import Buffer, align
from tlf.support.allocation.bounds import highest

BEFORE = -1
"""The step before a loop in which windows roll, where the first ones are made."""


@dataclass(frozen=True)
class Part:
    """Buffer of a footprint: its purpose, its tile and its live range."""

    kind: str
    """`input`, `window`, `value`, `output`, `held` or `temporary`."""
    value: SSAValue
    buffer: Buffer
    box: Box
    """The tile that is there."""
    ahead: int = 0
    """The bytes of it that are for further iterations in flight."""


class Row(NamedTuple):
    """Fields of a `Part`, with the live range as steps."""

    kind: str
    value: SSAValue
    size: int
    """Bytes, with those for further iterations."""
    start: int
    end: int
    """It is live in the steps [start, end)."""
    box: Box
    ahead: int = 0
    """The bytes of it that are for further iterations in flight."""
    of_pieces: bool = False
    """True if those are iterations over the pieces of a reduction."""

    def times(self, further: int) -> Row:
        """The same for so many further iterations, of which each adds `ahead`."""
        ahead = self.ahead * further
        return self._replace(size=self.size + ahead, ahead=ahead)

    @property
    def part(self) -> Part:
        """The part."""
        buffer = Buffer.during(self.size, self.start, self.end, 1)
        return Part(self.kind, self.value, buffer, self.box, self.ahead)


@dataclass(frozen=True)
class Footprint:
    """
    The buffers of a group's tiles in one level, with the steps they are live at.
    """

    rows: tuple[Row, ...]

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The part of each buffer."""
        return tuple(row.part for row in self.rows)

    @cached_property
    def needed(self) -> int:
        """The most bytes that are live at once."""
        changes: list[tuple[int, int]] = []
        for row in self.rows:
            changes += (row.start, row.size), (row.end, -row.size)
        return highest(changes)

    @property
    def apart(self) -> int:
        """The bytes of all buffers, were none to share its place."""
        return sum(row.size for row in self.rows)


class TileBuffers:
    """
    The buffers that the tiles of a group take, however many iterations are in flight.
    """

    def __init__(
        self,
        tiling: GroupTiling,
        nests: Nests | None = None,
        apart: Collection[SSAValue] = (),
        held: Collection[SSAValue] = (),
        steps: Steps | None = None,
    ) -> None:
        """
        Inputs that lie `apart` are in the level already, and are not counted; inputs
        and results that are `held` lie there whole.

        In the nearest level, where there are no `nests`, every operation computes:
        elementwise ones in place where they may. In others only what one nest over
        nearer tiles leaves for the next is there. `steps` are those of all operations,
        if known.
        """
        if steps is None or len(steps.of) != len(tiling.tiles):
            steps = Steps(tiling.tiles, nests)
        self.apart = apart
        self.held = held
        self.tiling = tiling
        self.nearest = nests is None
        self.one_by_one = nests is not None and bool(tiling.inner_loops)
        """True if tiles run one after the other, as loops in them are in flight."""
        self.steps = steps
        self.step = steps.of
        self.end = steps.end
        self.results = set(tiling.results)
        self.in_place = InPlace(tiling, steps) if self.nearest else None
        parts = Joined(tiling, (*apart, *held)) if nests is not None else None
        self.joined = parts
        self.rows = tuple(self._rows())
        """
        The buffers of one iteration, with the bytes that each further one adds in
        `ahead`.
        """

    def footprint(self, in_flight: InFlight) -> Footprint:
        """
        Return the footprint of `in_flight` iterations, or of all where there are fewer.
        """
        tiles = _most(self.tiling.loops, in_flight.tiles) - 1
        pieces = _most(self.tiling.inner_loops, in_flight.pieces) - 1
        return Footprint(
            tuple(
                row.times(pieces if row.of_pieces else tiles) if row.ahead else row
                for row in self.rows
            )
        )

    def _rows(self) -> Iterator[Row]:
        for row in (*self._inputs(), *self._first_windows(), *self._values()):
            yield row._replace(start=BEFORE) if self._is_there_before(row) else row

    def _values(self) -> Iterator[Row]:
        for op in self.tiling.tiles:
            for value in self._placed(op):
                yield self._value(value)
            if self.nearest:
                yield from self._temporaries(op)

    def _inputs(self) -> Iterator[Row]:
        for (value, scope), boxes in self.tiling.reads.items():
            if value in self.apart or not self._has_place(value):
                continue
            of_pieces = scope is Scope.INNER
            if value in self.held:
                yield self._whole(value)
                continue
            for number, box in enumerate(boxes):
                window = self.tiling.windows.get((value, number))
                size = self._bytes(value, box)
                if window is not None:
                    ahead = self._bytes(value, window.fresh)
                    row = self._live("window", value, size, box, ahead)
                    yield row._replace(of_pieces=True) if of_pieces else row
                elif of_pieces and _moves(box):
                    row = self._live("input", value, size, box, size)
                    yield self._in_loop(row._replace(of_pieces=True))
                elif self.one_by_one and self._is_cut_anew(box):
                    yield self._passing(value, size, box)
                elif self.tiling.loops or self.nearest:
                    ahead = size if _moves(box) else 0
                    yield self._live("input", value, size, box, ahead)
                else:
                    yield self._passing(value, size, box)

    def _is_there_before(self, row: Row) -> bool:
        """
        Return `True` if a buffer is also live when the first windows are computed.
        """
        if self.tiling.rolled is None or row.start:
            return False
        if row.kind == "window":
            return True
        is_input = row.kind in {"input", "held"}
        return is_input and not moves_with(row.box, (self.tiling.rolled,))

    def _first_windows(self) -> Iterator[Row]:
        """
        Yield the buffers read and computed for the initial windows. What is cut outside
        of a loop around the one they roll along stays there, as every iteration of that
        starts with it; all else is there before the windows roll.
        """
        start, rolled = self.tiling.start, self.tiling.rolled
        if start is None:
            return
        around = [loop for loop in self.tiling.loops.values() if loop is not rolled]
        for (value, scope), boxes in start.reads.items():
            if scope is Scope.INNER or value in self.apart or value in self.held:
                continue
            there = self._boxes_there(value, scope)
            for box in boxes:
                if any(same_box(box, each) for each in there):
                    continue
                size = self._bytes(value, box)
                if around and not moves_with(box, around[-1:]):
                    yield self._live("window", value, size, box)
                elif not self._is_first(value, box):
                    yield Row("window", value, size, BEFORE, 0, box)
        yield from self._before_windows(start)

    def _before_windows(self, start: GroupTiling) -> Iterator[Row]:
        """
        Yield the values that are computed for the initial windows, and are no windows.
        """
        for op, tiled in start.tiles.items():
            for value in self._placed(op):
                if (value, 0) not in self.tiling.windows:
                    size = self._bytes(value, tiled.result)
                    yield Row("value", value, size, BEFORE, 0, tiled.result)

    def _boxes_there(self, value: SSAValue, scope: Scope) -> list[Box]:
        """Return the boxes of an input that the loop reads and does not roll."""
        windows, boxes = self.tiling.windows, self.tiling.reads.get((value, scope), ())
        return [
            box for number, box in enumerate(boxes) if (value, number) not in windows
        ]

    def _is_first(self, value: SSAValue, box: Box) -> bool:
        """
        Return `True` if a box is the initial tile of a window of an input, in its
        buffer.
        """
        return any(
            of is value and same_box(box, window.initial)
            for (of, _), window in self.tiling.windows.items()
        )

    def _whole(self, value: SSAValue) -> Row:
        """A buffer of all of a value, whatever its tiles."""
        shape = tensor_type(value).get_shape()
        box = tuple(Interval.whole(extent) for extent in shape)
        return self._live("held", value, self._bytes(value, box), box)

    def _is_cut_anew(self, box: Box) -> bool:
        """Return `True` if a tile moves in each iteration of the innermost loop."""
        return moves_with(box, list(self.tiling.loops.values())[-1:])

    def _passing(self, value: SSAValue, size: int, box: Box) -> Row:
        """A buffer that is there from shortly before its first use to its last."""
        uses = self.steps.uses(value)
        return Row("input", value, size, max(0, min(uses) - 1), max(uses) + 1, box)

    def _in_loop(self, row: Row) -> Row:
        """A buffer that is live in the loop over the pieces of a reduction alone."""
        if self.nearest:
            return row
        uses = self.steps.uses(row.value)
        return row._replace(start=min(uses), end=max(uses) + 1)

    def _live(
        self, kind: str, value: SSAValue, size: int, box: Box, ahead: int = 0
    ) -> Row:
        """A buffer that is live all the time."""
        return Row(kind, value, size, 0, self.end + 1, box, ahead)

    def _value(self, value: SSAValue) -> Row:
        owner = value.owner
        assert isinstance(owner, Operation)
        box = self.tiling.tiles[owner].result
        if value in self.held and self.tiling.loops:
            return self._whole(value)
        size = self._bytes(value, box)
        if (window := self.tiling.windows.get((value, 0))) is not None:
            ahead = self._bytes(value, window.fresh)
            return self._live("window", value, size, box, ahead)
        if self.tiling.tiles[owner].is_moved and self.tiling.loops:
            return self._live("input", value, size, box, size)
        first, last = self.step[owner], self._last_use(value)
        if any(each in self.results for each in self._sharing(value)):
            row = self._live("output", value, size, box, size)
            is_once = self.one_by_one or not (self.nearest or self.tiling.loops)
            return self._with_parts(row._replace(start=first)) if is_once else row
        if self.nearest and isinstance(owner, ContractionInterface):
            row = self._live("value", value, size, box, size)
            return row._replace(of_pieces=self.tiling.tiles[owner].scope is Scope.INNER)
        if self.nearest and is_carried(self.tiling, owner):
            return self._live("value", value, size, box)
        return self._with_parts(Row("value", value, size, first, last + 1, box))

    def _with_parts(self, row: Row) -> Row:
        """A buffer that is there as long as what is made or loaded in parts of it."""
        for part in () if self.joined is None else self.joined.of(row.value):
            made = (
                self.step.get(part.owner) if isinstance(part.owner, Operation) else None
            )
            if made is None:
                return self._live(row.kind, row.value, row.size, row.box, row.size)
            end = max(row.end, self._last_use(part) + 1)
            row = row._replace(start=min(row.start, made), end=end)
        return row

    def _placed(self, op: Operation) -> Iterator[SSAValue]:
        """The results of an operation that have buffers of their own."""
        for value in op.results:
            if self._has_place(value) and self._is_stored(value, op):
                yield value

    def _has_place(self, value: SSAValue) -> bool:
        """
        Return `True` if a value has a buffer of its own: it is neither computed in
        place of another one nor in a slice of one.
        """
        if self.joined is not None:
            return value not in self.joined.parts
        return self.in_place is None or value not in self.in_place.shares

    def _sharing(self, place: SSAValue) -> Iterator[SSAValue]:
        return iter((place,)) if self.in_place is None else self.in_place.sharing(place)

    def _is_stored(self, value: SSAValue, op: Operation) -> bool:
        """Return `True` if a result of an operation has a buffer in this level."""
        if self.nearest or value in self.results:
            return True
        if (value, 0) in self.tiling.windows:
            return True
        if self.tiling.tiles[op].form.is_part:
            return False
        return self.steps.is_handed_on(value)

    def _last_use(self, value: SSAValue) -> int:
        if self.in_place is None:
            return max(self.steps.uses(value), default=self.end)
        return self.in_place.last_use(value)

    def _temporaries(self, op: Operation) -> Iterator[Row]:
        """The values between the scalar operations of an elementwise one."""
        if not isinstance(op, ElementwiseInterface):
            return
        if count := self.tiling.forms.of(op).temporaries:
            box = self.tiling.tiles[op].result
            size = count * WIDEST * elements(box)
            step = self.step[op]
            size = self._align(size)
            yield Row("temporary", op.results[0], size, step, step + 1, box)

    def _bytes(self, value: SSAValue, box: Box) -> int:
        size = self._item(value)
        for interval in box:
            size *= interval.room
        return self._align(size)

    def _item(self, value: SSAValue) -> int:
        """The bytes of an element: rounded ones, where a product rounds them."""
        if self.in_place is not None:
            for cast, product in self.in_place.rounded.items():
                if value is product.results[0]:
                    return self.steps.item(cast.results[0])
        return self.steps.item(value)

    def _align(self, size: int) -> int:
        return align(size, self.tiling.rules.alignment)


def _moves(box: Box) -> bool:
    """Return `True` if the offsets of a tile depend on an iteration."""
    return any(interval.offset.terms for interval in box)


def _most(loops: Mapping[int, Loop], stages: int) -> int:
    """
    Return the number of iterations of some loops in flight: `stages`, or all where
    there are fewer.
    """
    return min(stages, prod(loop.trips for loop in loops.values()))
