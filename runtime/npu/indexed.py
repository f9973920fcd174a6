"""Moves whose rows are where indices say: gathers and scatters."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np

from tlf.machine.costs import End, Indices
from tlf.machine.parts import DmaEngine
from tlf.runtime.npu.access import Accesses, Place, Sizes
from tlf.runtime.npu.dtypes import BITS, DTYPES, ITEMSIZE, Array
from tlf.runtime.npu.errors import NPUParseError
from tlf.runtime.npu.operands import Fields, in_parentheses
from tlf.runtime.npu.program import Address, Dma, Indexed

INDICES = ("i32", "i64")
"""The element types of indices."""

SUMMED = ("f32", "i32", "i64")
"""The element types that a scatter can add."""


def indexed_of(fields: Fields, engine: DmaEngine) -> Indexed | None:
    """Return what a move says of indices. Raises `NPUParseError`."""
    words = [word for word in ("gather", "scatter") if word in fields.seen]
    if not words and "index" not in fields.seen:
        if fields.accumulate is not False:
            _fail(fields, "expected `scatter=` where a move says `accumulate`")
        return None
    if len(words) != 1 or "index" not in fields.seen:
        _fail(fields, "expected `index=` with one of `gather=` and `scatter=`")
    scatter = words[0] == "scatter"
    indices = fields.memory("index", len(fields.shape))
    _check_indices(fields, indices, engine)
    if scatter and fields.inside is not None:
        _fail(fields, "expected no `inside` of a scatter")
    if not isinstance(fields.accumulate, bool):
        _fail(fields, "expected `accumulate` without a register in a move")
    if fields.accumulate and (not scatter or fields.dtype not in SUMMED):
        expected = f"expected `accumulate` of a scatter of {' or '.join(SUMMED)}"
        _fail(fields, f"{expected}, got {words[0]} of {fields.dtype}")
    step, bound = fields.table
    return Indexed(indices, step, bound, scatter, bool(fields.accumulate))


def _check_indices(fields: Fields, indices: Address, engine: DmaEngine) -> None:
    if engine.indexed is None:
        _fail(fields, f"{engine.name} cannot follow indices")
    if indices.level not in (engine.source, engine.destination):
        ends = f"{engine.source} or {engine.destination}"
        _fail(fields, f"expected indices in {ends}, got {indices.level}")
    if indices.dtype not in INDICES:
        _fail(fields, f"expected indices of i32 or i64, got {indices.dtype}")
    if len(fields.table) != 2 or fields.table[1] < 0:
        got = in_parentheses(fields.table)
        _fail(fields, f"expected a step and a bound of at least 0, got {got}")


def _fail(fields: Fields, reason: str) -> NoReturn:
    raise NPUParseError(fields.line, reason)


def priced(indexed: Indexed, start: int, read: Sizes) -> Indices:
    """
    Return the cost parameters of the indices of a move; the first index that is read is
    at `start`.
    """
    address = indexed.indices
    return Indices(
        End(start, read, address.strides),
        ITEMSIZE[address.dtype],
        address.level,
        indexed.step,
        indexed.scatter,
        indexed.accumulate,
    )


def table_of(address: Address, indexed: Indexed) -> Address:
    """All that indices may name, their axis first."""
    strides = (indexed.step, *address.strides)
    return replace(address, strides=strides)


@dataclass(frozen=True)
class IndexedMove:
    """
    One move that follows indices, on memory. All of the table counts as read, or as
    written, whatever the indices are.
    """

    op: Dma
    indexed: Indexed
    shape: Sizes
    box: Sequence[tuple[int, int]]
    """The range of indices that is read, per dimension."""
    read: Sizes

    def run(
        self, accesses: Accesses, source: int, destination: int, indices: int
    ) -> None:
        """Move, given where the first elements that are read are."""
        if 0 in self.read:
            self._put(accesses, destination, self.op.fill, ())
            return
        named = accesses.locate(self.indexed.indices, indices, self.read)
        accesses.read(named, self.op.engine)
        if self.indexed.scatter:
            self._scatter(accesses, source, destination, named)
        else:
            self._gather(accesses, source, destination, named)

    def _gather(
        self, accesses: Accesses, source: int, destination: int, named: Place
    ) -> None:
        values = np.full(self.read, self.op.fill)
        if self.indexed.bound:
            table = self._table(accesses, self.op.source, source)
            accesses.read(table, self.op.engine)
            known, places = self._places(named, table)
            elements = self._elements(table, BITS[self.op.fill.itemsize])
            values[known] = elements[places]
        self._put(accesses, destination, values, (named,))

    def _scatter(
        self, accesses: Accesses, source: int, destination: int, named: Place
    ) -> None:
        place = accesses.locate(self.op.source, source, self.read)
        accesses.read(place, self.op.engine)
        if not self.indexed.bound:
            return
        table = self._table(accesses, self.op.destination, destination)
        accesses.read(table, self.op.engine, mark=False)
        accesses.write(table, self.op.engine, _beside(table, (named,)))
        known, places = self._places(named, table)
        kind = DTYPES[self.op.source.dtype]
        elements, values = self._elements(table, kind), place.view()[known]
        if self.indexed.accumulate:
            np.add.at(elements, places, values)
            return
        # Of several values for one place, the last one stays.
        last, where = np.unique(places[::-1], return_index=True)
        elements[last] = values[::-1][where]

    def _table(self, accesses: Accesses, address: Address, base: int) -> Place:
        """All that indices may name."""
        whole = table_of(address, self.indexed)
        return accesses.locate(whole, base, (self.indexed.bound, *self.read))

    def _places(self, named: Place, table: Place) -> tuple[Array, Array]:
        """
        Return a mask of the elements whose index is within the table, and the offsets
        of these elements in order, counted from the first element of the table.
        """
        names = named.view().astype(np.int64)
        known = (names >= 0) & (names < self.indexed.bound)
        places = np.where(known, names, 0) * self.indexed.step - table.footprint.low
        rank = len(self.read)
        for axis, stride in enumerate(table.address.strides[1:]):
            steps = np.arange(self.read[axis], dtype=np.int64) * stride
            places += steps.reshape(-1, *[1] * (rank - axis - 1))
        size = ITEMSIZE[table.address.dtype]
        return known, places[known] // size

    @staticmethod
    def _elements(table: Place, kind: np.dtype[np.generic]) -> Array:
        """All elements from the first of the table to the last, as they lie."""
        count = (table.high - table.low) // kind.itemsize
        return table.memory.view(table.low, (count,), (kind.itemsize,), kind)

    def _put(
        self,
        accesses: Accesses,
        destination: int,
        values: Array,
        sources: Sequence[Place],
    ) -> None:
        """Write what was read, and fill around it."""
        op, bits = self.op, BITS[self.op.fill.itemsize]
        if self.indexed.scatter:
            return
        address = op.destination
        place = accesses.locate(address, destination, self.shape, written=True)
        accesses.write(place, op.engine, _beside(place, sources))
        target = place.memory.view(destination, self.shape, address.strides, bits)
        if self.read != self.shape:
            target[...] = op.fill
        if 0 not in self.read:
            target[tuple([slice(low, high) for low, high in self.box])] = values


def _beside(place: Place, others: Sequence[Place]) -> list[Place]:
    """Those that are in the same memory."""
    return [each for each in others if each.memory is place.memory]
