"""Moves that find what they read by indices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir.affine import AffineMap

from tlf.dialects import tile
from tlf.dialects.linear_map import accesses
from tlf.dialects.npu import dma_engine
from tlf.machine.costs import Cost, Costs, End, Indices
from tlf.passes.cost.schedule.indices import UnknownTimeError
from tlf.passes.cost.schedule.moves import Side
from tlf.passes.cost.schedule.places import Place
from tlf.passes.cost.schedule.program import Phase, Reach, Step, Values, value_of
from tlf.passes.cost.schedule.reader import Reader
from tlf.passes.cost.schedule.tiles import make_place


@dataclass(eq=False)
class GatherPrice:
    """A move of a box whose places along one axis of the source indices tell."""

    costs: Costs
    engine: str
    source: Side
    indices: Place
    destination: Place
    axis: int
    maps: tuple[AffineMap, AffineMap]
    box: tuple[int, ...]
    reaches: tuple[Reach, ...] = field(init=False)
    phases: tuple[Phase, ...] = field(init=False)

    def __post_init__(self) -> None:
        levels = self.costs.machine.levels
        self._offsets = [
            offset + place.constant
            for offset, place in zip(
                self.source.offsets, accesses(self.maps[0]), strict=True
            )
        ]
        base = self.source.place.base
        for offset, stride in zip(
            self._offsets, self.source.place.strides, strict=True
        ):
            base += offset * stride
        self._base = base
        self._named = self.indices.base + sum(
            place.constant * stride
            for place, stride in zip(
                accesses(self.maps[1]), self.indices.strides, strict=True
            )
        )
        ends = (
            (base, self.source.place.buffer.level),
            (self._named, self.indices.buffer.level),
            (self.destination.base, self.destination.buffer.level),
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
        """The axes along which the source may end, their dimensions and extents."""
        found = list[tuple[int, int, int]]()
        shape = self.source.place.shape
        for axis, place in enumerate(accesses(self.maps[0])):
            if axis != self.axis and place.dimension is not None:
                found.append((axis, place.dimension, shape[axis]))
        return found

    def of(self, values: Values) -> Sequence[Cost]:
        """The instruction."""
        read, start = list(self.box), value_of(self._base, values)
        named = value_of(self._named, values)
        along = _along(self.maps[0], self.source.place.strides)
        indices = _along(self.maps[1], self.indices.strides)
        for axis, dimension, bound in self._cut:
            first = value_of(self._offsets[axis], values)
            low = max(0, -first)
            read[dimension] = max(0, min(self.box[dimension], bound - first) - low)
            start += low * along[dimension]
            named += low * indices[dimension]
        shape, place = tuple(read), self.destination
        cost = self.costs.move(
            self.engine,
            End(start, shape, along),
            End(value_of(place.base, values), self.box, place.strides),
            place.item,
            Indices(
                End(named, shape, indices),
                self.indices.item,
                self.indices.buffer.level,
                self.source.place.strides[self.axis],
                scatter=False,
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
    if indices.window is not None or place.window is not None:
        raise UnknownTimeError(op, "expected indices and elements that do not roll")
    levels = source.buffer.level, place.buffer.level
    engine = dma_engine(*levels)
    maps, axis = (op.place_map, op.index_map), op.indexed_axis
    side = Side(source, offsets)
    price = GatherPrice(
        reader.costs, engine, side, indices, place, axis, maps, op.extents
    )
    queue = reader.costs.queues[engine]
    step = reader.step(price, queue, (source, indices), (place,))
    step.moves, step.indexed = (source.buffer, place.buffer), True
    _start(reader, op, step)
    reader.bind(op.result, place, storage)
    reader.pending.start(step, reader.storages[op.indices], storage)


def _start(reader: Reader, op: tile.GatherOp, step: Step) -> None:
    """Note that what the move reads is in use."""
    reader.pending.read.setdefault(reader.storages[op.source].whole, []).append(step)
