"""Gathers and scatters: moves whose rows are addressed by indices."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np

from tlf.machine.instruction_costs import Indices, TransferEnd
from tlf.machine.machine_spec import DmaEngine
from tlf.runtime.npu.access_checker import AccessChecker, Sizes, StridedArray
from tlf.runtime.npu.dtypes import BITS, DTYPES, ITEMSIZE, Array
from tlf.runtime.npu.npu_errors import NPUParseError
from tlf.runtime.npu.npu_program import Address, Dma, Indexed
from tlf.runtime.npu.operand_parser import OperandFields, format_tuple

INDEX_TYPES = ("i32", "i64")
"""The element types of indices."""

ACCUMULATED_TYPES = ("f32", "i32", "i64")
"""The element types that a scatter can add."""


def parse_indexed(fields: OperandFields, engine: DmaEngine) -> Indexed | None:
    """Return what a move says of indices. Raises `NPUParseError`."""
    words = [word for word in ("gather", "scatter") if word in fields.keys]
    if not words and "index" not in fields.keys:
        if fields.accumulate is not False:
            _fail(fields, "expected `scatter=` where a move says `accumulate`")
        return None
    if len(words) != 1 or "index" not in fields.keys:
        _fail(fields, "expected `index=` with one of `gather=` and `scatter=`")
    scatter = words[0] == "scatter"
    indices = fields.address_of("index", len(fields.shape))
    _check_indices(fields, indices, engine)
    if scatter and fields.inside is not None:
        _fail(fields, "expected no `inside` of a scatter")
    if not isinstance(fields.accumulate, bool):
        _fail(fields, "expected `accumulate` without a register in a move")
    if fields.accumulate and (not scatter or fields.dtype not in ACCUMULATED_TYPES):
        expected = (
            f"expected `accumulate` of a scatter of {' or '.join(ACCUMULATED_TYPES)}"
        )
        _fail(fields, f"{expected}, got {words[0]} of {fields.dtype}")
    step, bound = fields.table
    return Indexed(indices, step, bound, scatter, bool(fields.accumulate))


def _check_indices(fields: OperandFields, indices: Address, engine: DmaEngine) -> None:
    if engine.indexed is None:
        _fail(fields, f"{engine.name} cannot follow indices")
    if indices.level not in (engine.source, engine.destination):
        ends = f"{engine.source} or {engine.destination}"
        _fail(fields, f"expected indices in {ends}, got {indices.level}")
    if indices.dtype not in INDEX_TYPES:
        _fail(fields, f"expected indices of i32 or i64, got {indices.dtype}")
    if len(fields.table) != 2 or fields.table[1] < 0:
        got = format_tuple(fields.table)
        _fail(fields, f"expected a step and a bound of at least 0, got {got}")


def _fail(fields: OperandFields, reason: str) -> NoReturn:
    raise NPUParseError(fields.line, reason)


def index_parameters(indexed: Indexed, start: int, read: Sizes) -> Indices:
    """
    Return the cost parameters of the indices of a move; the first index that is read is
    at `start`.
    """
    address = indexed.indices
    return Indices(
        TransferEnd(start, read, address.strides),
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
        self, accesses: AccessChecker, source: int, destination: int, indices: int
    ) -> None:
        """Move, given where the first elements that are read are."""
        if 0 in self.read:
            self._write_result(accesses, destination, self.op.fill, ())
            return
        named = accesses.locate(self.indexed.indices, indices, self.read)
        accesses.check_read(named, self.op.engine)
        if self.indexed.scatter:
            self._scatter(accesses, source, destination, named)
        else:
            self._gather(accesses, source, destination, named)

    def _gather(
        self,
        accesses: AccessChecker,
        source: int,
        destination: int,
        named: StridedArray,
    ) -> None:
        values = np.full(self.read, self.op.fill)
        if self.indexed.bound:
            table = self._locate_table(accesses, self.op.source, source)
            accesses.check_read(table, self.op.engine)
            known, places = self._element_offsets(named, table)
            elements = self._flat_elements(table, BITS[self.op.fill.itemsize])
            values[known] = elements[places]
        self._write_result(accesses, destination, values, (named,))

    def _scatter(
        self,
        accesses: AccessChecker,
        source: int,
        destination: int,
        named: StridedArray,
    ) -> None:
        place = accesses.locate(self.op.source, source, self.read)
        accesses.check_read(place, self.op.engine)
        if not self.indexed.bound:
            return
        table = self._locate_table(accesses, self.op.destination, destination)
        accesses.check_read(table, self.op.engine, mark=False)
        accesses.check_write(table, self.op.engine, _in_same_memory(table, (named,)))
        known, places = self._element_offsets(named, table)
        kind = DTYPES[self.op.source.dtype]
        elements, values = self._flat_elements(table, kind), place.view()[known]
        if self.indexed.accumulate:
            np.add.at(elements, places, values)
            return
        # Of several values for one place, the last one stays.
        last, where = np.unique(places[::-1], return_index=True)
        elements[last] = values[::-1][where]

    def _locate_table(
        self, accesses: AccessChecker, address: Address, base: int
    ) -> StridedArray:
        """All that indices may name."""
        whole = table_of(address, self.indexed)
        return accesses.locate(whole, base, (self.indexed.bound, *self.read))

    def _element_offsets(
        self, named: StridedArray, table: StridedArray
    ) -> tuple[Array, Array]:
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
    def _flat_elements(table: StridedArray, kind: np.dtype[np.generic]) -> Array:
        """All elements from the first of the table to the last, as they lie."""
        count = (table.high - table.low) // kind.itemsize
        return table.memory.view(table.low, (count,), (kind.itemsize,), kind)

    def _write_result(
        self,
        accesses: AccessChecker,
        destination: int,
        values: Array,
        sources: Sequence[StridedArray],
    ) -> None:
        """Write what was read, and fill around it."""
        op, bits = self.op, BITS[self.op.fill.itemsize]
        if self.indexed.scatter:
            return
        address = op.destination
        place = accesses.locate(address, destination, self.shape, written=True)
        accesses.check_write(place, op.engine, _in_same_memory(place, sources))
        target = place.memory.view(destination, self.shape, address.strides, bits)
        if self.read != self.shape:
            target[...] = op.fill
        if 0 not in self.read:
            target[tuple([slice(low, high) for low, high in self.box])] = values


def _in_same_memory(
    place: StridedArray, others: Sequence[StridedArray]
) -> list[StridedArray]:
    """Those that are in the same memory."""
    return [each for each in others if each.memory is place.memory]
