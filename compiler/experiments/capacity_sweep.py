"""
Experiment: simulated traffic with the outermost memory over the capacity of a level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from tlf.compiler.experiments.compile_variants import WHOLE
from tlf.compiler.experiments.experiment_program import Program
from tlf.compiler.experiments.measurement import (
    Failure,
    Measurement,
    MeasurementTask,
    measure_tasks,
    program_bounds_of,
)
from tlf.compiler.experiments.pipeline_variants import change_pipeline
from tlf.compiler.experiments.result_table import CYCLES, MEGABYTES, RATIO, TEXT, Table
from tlf.dialects.target import TargetSpec

MIN_FALL = 0.05
"""Smallest drop of traffic that counts, as a fraction of the lower bound."""


@dataclass(frozen=True)
class SweepPoint:
    """
    Simulated result of a program at one capacity of a level, in bytes, with lower
    bounds.
    """

    capacity: int
    traffic_bound: int
    """Lower bound of the traffic, in bytes."""
    cycle_bound: int
    """Lower bound of the cycles."""
    result: Measurement | Failure


@dataclass(frozen=True)
class TrafficCurve:
    """Results of a program over capacities, smallest capacity first."""

    name: str
    points: tuple[SweepPoint, ...]

    @property
    def measured_points(self) -> list[tuple[SweepPoint, Measurement]]:
        """Points at which the program compiles, each with its measurement, in order."""
        return [
            (point, point.result)
            for point in self.points
            if isinstance(point.result, Measurement)
        ]

    @property
    def traffic_knees(self) -> frozenset[int]:
        """
        Capacities at which a drop of the traffic ends: the next capacity saves next to
        nothing.
        """
        measured = self.measured_points
        falls = [
            before.bytes - after.bytes > MIN_FALL * point.traffic_bound
            for (_, before), (point, after) in pairwise(measured)
        ]
        ends = zip(falls, [*falls, False][1:], strict=True)
        return frozenset(
            measured[index + 1][0].capacity
            for index, (falls_here, falls_on) in enumerate(ends)
            if falls_here and not falls_on
        )


def targets_by_capacity(
    target: TargetSpec, level: str, sizes: Sequence[int]
) -> list[TargetSpec]:
    """Return the chip with each of several capacities of a level, in bytes."""
    return [target.with_capacities({level: size}) for size in sizes]


def sweep_capacities(
    programs: Sequence[Program],
    target: TargetSpec,
    level: str,
    sizes: Sequence[int],
    jobs: int,
) -> list[TrafficCurve]:
    """Return the traffic of programs over capacities of a level, in bytes."""
    sizes = sorted(set(sizes))
    chips = targets_by_capacity(target, level, sizes)
    tasks = [
        MeasurementTask(each, chip, change_pipeline(chip, WHOLE))
        for each in programs
        for chip in chips
    ]
    results = measure_tasks(tasks, jobs)
    curves: list[TrafficCurve] = []
    for program in programs:
        points: list[SweepPoint] = []
        for size, chip in zip(sizes, chips, strict=True):
            bounds = program_bounds_of(program, chip)
            points.append(
                SweepPoint(size, bounds.payload_bytes, bounds.cycles, next(results))
            )
        curves.append(TrafficCurve(program.title, tuple(points)))
    return curves


def tabulate_curves(curves: Sequence[TrafficCurve], level: str) -> Table:
    """
    Return a new table with a row for each program and capacity of the memory `level`.
    """
    formats = {"program": TEXT, f"{level} KiB": ",", "L3 MB": MEGABYTES}
    formats |= {"least MB": MEGABYTES, "of least": RATIO, "cycles": CYCLES}
    table = Table({**formats, "of bound": RATIO, "": TEXT})
    for curve in curves:
        for point in curve.points:
            size, bound_megabytes = point.capacity / 1024, point.traffic_bound / 1e6
            if isinstance(point.result, Failure):
                row = (
                    curve.name,
                    size,
                    None,
                    bound_megabytes,
                    None,
                    None,
                    None,
                    "does not fit",
                )
                table.rows.append(row)
                table.notes.append(f"{curve.name}: {point.result.reason}")
                continue
            moved, cycles = point.result.bytes, point.result.cycles
            row = (
                curve.name,
                size,
                moved / 1e6,
                bound_megabytes,
                moved / max(1, point.traffic_bound),
            )
            knee = "knee" if point.capacity in curve.traffic_knees else ""
            bound_ratio = cycles / max(1, point.cycle_bound)
            table.rows.append((*row, cycles, bound_ratio, knee))
    return table
