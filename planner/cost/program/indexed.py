"""Moves that find what they read, or where they write, by indices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir.affine import AffineMap

from tlf.dialects import tile
from tlf.dialects.npu import dma_engine
from tlf.machine.costs import Cost, Costs, End, Indices
from tlf.planner.cost.program.copies import own
from tlf.planner.cost.program.indices import UnknownTimeError
from tlf.planner.cost.program.moves import Side
from tlf.planner.cost.program.places import Place
from tlf.planner.cost.program.program import Phase, Reach, Step, Values, value_of
from tlf.planner.cost.program.reader import Reader
from tlf.planner.cost.program.tiles import make_place
from tlf.support.affine.linear_map import accesses


@dataclass(eq=False)
class IndexedPrice:
    """A move of a box whose places along one axis of a table indices tell."""

    costs: Costs
    engine: str
    table: Side
    indices: Place
    moved: Place
    axis: int
    maps: tuple[AffineMap, AffineMap]
    box: tuple[int, ...]
    scatter: bool = False
    """True if the table is written, False if it is read."""
    accumulate: bool = False
    reaches: tuple[Reach, ...] = field(init=False)
    phases: tuple[Phase, ...] = field(init=False)

    def __post_init__(self) -> None:
        levels = self.costs.machine.levels
        self._offsets = [
            offset + place.constant
            for offset, place in zip(
                self.table.offsets, accesses(self.maps[0]), strict=True
            )
        ]
        base = self.table.place.base
        for offset, stride in zip(self._offsets, self.table.place.strides, strict=True):
            base += offset * stride
        self._base = base
        self._named = self.indices.base + sum(
            place.constant * stride
            for place, stride in zip(
                accesses(self.maps[1]), self.indices.strides, strict=True
            )
        )
        ends = (
            (base, self.table.place.buffer.level),
            (self._named, self.indices.buffer.level),
            (self.moved.base, self.moved.buffer.level),
        )
        self.phases = tuple(
            Phase(start, levels[level].burst)
            for start, level in ends
            if start.terms and levels[level].burst > 1
        )
        self.reaches = tuple(
            Reach(self._offsets[axis], self.box[dimension], bound)
            for axis, dimension, bound in self._cut
            if self._offsets[axis].terms
        )

    @property
    def _cut(self) -> list[tuple[int, int, int]]:
        """The axes along which the table may end, their dimensions and extents."""
        found = list[tuple[int, int, int]]()
        shape = self.table.place.shape
        for axis, place in enumerate(accesses(self.maps[0])):
            if axis != self.axis and place.dimension is not None:
                found.append((axis, place.dimension, shape[axis]))
        return found

    def of(self, values: Values) -> Sequence[Cost]:
        """The instruction."""
        read, start = list(self.box), value_of(self._base, values)
        named = value_of(self._named, values)
        along = _along(self.maps[0], self.table.place.strides)
        indices = _along(self.maps[1], self.indices.strides)
        for axis, dimension, bound in self._cut:
            first = value_of(self._offsets[axis], values)
            low = max(0, -first)
            read[dimension] = max(0, min(self.box[dimension], bound - first) - low)
            start += low * along[dimension]
            named += low * indices[dimension]
        shape = tuple(read)
        table = End(start, shape, along)
        written = shape if self.scatter else self.box
        moved = End(value_of(self.moved.base, values), written, self.moved.strides)
        ends = (moved, table) if self.scatter else (table, moved)
        cost = self.costs.move(
            self.engine,
            *ends,
            self.moved.item,
            Indices(
                End(named, shape, indices),
                self.indices.item,
                self.indices.buffer.level,
                self.table.place.strides[self.axis],
                self.scatter,
                self.accumulate,
            ),
        )
        return (cost,)


def _along(map_: AffineMap, strides: Sequence[int]) -> tuple[int, ...]:
    """The bytes between neighbours along each dimension of a box."""
    places = list(zip(accesses(map_), strides, strict=True))
    return tuple(
        sum(place.coefficients[dimension] * stride for place, stride in places)
        for dimension in range(map_.num_dims)
    )


def read_gather(reader: Reader, op: tile.GatherOp) -> None:
    """A move of the elements that indices name."""
    source, indices = reader.place(op.source), reader.place(op.indices)
    offsets = reader.indices.all(op.mixed_offsets)
    reader.reading(op.source, op.indices)
    place, storage = make_place(reader, op.result)
    table = Side(source, offsets)
    price = _priced(reader, op, (source, place), table, indices, place)
    step = _move(reader, price, source, place)
    # What the move reads is in use.
    around = reader.storages[op.source].whole
    reader.pending.read.setdefault(around, []).append(step)
    reader.bind(op.result, place, storage)
    reader.pending.start(step, reader.storages[op.indices], storage)


def read_scatter(reader: Reader, op: tile.ScatterOp) -> None:
    """A move of elements to where indices say, in the place of what it changes."""
    place, storage = own(reader, op, op.destination)
    source, indices = reader.place(op.source), reader.place(op.indices)
    offsets = reader.indices.all(op.mixed_offsets)
    reader.reading(op.source, op.indices)
    reader.wait(writes=[storage])
    table = Side(place, offsets)
    price = _priced(reader, op, (source, place), table, indices, source)
    step = _move(reader, price, source, place)
    for value in (op.source, op.indices):
        reader.pending.start(step, reader.storages[value], storage)
    reader.bind(op.result, place, storage)


def _priced(
    reader: Reader,
    op: tile.GatherOp | tile.ScatterOp,
    ends: tuple[Place, Place],
    table: Side,
    indices: Place,
    moved: Place,
) -> IndexedPrice:
    """The price of a move between `ends`, of which one is the table."""
    if any(place.window is not None for place in (indices, moved)):
        raise UnknownTimeError(op, "expected indices and elements that do not roll")
    source, destination = (each.buffer.level for each in ends)
    return IndexedPrice(
        reader.costs,
        dma_engine(source, destination),
        table,
        indices,
        moved,
        op.indexed_axis,
        (op.place_map, op.index_map),
        op.extents,
        scatter=isinstance(op, tile.ScatterOp),
        accumulate=isinstance(op, tile.ScatterOp) and op.adds,
    )


def _move(
    reader: Reader, price: IndexedPrice, source: Place, destination: Place
) -> Step:
    queue = reader.costs.queues[price.engine]
    step = reader.step(price, queue, (source, price.indices), (destination,))
    step.moves, step.indexed = (source.buffer, destination.buffer), True
    return step
