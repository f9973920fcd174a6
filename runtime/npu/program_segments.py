"""Timeline segments of a program: consecutive top-level parts and their end times."""

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
    Return the parts of a program with work on engines, given the end time of each
    instruction by its index; instructions without an end time had no work.
    """
    segments: list[Segment] = []
    end = 0
    for index, op in enumerate(program.body):
        end = ends.get(index, end)
        if lines := list(_engine_lines([op])):
            origins = {
                program.origins[line] for line in lines if line in program.origins
            }
            segments.append(Segment(op.line, end, frozenset(origins)))
    return segments


def _engine_lines(body: Sequence[Instruction]) -> Iterator[int]:
    """Yield the lines of instructions on engines."""
    for op in body:
        match op:
            case Loop() | Cores():
                yield from _engine_lines(op.body)
            case Dma() | Matmul() | Vector() | Reduce():
                yield op.line
            case _:
                pass
