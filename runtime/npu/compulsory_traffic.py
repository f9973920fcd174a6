"""
Simulator: traffic that is compulsory for the inputs and outputs of a program.
"""

from collections.abc import Mapping

from tlf.machine.instruction_costs import Key
from tlf.machine.machine_spec import DmaEngine
from tlf.machine.roofline_bounds import CompulsoryTraffic
from tlf.runtime.npu.dtypes import ITEMSIZE
from tlf.runtime.npu.npu_program import (
    Address,
    Buffer,
    Cores,
    Dma,
    Instruction,
    Loop,
    Program,
)
from tlf.runtime.npu.register_intervals import (
    Intervals,
    IrregularError,
    compute_operand_intervals,
)

Extent = tuple[str, int, int]
"""A level, and the address range that an instruction reads."""


def compulsory_traffic_by_level(
    program: Program, totals: Mapping[Key, int]
) -> dict[str, CompulsoryTraffic]:
    """
    Return the compulsory bytes of every level with inputs or outputs: those of the
    inputs and constants that the program reads, and of its outputs, each once, but no
    more than the program moves.
    """
    arrays = [*program.inputs.values(), *program.constants.values()]
    reads = _extents_read_by_moves(program)
    read = _buffer_bytes_by_level(
        [each for each in arrays if _is_buffer_read(each, reads)]
    )
    written = _buffer_bytes_by_level(list(program.outputs.values()))
    result: dict[str, CompulsoryTraffic] = {}
    for level in program.machine.levels:
        if level in read or level in written:
            moved = _bytes_moved_by_engines(program, totals, level)
            result[level] = CompulsoryTraffic(
                min(read.get(level, 0), moved.read),
                min(written.get(level, 0), moved.written),
            )
    return result


def _buffer_bytes_by_level(buffers: list[Buffer]) -> dict[str, int]:
    """Return the sum of the sizes of `buffers` by memory level, in bytes."""
    sizes: dict[str, int] = {}
    for buffer in buffers:
        sizes[buffer.level] = sizes.get(buffer.level, 0) + buffer.nbytes
    return sizes


def _bytes_moved_by_engines(
    program: Program, totals: Mapping[Key, int], level: str
) -> CompulsoryTraffic:
    """Return the payload bytes that DMA engines read from and write to `level`."""
    read, written = 0, 0
    for name, engine in program.machine.engines.items():
        if isinstance(engine, DmaEngine):
            read += totals.get(("read", name), 0) * (engine.source == level)
            written += totals.get(("wrote", name), 0) * (engine.destination == level)
    return CompulsoryTraffic(read, written)


def _is_buffer_read(buffer: Buffer, read_extents: list[Extent] | None) -> bool:
    """Return `True` if a read overlaps `buffer`, or if reads are unknown (`None`)."""
    end = buffer.address + buffer.nbytes
    return read_extents is None or any(
        level == buffer.level and low < end and buffer.address < high
        for level, low, high in read_extents
    )


def _extents_read_by_moves(program: Program) -> list[Extent] | None:
    """Return the extents that moves read; `None` if they are not known statically."""
    try:
        intervals = compute_operand_intervals(program.body)
    except IrregularError:
        return None
    return [
        _extent_of_accessed_bytes(address, op, intervals[op.line])
        for op in _flatten_nested_instructions(program.body)
        if isinstance(op, Dma)
        for address in _addresses_read_by_move(op)
    ]


def _addresses_read_by_move(op: Dma) -> list[Address]:
    """
    Return the addresses that a move reads for any indices. All rows of a table may be
    the same, so a gathered table is not included.
    """
    if op.indexed is None:
        return [op.source]
    return [op.indexed.indices, *([op.source] if op.indexed.scatter else [])]


def _flatten_nested_instructions(body: tuple[Instruction, ...]) -> list[Instruction]:
    """
    Return the instructions in `body`, with loops and `cores` replaced by their bodies.
    """
    result: list[Instruction] = []
    for op in body:
        has_body = isinstance(op, Loop | Cores)
        result += _flatten_nested_instructions(op.body) if has_body else [op]
    return result


def _extent_of_accessed_bytes(
    address: Address, op: Dma, operand_intervals: Intervals
) -> Extent:
    """Return an address range that `op` stays in for all operand values."""
    low, high = operand_intervals[address.base]
    for axis, stride in enumerate(address.strides):
        first, end = 0, operand_intervals[op.shape[axis]][1]
        if op.inside is not None:
            inside = op.inside[axis]
            first = max(first, operand_intervals[inside[0]][0])
            end = min(end, operand_intervals[inside[1]][1])
        corners = first * stride, (max(end, first + 1) - 1) * stride
        low, high = low + min(corners), high + max(corners)
    return address.level, low, high + ITEMSIZE[address.dtype]
