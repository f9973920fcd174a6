"""Simulator: runtime values that the cost of an instruction depends on."""

from collections.abc import Iterator, Sequence
from itertools import islice
from math import prod

from tlf.machine.engine_cycles import TRANSCENDENTAL
from tlf.machine.instruction_costs import Cost, InstructionCosts, TransferEnd
from tlf.machine.machine_spec import Machine, MatrixEngine
from tlf.runtime.npu.gather_scatter import index_cost_parameters
from tlf.runtime.npu.npu_program import (
    Address,
    Dma,
    Instruction,
    Matmul,
    Reduce,
    Value,
    Vector,
)
from tlf.runtime.npu.register_intervals import IrregularError
from tlf.runtime.npu.scalar_arithmetic import (
    Column,
    Columns,
    elementwise_column_maximum,
    minimum_of_column,
)


def column_of_operand(value: Value, columns: Columns) -> Column:
    """Return the values of a scalar operand, row by row."""
    if isinstance(value, int):
        return value
    return columns[value.name] + value.offset


def cost_parameters_of_instruction(
    op: Instruction, columns: Columns, machine: Machine
) -> list[Column]:
    """
    Return the cost parameters of an engine instruction, row by row. Raises
    `IrregularError` for a negative size.
    """
    match op:
        case Dma():
            return _cost_parameters_of_move(op, columns, machine)
        case Matmul():
            return _columns_of_nonnegative_sizes(
                (*op.batch, *op.m, *op.n, *op.k), columns
            )
        case Vector() | Reduce():
            return _columns_of_nonnegative_sizes(op.shape, columns)
        case _:
            return []


def _columns_of_nonnegative_sizes(
    values: Sequence[Value], columns: Columns
) -> list[Column]:
    """Return the columns of sizes. Raises `IrregularError` if any size is negative."""
    sizes = [column_of_operand(value, columns) for value in values]
    if any(minimum_of_column(size) < 0 for size in sizes):
        raise IrregularError("a size below 0")
    return sizes


def _cost_parameters_of_move(
    op: Dma, columns: Columns, machine: Machine
) -> list[Column]:
    """
    Return the shape, the shape of the part that is read, and the phases of the
    destination, the source and the indices.
    """
    shape = _columns_of_nonnegative_sizes(op.shape, columns)
    lowers, read = _box_of_read_elements(op, shape, columns)
    ends: list[tuple[Address, Column]] = [(op.destination, 0)]
    for address in (op.source, *([] if op.indexed is None else [op.indexed.indices])):
        ends.append((address, _offset_of_first_read_element(address, lowers)))
    phases: list[Column] = []
    for address, offset in ends:
        burst = machine.levels[address.level].burst
        if burst == 1:
            phases.append(0)
        else:
            phases.append((column_of_operand(address.base, columns) + offset) % burst)
    return [*shape, *read, *phases]


def _offset_of_first_read_element(
    address: Address, lower_indices: Sequence[Column]
) -> Column:
    """Return the bytes from the base to the first element that is read."""
    start: Column = 0
    for lower, stride in zip(lower_indices, address.strides, strict=True):
        start = start + lower * stride
    return start


def _box_of_read_elements(
    op: Dma, shape: Sequence[Column], columns: Columns
) -> tuple[list[Column], list[Column]]:
    """Return the first index and the number of indices that are read, per dimension."""
    if op.inside is None:
        return [0] * len(shape), list(shape)
    lowers: list[Column] = []
    read: list[Column] = []
    empty: Column = 0
    for (first, end), extent in zip(op.inside, shape, strict=True):
        lower = elementwise_column_maximum(column_of_operand(first, columns), 0)
        upper = -elementwise_column_maximum(-column_of_operand(end, columns), -extent)
        lowers.append(lower)
        read.append(upper - lower)
        empty = empty | (upper <= lower)
    # A box that is empty in one dimension is empty in all, and starts at its base.
    is_nonempty = 1 - empty
    return [each * is_nonempty for each in lowers], [
        each * is_nonempty for each in read
    ]


def cost_of_instruction(
    op: Instruction, parameters: Iterator[int], costs: InstructionCosts
) -> Cost | None:
    """
    Return the cost of an instruction, consuming its slots; `None` if it uses no engine.
    """
    match op:
        case Dma():
            return _cost_of_move(op, parameters, costs)
        case Matmul():
            groups = (op.batch, op.m, op.n, op.k)
            extents = [prod(islice(parameters, len(group))) for group in groups]
            return None if 0 in extents[:3] else _cost_of_matmul(op, extents, costs)
        case Vector():
            shape = tuple(islice(parameters, len(op.shape)))
            slow = op.operation in TRANSCENDENTAL
            return None if 0 in shape else costs.cost_of_elementwise(prod(shape), slow)
        case Reduce():
            shape = tuple(islice(parameters, len(op.shape)))
            if 0 in shape and (
                op.accumulate is True or not _is_empty_only_along(shape, op.axes)
            ):
                return None
            return costs.cost_of_elementwise(prod(shape))
        case _:
            return None


def _cost_of_move(
    op: Dma, parameters: Iterator[int], costs: InstructionCosts
) -> Cost | None:
    """
    Return the cost of a move by its next `parameters`; `None` if its shape is empty.
    """
    rank = len(op.shape)
    shape, read = (tuple(islice(parameters, rank)) for _ in range(2))
    destination, source = islice(parameters, 2)
    indices = None
    if op.indexed is not None:
        indices = index_cost_parameters(op.indexed, next(parameters), read)
    if 0 in shape:
        return None
    return costs.cost_of_move(
        op.engine,
        TransferEnd(source, read, op.source.strides),
        TransferEnd(destination, shape, op.destination.strides),
        op.fill.itemsize,
        indices,
    )


def _cost_of_matmul(
    op: Matmul, extents: Sequence[int], costs: InstructionCosts
) -> Cost:
    """
    Return the cost of a product, at the tf32 rate if `op` and the engine allow it.
    """
    batch, m, n, k = extents
    unit = costs.machine.engines["matrix"]
    assert isinstance(unit, MatrixEngine)
    kind = op.a.dtype
    if op.precision == "tf32" and "tf32" in unit.cycles:
        kind = "tf32"
    return costs.cost_of_matmul(batch, m, n, k, kind)


def _is_empty_only_along(shape: Sequence[int], axes: Sequence[int]) -> bool:
    """Return `True` if every axis of extent 0 is one of `axes`."""
    return all(size or axis in axes for axis, size in enumerate(shape))
