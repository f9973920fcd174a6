"""Simulator: gathers and scatters, which are moves of rows addressed by indices."""

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
"""Element types of indices."""

ACCUMULATED_TYPES = ("f32", "i32", "i64")
"""Element types that a scatter can accumulate."""


def parse_indexed(fields: OperandFields, engine: DmaEngine) -> Indexed | None:
    """Return the indices of a move, or `None`. Raises `NPUParseError`."""
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
    Return the cost parameters of the indices of a move; `start` is the address of the
    first index that is read.
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
    """Return the address of the whole indexed table, with the indexed axis first."""
    strides = (indexed.step, *address.strides)
    return replace(address, strides=strides)


@dataclass(frozen=True)
class IndexedMove:
    """
    A gather or scatter on memory. The whole table counts as read or written, for any
    indices.
    """

    op: Dma
    indexed: Indexed
    shape: Sizes
    box: Sequence[tuple[int, int]]
    """Range of indices that is read, per dimension."""
    read: Sizes

    def run(
        self, accesses: AccessChecker, source: int, destination: int, indices: int
    ) -> None:
        """Execute the move, given the addresses of the first elements that are read."""
        if 0 in self.read:
            self._write_result(accesses, destination, self.op.fill, ())
            return
        index_array = accesses.locate(self.indexed.indices, indices, self.read)
        accesses.check_read(index_array, self.op.engine)
        if self.indexed.scatter:
            self._scatter(accesses, source, destination, index_array)
        else:
            self._gather(accesses, source, destination, index_array)

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
            in_bounds, offsets = self._element_offsets(named, table)
            elements = self._flat_elements(table, BITS[self.op.fill.itemsize])
            values[in_bounds] = elements[offsets]
        self._write_result(accesses, destination, values, (named,))

    def _scatter(
        self,
        accesses: AccessChecker,
        source: int,
        destination: int,
        named: StridedArray,
    ) -> None:
        source_array = accesses.locate(self.op.source, source, self.read)
        accesses.check_read(source_array, self.op.engine)
        if not self.indexed.bound:
            return
        table = self._locate_table(accesses, self.op.destination, destination)
        accesses.check_read(table, self.op.engine, mark=False)
        accesses.check_write(table, self.op.engine, _in_same_memory(table, (named,)))
        in_bounds, offsets = self._element_offsets(named, table)
        kind = DTYPES[self.op.source.dtype]
        elements, values = (
            self._flat_elements(table, kind),
            source_array.view()[in_bounds],
        )
        if self.indexed.accumulate:
            np.add.at(elements, offsets, values)
            return
        # Among several values for one element, the last one is stored.
        last, positions = np.unique(offsets[::-1], return_index=True)
        elements[last] = values[::-1][positions]

    def _locate_table(
        self, accesses: AccessChecker, address: Address, base: int
    ) -> StridedArray:
        """Return the whole indexed table."""
        table = table_of(address, self.indexed)
        return accesses.locate(table, base, (self.indexed.bound, *self.read))

    def _element_offsets(
        self, named: StridedArray, table: StridedArray
    ) -> tuple[Array, Array]:
        """
        Return a mask of the elements whose index is within the table, and the offsets
        of these elements in order, relative to the first element of the table.
        """
        indices = named.view().astype(np.int64)
        in_bounds = (indices >= 0) & (indices < self.indexed.bound)
        offsets = (
            np.where(in_bounds, indices, 0) * self.indexed.step - table.footprint.low
        )
        rank = len(self.read)
        for axis, stride in enumerate(table.address.strides[1:]):
            steps = np.arange(self.read[axis], dtype=np.int64) * stride
            offsets += steps.reshape(-1, *[1] * (rank - axis - 1))
        size = ITEMSIZE[table.address.dtype]
        return in_bounds, offsets[in_bounds] // size

    @staticmethod
    def _flat_elements(table: StridedArray, kind: np.dtype[np.generic]) -> Array:
        """
        Return all elements from the first of the table to the last, in memory order.
        """
        count = (table.high - table.low) // kind.itemsize
        return table.memory.view(table.low, (count,), (kind.itemsize,), kind)

    def _write_result(
        self,
        accesses: AccessChecker,
        destination: int,
        values: Array,
        sources: Sequence[StridedArray],
    ) -> None:
        """Write the elements that were read, and fill the rest."""
        op, bits = self.op, BITS[self.op.fill.itemsize]
        if self.indexed.scatter:
            return
        address = op.destination
        array = accesses.locate(address, destination, self.shape, written=True)
        accesses.check_write(array, op.engine, _in_same_memory(array, sources))
        target = array.memory.view(destination, self.shape, address.strides, bits)
        if self.read != self.shape:
            target[...] = op.fill
        if 0 not in self.read:
            target[tuple([slice(low, high) for low, high in self.box])] = values


def _in_same_memory(
    place: StridedArray, others: Sequence[StridedArray]
) -> list[StridedArray]:
    """Return the arrays that are in the same memory."""
    return [each for each in others if each.memory is place.memory]
