"""Traffic of the outermost memory over the capacity of the one that is tiled for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from tlf.compiler.experiments.measure import Failure, Measured, Task, least_of, measured
from tlf.compiler.experiments.pipelines import changed
from tlf.compiler.experiments.program import Program
from tlf.compiler.experiments.table import CYCLES, MEGABYTES, RATIO, TEXT, Table
from tlf.compiler.experiments.variants import WHOLE
from tlf.dialects.target import Target

FALL = 0.05
"""A fall of traffic by so much of the least that there can be counts as one."""


@dataclass(frozen=True)
class Point:
    """A program at one capacity; sizes in bytes."""

    capacity: int
    least: int
    """Bytes that no schedule goes below."""
    bound: int
    """Cycles that no schedule goes below."""
    result: Measured | Failure


@dataclass(frozen=True)
class Curve:
    """A program over capacities, the smallest first."""

    name: str
    points: tuple[Point, ...]

    @property
    def known(self) -> list[tuple[Point, Measured]]:
        """The points at which the program compiles."""
        return [
            (point, point.result)
            for point in self.points
            if isinstance(point.result, Measured)
        ]

    @property
    def knees(self) -> frozenset[int]:
        """
        Capacities where a fall of the traffic ends: it falls up to here, and the next
        capacity saves next to nothing.
        """
        known = self.known
        falls = [
            before.bytes - after.bytes > FALL * point.least
            for (_, before), (point, after) in pairwise(known)
        ]
        ends = zip(falls, [*falls, False][1:], strict=True)
        return frozenset(
            known[at + 1][0].capacity
            for at, (falls_here, falls_on) in enumerate(ends)
            if falls_here and not falls_on
        )


def capacities(target: Target, level: str, sizes: Sequence[int]) -> list[Target]:
    """The chip with each of some capacities of a level, in bytes."""
    return [target.resized({level: size}) for size in sizes]


def swept(
    programs: Sequence[Program],
    target: Target,
    level: str,
    sizes: Sequence[int],
    jobs: int,
) -> list[Curve]:
    """The traffic of programs over capacities of a level, in bytes."""
    sizes = sorted(set(sizes))
    chips = capacities(target, level, sizes)
    tasks = [
        Task(each, chip, changed(chip, WHOLE)) for each in programs for chip in chips
    ]
    results = measured(tasks, jobs)
    curves: list[Curve] = []
    for program in programs:
        points: list[Point] = []
        for size, chip in zip(sizes, chips, strict=True):
            least = least_of(program, chip)
            points.append(Point(size, least.payload_bytes, least.cycles, next(results)))
        curves.append(Curve(program.title, tuple(points)))
    return curves


def listed(curves: Sequence[Curve], level: str) -> Table:
    """The curves as a table."""
    formats = {"program": TEXT, f"{level} KiB": ",", "L3 MB": MEGABYTES}
    formats |= {"least MB": MEGABYTES, "of least": RATIO, "cycles": CYCLES}
    table = Table({**formats, "of bound": RATIO, "": TEXT})
    for curve in curves:
        for point in curve.points:
            size, least = point.capacity / 1024, point.least / 1e6
            if isinstance(point.result, Failure):
                row = (curve.name, size, None, least, None, None, None, "does not fit")
                table.rows.append(row)
                table.notes.append(f"{curve.name}: {point.result.reason}")
                continue
            moved, cycles = point.result.bytes, point.result.cycles
            row = (curve.name, size, moved / 1e6, least, moved / max(1, point.least))
            knee = "knee" if point.capacity in curve.knees else ""
            over = cycles / max(1, point.bound)
            table.rows.append((*row, cycles, over, knee))
    return table
