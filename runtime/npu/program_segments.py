"""Segments of a program over time: consecutive top-level parts and their ends."""

from collections.abc import Iterator, Mapping, Sequence

from tlf.runtime.npu.npu_program import (
    Cores,
    Dma,
    Instruction,
    Loop,
    Matmul,
    Program,
    Reduce,
    Vector,
)
from tlf.runtime.npu.run_metrics import Segment


def segments_of(program: Program, ends: Mapping[int, int]) -> list[Segment]:
    """
    Return the parts of a program that work, given when each instruction is over, by its
    number; one that is not among them did nothing.
    """
    found: list[Segment] = []
    end = 0
    for number, op in enumerate(program.body):
        end = ends.get(number, end)
        if lines := list(_engine_lines([op])):
            places = {
                program.origins[line] for line in lines if line in program.origins
            }
            found.append(Segment(op.line, end, frozenset(places)))
    return found


def _engine_lines(body: Sequence[Instruction]) -> Iterator[int]:
    """The lines of instructions on engines."""
    for op in body:
        match op:
            case Loop() | Cores():
                yield from _engine_lines(op.body)
            case Dma() | Matmul() | Vector() | Reduce():
                yield op.line
            case _:
                pass
