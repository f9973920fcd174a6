"""Slots of an instruction: the values that its cost depends on, apart from itself."""

from collections.abc import Iterator, Sequence
from itertools import islice
from math import prod

from tlf.machine.costs import Cost, Costs, End
from tlf.machine.cycles import TRANSCENDENTAL
from tlf.machine.parts import Machine, MatrixEngine
from tlf.runtime.npu.indexed import priced
from tlf.runtime.npu.program import (
    Address,
    Dma,
    Instruction,
    Matmul,
    Reduce,
    Value,
    Vector,
)
from tlf.runtime.npu.regular import IrregularError
from tlf.runtime.npu.scalars import Column, Columns, greater, least


def column_of(value: Value, columns: Columns) -> Column:
    """Return what a scalar operand is, row by row."""
    if isinstance(value, int):
        return value
    return columns[value.name] + value.offset


def slots_of(op: Instruction, columns: Columns, machine: Machine) -> list[Column]:
    """
    Return the slots of an instruction on an engine, row by row. Raises `IrregularError`
    for a negative size.
    """
    match op:
        case Dma():
            return _move_slots(op, columns, machine)
        case Matmul():
            return _sizes((*op.batch, *op.m, *op.n, *op.k), columns)
        case Vector() | Reduce():
            return _sizes(op.shape, columns)
        case _:
            return []


def _sizes(values: Sequence[Value], columns: Columns) -> list[Column]:
    sizes = [column_of(value, columns) for value in values]
    if any(least(size) < 0 for size in sizes):
        raise IrregularError("a size below 0")
    return sizes


def _move_slots(op: Dma, columns: Columns, machine: Machine) -> list[Column]:
    """
    Return the shape, that of what is read, and phases: of the destination, the source,
    and the indices.
    """
    shape = _sizes(op.shape, columns)
    lowers, read = _inside(op, shape, columns)
    ends: list[tuple[Address, Column]] = [(op.destination, 0)]
    for address in (op.source, *([] if op.indexed is None else [op.indexed.indices])):
        ends.append((address, _start(address, lowers)))
    phases: list[Column] = []
    for address, offset in ends:
        burst = machine.levels[address.level].burst
        if burst == 1:
            phases.append(0)
        else:
            phases.append((column_of(address.base, columns) + offset) % burst)
    return [*shape, *read, *phases]


def _start(address: Address, lowers: Sequence[Column]) -> Column:
    """Return the bytes from the base to the first element that is read."""
    start: Column = 0
    for lower, stride in zip(lowers, address.strides, strict=True):
        start = start + lower * stride
    return start


def _inside(
    op: Dma, shape: Sequence[Column], columns: Columns
) -> tuple[list[Column], list[Column]]:
    """Return where reading starts, and how much is read, per dimension."""
    if op.inside is None:
        return [0] * len(shape), list(shape)
    lowers: list[Column] = []
    read: list[Column] = []
    empty: Column = 0
    for (first, end), extent in zip(op.inside, shape, strict=True):
        lower = greater(column_of(first, columns), 0)
        upper = -greater(-column_of(end, columns), -extent)
        lowers.append(lower)
        read.append(upper - lower)
        empty = empty | (upper <= lower)
    # A box that is empty in one dimension is empty in all, and starts at its base.
    some = 1 - empty
    return [each * some for each in lowers], [each * some for each in read]


def cost_of(op: Instruction, slots: Iterator[int], costs: Costs) -> Cost | None:
    """
    Return the cost of an instruction with its slots, which are taken; None if the
    engines are left alone.
    """
    match op:
        case Dma():
            return _move_cost(op, slots, costs)
        case Matmul():
            groups = (op.batch, op.m, op.n, op.k)
            extents = [prod(islice(slots, len(group))) for group in groups]
            return None if 0 in extents[:3] else _product(op, extents, costs)
        case Vector():
            shape = tuple(islice(slots, len(op.shape)))
            slow = op.operation in TRANSCENDENTAL
            return None if 0 in shape else costs.elementwise(prod(shape), slow)
        case Reduce():
            shape = tuple(islice(slots, len(op.shape)))
            if 0 in shape and (op.accumulate is True or not _only(shape, op.axes)):
                return None
            return costs.elementwise(prod(shape))
        case _:
            return None


def _move_cost(op: Dma, slots: Iterator[int], costs: Costs) -> Cost | None:
    rank = len(op.shape)
    shape, read = (tuple(islice(slots, rank)) for _ in range(2))
    destination, source = islice(slots, 2)
    indices = None
    if op.indexed is not None:
        indices = priced(op.indexed, next(slots), read)
    if 0 in shape:
        return None
    return costs.move(
        op.engine,
        End(source, read, op.source.strides),
        End(destination, shape, op.destination.strides),
        op.fill.itemsize,
        indices,
    )


def _product(op: Matmul, extents: Sequence[int], costs: Costs) -> Cost:
    batch, m, n, k = extents
    unit = costs.machine.engines["matrix"]
    assert isinstance(unit, MatrixEngine)
    kind = op.a.dtype
    if op.precision == "tf32" and "tf32" in unit.cycles:
        kind = "tf32"
    return costs.product(batch, m, n, k, kind)


def _only(shape: Sequence[int], axes: Sequence[int]) -> bool:
    """Return `True` if every axis of extent 0 is one of `axes`."""
    return all(size or axis in axes for axis, size in enumerate(shape))
