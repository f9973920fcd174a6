"""Sweep of the outermost traffic over the capacity of a level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from tlf.compiler.experiments.compile_variants import WHOLE
from tlf.compiler.experiments.experiment_program import Program
from tlf.compiler.experiments.measurement import (
    Failure,
    Measurement,
    Task,
    measure_all,
    program_bounds_of,
)
from tlf.compiler.experiments.pipeline_variants import change_pipeline
from tlf.compiler.experiments.result_table import CYCLES, MEGABYTES, RATIO, TEXT, Table
from tlf.dialects.target import TargetSpec

MIN_FALL = 0.05
"""A fall of traffic by so much of the least that there can be counts as one."""


@dataclass(frozen=True)
class Point:
    """A program at one capacity; sizes in bytes."""

    capacity: int
    least: int
    """Bytes that no schedule goes below."""
    bound: int
    """Cycles that no schedule goes below."""
    result: Measurement | Failure


@dataclass(frozen=True)
class Curve:
    """A program over capacities, the smallest first."""

    name: str
    points: tuple[Point, ...]

    @property
    def measured_points(self) -> list[tuple[Point, Measurement]]:
        """The points at which the program compiles."""
        return [
            (point, point.result)
            for point in self.points
            if isinstance(point.result, Measurement)
        ]

    @property
    def knees(self) -> frozenset[int]:
        """
        Capacities where a fall of the traffic ends: it falls up to here, and the next
        capacity saves next to nothing.
        """
        known = self.measured_points
        falls = [
            before.bytes - after.bytes > MIN_FALL * point.least
            for (_, before), (point, after) in pairwise(known)
        ]
        ends = zip(falls, [*falls, False][1:], strict=True)
        return frozenset(
            known[at + 1][0].capacity
            for at, (falls_here, falls_on) in enumerate(ends)
            if falls_here and not falls_on
        )


def targets_by_capacity(
    target: TargetSpec, level: str, sizes: Sequence[int]
) -> list[TargetSpec]:
    """The chip with each of some capacities of a level, in bytes."""
    return [target.with_capacities({level: size}) for size in sizes]


def sweep_capacities(
    programs: Sequence[Program],
    target: TargetSpec,
    level: str,
    sizes: Sequence[int],
    jobs: int,
) -> list[Curve]:
    """The traffic of programs over capacities of a level, in bytes."""
    sizes = sorted(set(sizes))
    chips = targets_by_capacity(target, level, sizes)
    tasks = [
        Task(each, chip, change_pipeline(chip, WHOLE))
        for each in programs
        for chip in chips
    ]
    results = measure_all(tasks, jobs)
    curves: list[Curve] = []
    for program in programs:
        points: list[Point] = []
        for size, chip in zip(sizes, chips, strict=True):
            least = program_bounds_of(program, chip)
            points.append(Point(size, least.payload_bytes, least.cycles, next(results)))
        curves.append(Curve(program.title, tuple(points)))
    return curves


def tabulate_curves(curves: Sequence[Curve], level: str) -> Table:
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
