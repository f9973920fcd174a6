"""Simulator: gathers and scatters, which are moves of rows addressed by indices."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np

from tlf.machine.instruction_costs import RowIndices, TransferEnd
from tlf.machine.machine_spec import DmaEngine
from tlf.runtime.npu.access_checker import AccessChecker, Sizes, StridedArray
from tlf.runtime.npu.dtypes import BITS, DTYPES, ITEMSIZE, Array
from tlf.runtime.npu.npu_errors import NPUParseError
from tlf.runtime.npu.npu_program import Address, Dma, MoveIndices
from tlf.runtime.npu.operand_parser import OperandFields, format_integer_tuple

INDEX_TYPES = ("i32", "i64")
"""Element types of indices."""

ACCUMULATED_TYPES = ("f32", "i32", "i64")
"""Element types that a scatter can accumulate."""


def parse_move_indices(fields: OperandFields, engine: DmaEngine) -> MoveIndices | None:
    """Return the indices of a move, or `None`. Raises `NPUParseError`."""
    words = [word for word in ("gather", "scatter") if word in fields.keys]
    if not words and "index" not in fields.keys:
        if fields.accumulate is not False:
            _raise_parse_error(
                fields, "expected `scatter=` where a move says `accumulate`"
            )
        return None
    if len(words) != 1 or "index" not in fields.keys:
        _raise_parse_error(
            fields, "expected `index=` with one of `gather=` and `scatter=`"
        )
    scatter = words[0] == "scatter"
    indices = fields.address_under_key("index", len(fields.shape))
    _check_index_operand(fields, indices, engine)
    if scatter and fields.inside is not None:
        _raise_parse_error(fields, "expected no `inside` of a scatter")
    if not isinstance(fields.accumulate, bool):
        _raise_parse_error(fields, "expected `accumulate` without a register in a move")
    if fields.accumulate and (not scatter or fields.dtype not in ACCUMULATED_TYPES):
        expected = (
            f"expected `accumulate` of a scatter of {' or '.join(ACCUMULATED_TYPES)}"
        )
        _raise_parse_error(fields, f"{expected}, got {words[0]} of {fields.dtype}")
    step, bound = fields.table
    return MoveIndices(indices, step, bound, scatter, bool(fields.accumulate))


def _check_index_operand(
    fields: OperandFields, indices: Address, engine: DmaEngine
) -> None:
    """Raise `NPUParseError` if the engine, the indices or the table do not fit."""
    if engine.indexed is None:
        _raise_parse_error(fields, f"{engine.name} cannot follow indices")
    if indices.level not in (engine.source, engine.destination):
        ends = f"{engine.source} or {engine.destination}"
        _raise_parse_error(fields, f"expected indices in {ends}, got {indices.level}")
    if indices.dtype not in INDEX_TYPES:
        _raise_parse_error(
            fields, f"expected indices of i32 or i64, got {indices.dtype}"
        )
    if len(fields.table) != 2 or fields.table[1] < 0:
        got = format_integer_tuple(fields.table)
        _raise_parse_error(
            fields, f"expected a step and a bound of at least 0, got {got}"
        )


def _raise_parse_error(fields: OperandFields, reason: str) -> NoReturn:
    raise NPUParseError(fields.line, reason)


def index_cost_parameters(
    indexed: MoveIndices, start_address: int, read_shape: Sizes
) -> RowIndices:
    """
    Return the cost parameters of the indices of a move; `start_address` is the address
    of the first index that is read.
    """
    address = indexed.indices
    return RowIndices(
        TransferEnd(start_address, read_shape, address.strides),
        ITEMSIZE[address.dtype],
        address.level,
        indexed.step,
        indexed.scatter,
        indexed.accumulate,
    )


def table_address_of(address: Address, indexed: MoveIndices) -> Address:
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
    indexed: MoveIndices
    shape: Sizes
    box: Sequence[tuple[int, int]]
    """Range of indices that is read, per dimension."""
    read_shape: Sizes

    def execute_move(
        self,
        accesses: AccessChecker,
        source_address: int,
        destination_address: int,
        index_address: int,
    ) -> None:
        """Execute the move, given the addresses of the first elements that are read."""
        if 0 in self.read_shape:
            self._write_elements_and_fill(
                accesses, destination_address, self.op.fill, ()
            )
            return
        index_array = accesses.locate_array(
            self.indexed.indices, index_address, self.read_shape
        )
        accesses.check_and_record_read(index_array, self.op.engine)
        if self.indexed.scatter:
            self._scatter_elements(
                accesses, source_address, destination_address, index_array
            )
        else:
            self._gather_elements(
                accesses, source_address, destination_address, index_array
            )

    def _gather_elements(
        self,
        accesses: AccessChecker,
        table_address: int,
        destination_address: int,
        index_array: StridedArray,
    ) -> None:
        """
        Write the indexed elements of the table, or the fill value if out of bounds.
        """
        values = np.full(self.read_shape, self.op.fill)
        if self.indexed.bound:
            table = self._locate_table(accesses, self.op.source, table_address)
            accesses.check_and_record_read(table, self.op.engine)
            in_bounds, offsets = self._valid_mask_and_table_offsets(index_array, table)
            elements = self._table_elements_in_memory_order(
                table, BITS[self.op.fill.itemsize]
            )
            values[in_bounds] = elements[offsets]
        self._write_elements_and_fill(
            accesses, destination_address, values, (index_array,)
        )

    def _scatter_elements(
        self,
        accesses: AccessChecker,
        source_address: int,
        table_address: int,
        index_array: StridedArray,
    ) -> None:
        """
        Store or accumulate the source in the table, except at indices out of bounds.
        """
        source_array = accesses.locate_array(
            self.op.source, source_address, self.read_shape
        )
        accesses.check_and_record_read(source_array, self.op.engine)
        if not self.indexed.bound:
            return
        table = self._locate_table(accesses, self.op.destination, table_address)
        accesses.check_and_record_read(table, self.op.engine, is_recorded=False)
        accesses.check_and_record_write(
            table, self.op.engine, _arrays_in_same_memory(table, (index_array,))
        )
        in_bounds, offsets = self._valid_mask_and_table_offsets(index_array, table)
        kind = DTYPES[self.op.source.dtype]
        elements, values = (
            self._table_elements_in_memory_order(table, kind),
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
        """
        Return the strided array of all rows of the indexed table at `base`, bounds
        checked.
        """
        table = table_address_of(address, self.indexed)
        return accesses.locate_array(
            table, base, (self.indexed.bound, *self.read_shape)
        )

    def _valid_mask_and_table_offsets(
        self, index_array: StridedArray, table: StridedArray
    ) -> tuple[Array, Array]:
        """
        Return a mask of the elements whose index is within the table, and the offsets
        of these elements in order, relative to the first element of the table.
        """
        indices = index_array.view().astype(np.int64)
        in_bounds = (indices >= 0) & (indices < self.indexed.bound)
        offsets = (
            np.where(in_bounds, indices, 0) * self.indexed.step - table.footprint.low
        )
        rank = len(self.read_shape)
        for axis, stride in enumerate(table.address.strides[1:]):
            steps = np.arange(self.read_shape[axis], dtype=np.int64) * stride
            offsets += steps.reshape(-1, *[1] * (rank - axis - 1))
        size = ITEMSIZE[table.address.dtype]
        return in_bounds, offsets[in_bounds] // size

    @staticmethod
    def _table_elements_in_memory_order(
        table: StridedArray, element_dtype: np.dtype[np.generic]
    ) -> Array:
        """
        Return all elements from the first of the table to the last, in memory order.
        """
        count = (table.end_address - table.first_address) // element_dtype.itemsize
        return table.memory.view(
            table.first_address, (count,), (element_dtype.itemsize,), element_dtype
        )

    def _write_elements_and_fill(
        self,
        accesses: AccessChecker,
        destination: int,
        values: Array,
        sources: Sequence[StridedArray],
    ) -> None:
        """
        Write the gathered elements to the destination and fill its rest; does nothing
        for a scatter.
        """
        op, bits = self.op, BITS[self.op.fill.itemsize]
        if self.indexed.scatter:
            return
        address = op.destination
        array = accesses.locate_array(address, destination, self.shape, written=True)
        accesses.check_and_record_write(
            array, op.engine, _arrays_in_same_memory(array, sources)
        )
        target = array.memory.view(destination, self.shape, address.strides, bits)
        if self.read_shape != self.shape:
            target[...] = op.fill
        if 0 not in self.read_shape:
            target[tuple([slice(low, high) for low, high in self.box])] = values


def _arrays_in_same_memory(
    array: StridedArray, candidates: Sequence[StridedArray]
) -> list[StridedArray]:
    """Return the arrays that are in the same memory."""
    return [each for each in candidates if each.memory is array.memory]
