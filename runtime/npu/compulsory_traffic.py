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
    compute_intervals,
)

Extent = tuple[str, int, int]
"""A level, and the address range that an instruction reads."""


def compulsory_traffic(
    program: Program, totals: Mapping[Key, int]
) -> dict[str, CompulsoryTraffic]:
    """
    Return the compulsory bytes of every level with inputs or outputs: those of the
    inputs and constants that the program reads, and of its outputs, each once, but no
    more than the program moves.
    """
    arrays = [*program.inputs.values(), *program.constants.values()]
    reads = _read_extents(program)
    read = _bytes_by_level([each for each in arrays if _is_read(each, reads)])
    written = _bytes_by_level(list(program.outputs.values()))
    result: dict[str, CompulsoryTraffic] = {}
    for level in program.machine.levels:
        if level in read or level in written:
            moved = _moved_bytes(program, totals, level)
            result[level] = CompulsoryTraffic(
                min(read.get(level, 0), moved.read),
                min(written.get(level, 0), moved.written),
            )
    return result


def _bytes_by_level(buffers: list[Buffer]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for buffer in buffers:
        sizes[buffer.level] = sizes.get(buffer.level, 0) + buffer.nbytes
    return sizes


def _moved_bytes(
    program: Program, totals: Mapping[Key, int], level: str
) -> CompulsoryTraffic:
    read, written = 0, 0
    for name, engine in program.machine.engines.items():
        if isinstance(engine, DmaEngine):
            read += totals.get(("read", name), 0) * (engine.source == level)
            written += totals.get(("wrote", name), 0) * (engine.destination == level)
    return CompulsoryTraffic(read, written)


def _is_read(buffer: Buffer, reads: list[Extent] | None) -> bool:
    end = buffer.address + buffer.nbytes
    return reads is None or any(
        level == buffer.level and low < end and buffer.address < high
        for level, low, high in reads
    )


def _read_extents(program: Program) -> list[Extent] | None:
    """Return the extents that moves read; `None` if they are not known statically."""
    try:
        intervals = compute_intervals(program.body)
    except IrregularError:
        return None
    return [
        _extent_of(address, op, intervals[op.line])
        for op in _flatten_body(program.body)
        if isinstance(op, Dma)
        for address in _read_addresses(op)
    ]


def _read_addresses(op: Dma) -> list[Address]:
    """
    Return the addresses that a move reads for any indices. All rows of a table may be
    the same, so a gathered table is not included.
    """
    if op.indexed is None:
        return [op.source]
    return [op.indexed.indices, *([op.source] if op.indexed.scatter else [])]


def _flatten_body(body: tuple[Instruction, ...]) -> list[Instruction]:
    result: list[Instruction] = []
    for op in body:
        has_body = isinstance(op, Loop | Cores)
        result += _flatten_body(op.body) if has_body else [op]
    return result


def _extent_of(address: Address, op: Dma, known: Intervals) -> Extent:
    low, high = known[address.base]
    for axis, stride in enumerate(address.strides):
        first, end = 0, known[op.shape[axis]][1]
        if op.inside is not None:
            inside = op.inside[axis]
            first = max(first, known[inside[0]][0])
            end = min(end, known[inside[1]][1])
        corners = first * stride, (max(end, first + 1) - 1) * stride
        low, high = low + min(corners), high + max(corners)
    return address.level, low, high + ITEMSIZE[address.dtype]
