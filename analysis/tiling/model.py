"""
The tiles of a group: loops, what is computed of each operation, and what is read.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from math import ceil, prod
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from tlf.analysis.operations.form import Form, Forms
from tlf.analysis.recurrence.cascade import Cascade
from tlf.analysis.tiling.banded import bands_of
from tlf.analysis.tiling.rules import Rules
from tlf.analysis.tiling.window import Window
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    IteratorKind,
    Scalar,
    TilingInterface,
)
from tlf.dialects.padded import inside, is_supplied
from tlf.dialects.types import dtype_of, tensor_type
from tlf.support.affine.access import Access, Box, Interval, Linear, region

if TYPE_CHECKING:
    from tlf.analysis.recurrence.corrections import Correction
    from tlf.analysis.recurrence.restarts import Restart


class TilingError(PassFailedException):
    """A group cannot be tiled as planned. `op` is the operation at fault."""

    def __init__(self, op: Operation, message: str) -> None:
        super().__init__(f"{op.name}: {message}")
        self.op = op


def positions(op: TilingInterface, kind: IteratorKind) -> list[int]:
    """The iterators of one kind, by their place among all."""
    iterators = enumerate(op.iterators())
    return [position for position, each in iterators if each.kind is kind]


@dataclass(eq=False, frozen=True)
class Loop:
    """A loop over the tiles of one axis. It is the symbol of its induction variable."""

    extent: int
    tile: int

    @property
    def trips(self) -> int:
        """The number of iterations."""
        return -(-self.extent // self.tile)

    @property
    def last(self) -> int:
        """Start of the last tile."""
        return (self.trips - 1) * self.tile


class Scope(Enum):
    """
    Loop level of a tile: computed once per tile of the result, computed in the inner
    loop, or read in a loop of a contraction inside of that.
    """

    OUTER = auto()
    INNER = auto()
    NESTED = auto()


@dataclass(frozen=True)
class Looped:
    """
    The reduction of a group that has a loop, and the reductions that run along with it.
    """

    anchor: AccumulatingInterface | None = None
    cascade: Cascade | None = None
    nested: tuple[AccumulatingInterface, ...] = ()
    """Reductions with loops of their own in the loop of the anchor."""

    def __bool__(self) -> bool:
        return self.anchor is not None


class Read(NamedTuple):
    """A need for a part of a value, by one operand of one operation."""

    consumer: TilingInterface | None
    """None for a part that a window keeps."""
    operand: int
    box: Box
    scope: Scope


class TiledOperation(NamedTuple):
    """The part of an operation that is computed for one tile of the group's result."""

    op: TilingInterface
    box: Box
    """The iterations, with those of an inner loop."""
    result: Box
    """The part of the result that there is: computed by these, or kept as well."""
    scope: Scope
    form: Form
    reads: tuple[Box | None, ...] = ()
    """The part of each operand that these iterations read, if it is a tensor."""
    again: bool = False
    """True if a result of an inner loop is recomputed behind it."""
    is_moved: bool = False
    """True if the move of its first operand performs it."""

    @property
    def computed(self) -> Box:
        """The part of the result that these iterations compute."""
        return region(self.form.result, self.box)


WIDEST = 4
"""The bytes of an element of a temporary."""

Tile: TypeAlias = tuple[SSAValue, Box]
"""A value, and the part of it that a tile holds."""


@dataclass
class GroupTiling:
    """
    The tiles of a group: loops, what is computed of each operation, and what is read of
    each input.
    """

    rules: Rules
    results: tuple[SSAValue, ...] = ()
    """The values that the group yields."""
    forms: Forms = field(default_factory=Forms)
    """Cached forms of its operations."""
    loops: dict[int, Loop] = field(default_factory=dict[int, Loop])
    """The loops over the root's parallel iterators, by iterator."""
    inner_loops: dict[int, Loop] = field(default_factory=dict[int, Loop])
    """The loops over the anchor's reduction iterators, by iterator."""
    nested: dict[Operation, dict[int, Loop]] = field(
        default_factory=dict[Operation, dict[int, Loop]]
    )
    """The loops in that loop, over the reductions of contractions that need nothing."""
    anchor: AccumulatingInterface | None = None
    cascade: Cascade | None = None
    """Other reductions in the anchor's loop."""
    tiles: dict[Operation, TiledOperation] = field(
        default_factory=dict[Operation, TiledOperation]
    )
    """By operation, in the order of the program."""
    reads: dict[tuple[SSAValue, Scope], list[Box]] = field(
        default_factory=dict[tuple[SSAValue, Scope], list[Box]]
    )
    """The tiles to be cut from each input of the group."""
    pieces: list[Box] = field(default_factory=list[Box])
    """For each result of the group, the part that one tile writes."""

    gathered: set[Operation] = field(default_factory=set[Operation])
    """Movements that the move of their first operand does."""

    rolled: Loop | None = None
    """The loop whose tiles keep what they share with those before."""
    windows: dict[tuple[SSAValue, int], Window] = field(
        default_factory=dict[tuple[SSAValue, int], Window]
    )
    """
    Rolling windows: of values that the group computes, with 0, and of tiles of its
    inputs, with their index in `reads`.
    """
    ahead: dict[Operation, int] = field(default_factory=dict[Operation, int])
    """Operations that are computed so many iterations ahead of the results."""
    start: GroupTiling | None = None
    """
    Prologue: the tiles computed and read for the windows before the first iteration.
    """

    @property
    def ranges(self) -> Mapping[Hashable, tuple[int, int]]:
        """The values that the induction variable of each loop takes."""
        every = [*self.loops.values(), *self.inner_loops.values(), *self.nested_loops]
        return {loop: (0, loop.last) for loop in every}

    @property
    def nested_loops(self) -> list[Loop]:
        """The loops in the loop over the anchor's reduction."""
        return [loop for loops in self.nested.values() for loop in loops.values()]

    def leads(self, value: SSAValue) -> bool:
        """Return `True` if a value is computed an iteration ahead of its readers."""
        window = self.windows.get((value, 0))
        return window is not None and window.leads

    def border(self, op: TilingInterface, operand: int) -> Scalar | None:
        """
        Return the value that elements outside of an operand must read as; None if
        iterations never reach them or it makes no difference.
        """
        form = self.tiles[op].form
        accesses = form.operands[operand]
        if accesses is None or (value := form.border(operand)) is None:
            return None
        shape = tensor_type(op.operands[operand]).get_shape()
        box = self.tiles[op].box
        bands = bands_of(self.rules.array, op, box, form)
        if bands is not None and operand == bands.windows.filters:
            return value
        pads = self.rules.again and operand == 0
        for axis, (access, extent) in enumerate(zip(accesses, shape, strict=True)):
            supplies = pads and axis in form.padded
            if supplies and is_supplied(access.interval(box)):
                continue
            if self._reaches_out(op, access, extent):
                return value
        return None

    def _reaches_out(self, op: TilingInterface, access: Access, extent: int) -> bool:
        form, box = self.tiles[op].form, self.tiles[op].box
        windows = form.windows if self.rules.views else None
        ends: list[Interval] = []
        for position, iterator in enumerate(form.iterators):
            covered = iterator.extent
            if iterator.kind is IteratorKind.REDUCTION:
                covered = max(covered, box[position].room + self._last(op, position))
            elif windows is not None and windows.moves(position):
                covered = max(covered, last_end(box[position]))
            ends.append(Interval.whole(covered))
        touched = access.interval(tuple(ends))
        first = touched.offset.constant
        return first < 0 or first + touched.size > extent

    def _last(self, op: TilingInterface, iterator: int) -> int:
        if op is self.anchor and iterator in self.inner_loops:
            return self.inner_loops[iterator].last
        if self.runs_along(op, iterator):
            return next(iter(self.inner_loops.values())).last
        if (loop := self.nested.get(op, {}).get(iterator)) is not None:
            return loop.last
        return 0

    def is_step(self, op: Operation) -> bool:
        """
        Return `True` if an operation is reduced in the anchor's loop beside the anchor.
        """
        steps = () if self.cascade is None else self.cascade.steps
        return op in steps and op is not self.anchor

    def is_running(self, op: Operation) -> bool:
        """
        Return `True` if an operation depends on the result of a step, and is not a
        step.
        """
        return self.cascade is not None and op in self.cascade.dependent

    def is_row(self, op: Operation) -> bool:
        """Return `True` if an operation computes one result from totals."""
        return self.cascade is not None and op in self.cascade.rows

    def correction_of(self, op: Operation) -> Correction | None:
        """Return the correction of the running sum of an operation, if it needs one."""
        step = None if self.cascade is None else self.cascade.steps.get(op)
        return None if step is None else step.correction

    def restart_of(self, op: Operation) -> Restart | None:
        """Return the restart of the reduction of an operation, if it has one."""
        step = None if self.cascade is None else self.cascade.steps.get(op)
        return None if step is None else step.restart

    def runs_along(self, op: Operation, iterator: int) -> bool:
        """
        Return `True` if an iterator of a step of a cascade runs along the anchor's
        loop.
        """
        if self.cascade is None or op is self.anchor:
            return False
        step = self.cascade.steps.get(op)
        return step is not None and step.iterator == iterator

    def inputs(self) -> Iterator[Tile]:
        """Every tile that is cut from an input of the group."""
        for (value, _), boxes in self.reads.items():
            yield from ((value, box) for box in boxes)

    def outputs(self) -> Iterator[Tile]:
        """Every tile of a result of the group."""
        for op, tile in self.tiles.items():
            for result in op.results:
                if result in self.results:
                    yield result, tile.result

    def buffers(self) -> Iterator[Tile]:
        """Every tile: a value, and the part of it that the tile holds."""
        yield from self.inputs()
        for op, tile in self.tiles.items():
            yield from ((result, tile.result) for result in op.results)

    def bytes(self, stages: int = 1) -> int:
        """
        The bytes that all tiles take together, were none to share its place, and the
        temporaries of elementwise operations that take several steps. Tiles that come
        in and go out have one place for each stage.
        """
        moved = self.read_bytes() + self._sum(self.outputs())
        return (
            (stages - 1) * moved
            + self._sum(self.buffers())
            + sum(
                tile.form.temporaries * WIDEST * elements(tile.result)
                for tile in self.tiles.values()
                if tile.form.temporaries
            )
        )

    def read_bytes(self) -> int:
        """The bytes that the tiles cut from inputs take together."""
        return self._sum(self.inputs())

    def _sum(self, tiles: Iterator[Tile]) -> int:
        alignment = self.rules.alignment
        sizes = (
            elements(box) * dtype_of(tensor_type(value).element_type).itemsize
            for value, box in tiles
        )
        return sum(ceil(size / alignment) * alignment for size in sizes)

    def largest(self) -> int:
        """The most elements that a tile has."""
        return max(elements(box) for _, box in self.buffers())


def boxes_read(
    rules: Rules, op: TilingInterface, box: Box, form: Form
) -> tuple[Box | None, ...]:
    """The part of each operand that a tile is needed of, for some iterations."""
    read = [each if each is None else region(each, box) for each in form.operands]
    bands = bands_of(rules.array, op, box, form)
    filters = None if bands is None else bands.windows.filters
    if rules.again and form.padded and filters != 0 and read[0] is not None:
        read[0] = inside(read[0], form.padded)
    if bands is not None and filters is not None:
        touched = read[filters]
        assert touched is not None
        read[filters] = bands.widened(form.operands[filters] or (), touched)
    return tuple(read)


def elements(box: Box) -> int:
    """The number of elements in a box."""
    return prod(interval.room for interval in box)


def same_box(left: Box, right: Box) -> bool:
    """Return `True` if two boxes are equal for every value of the loops."""
    if left is right:
        return True
    for a, b in zip(left, right, strict=True):
        if a is b:
            continue
        if a.size != b.size or a.room != b.room:
            return False
        if a.offset != b.offset and a.offset - b.offset != Linear():
            return False
    return True


def first_start(interval: Interval) -> int:
    """Return the least start of an interval over the iterations of its loops."""
    start = interval.offset.constant
    for symbol, factor in interval.offset.terms:
        start += min(0, factor * symbol.last) if isinstance(symbol, Loop) else 0
    return start


def last_end(interval: Interval) -> int:
    """Return the greatest end of an interval over the iterations of its loops."""
    end = interval.offset.constant + interval.room
    for symbol, factor in interval.offset.terms:
        end += max(0, factor * symbol.last) if isinstance(symbol, Loop) else 0
    return end


def covers(outer: Box, inner: Box) -> bool:
    """Return `True` if `outer` contains all of `inner` for every value of the loops."""
    for a, b in zip(outer, inner, strict=True):
        distance = b.offset - a.offset
        start = distance.constant
        if distance.terms or start < 0 or start + b.size > a.size:
            return False
    return True


def is_init(op: TilingInterface, position: int) -> bool:
    """Return `True` if an operand is the initial value of a reduction."""
    return (
        isinstance(op, AccumulatingInterface)
        and position == len(op.operands) - 1
        and op.init_value is op.operands[position]
    )
