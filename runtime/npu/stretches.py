"""Progress of a program over time: its consecutive parts, and their ends."""

from collections.abc import Iterator, Mapping, Sequence

from tlf.runtime.npu.figures import Stretch
from tlf.runtime.npu.program import (
    Cores,
    Dma,
    Instruction,
    Loop,
    Matmul,
    Program,
    Reduce,
    Vector,
)


def stretches(program: Program, ends: Mapping[int, int]) -> list[Stretch]:
    """
    Return the parts of a program that work, given when each instruction is over, by its
    number; one that is not among them did nothing.
    """
    found: list[Stretch] = []
    end = 0
    for number, op in enumerate(program.body):
        end = ends.get(number, end)
        if lines := list(_working([op])):
            places = {
                program.origins[line] for line in lines if line in program.origins
            }
            found.append(Stretch(op.line, end, frozenset(places)))
    return found


def _working(body: Sequence[Instruction]) -> Iterator[int]:
    """The lines of instructions on engines."""
    for op in body:
        match op:
            case Loop() | Cores():
                yield from _working(op.body)
            case Dma() | Matmul() | Vector() | Reduce():
                yield op.line
            case _:
                pass
