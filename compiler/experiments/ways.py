"""Ways to compile against each other, and against what no schedule can beat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tlf.analysis.bounds.bounds import Bounds
from tlf.compiler.experiments.measure import Failure, Measured, Task, least_of, measured
from tlf.compiler.experiments.pipelines import Change, changed
from tlf.compiler.experiments.program import Program
from tlf.compiler.experiments.table import (
    CYCLES,
    MEGABYTES,
    RATIO,
    SHARE,
    TEXT,
    Cell,
    Table,
)
from tlf.compiler.experiments.variants import ABLATIONS, BASELINES
from tlf.dialects.target import Target

FIGURES = {
    "L3 MB": MEGABYTES,
    "of least": RATIO,
    "cycles": CYCLES,
    "of bound": RATIO,
}

Results = Mapping[str, Measured | Failure]
"""By the name of the way."""


def figures(result: Measured, least: Bounds) -> tuple[Cell, ...]:
    """The cells of `FIGURES`."""
    return (
        result.bytes / 1e6,
        result.bytes / max(1, least.payload_bytes),
        result.cycles,
        result.cycles / max(1, least.cycles),
    )


def compared(
    programs: Sequence[Program], target: Target, ways: Mapping[str, Change], jobs: int
) -> Iterator[tuple[Program, Bounds, Results]]:
    """For each program its bounds, and what it takes each way."""
    tasks = [
        Task(program, target, changed(target, way))
        for program in programs
        for way in ways.values()
    ]
    results = measured(tasks, jobs)
    for program in programs:
        found = {name: next(results) for name in ways}
        yield program, least_of(program, target), found


def baselines(programs: Sequence[Program], target: Target, jobs: int) -> Table:
    """
    Return a table of the gains of fusion over each operation by itself, and over groups
    of a contraction with its successors; with the bound.
    """
    gains = {"gain on unfused": RATIO, "on naive": RATIO}
    table = Table({"program": TEXT, "way": TEXT, **FIGURES, **gains})
    for program, least, results in compared(programs, target, BASELINES, jobs):
        for name, result in results.items():
            if isinstance(result, Failure):
                table.rows.append(_failed(program, name, table))
                table.notes.append(f"{program.title}, {name}: {result.reason}")
                continue
            row = figures(result, least)
            gained = _gains(results, result.cycles)
            table.rows.append((program.title, name, *row, *gained))
        row = (least.payload_bytes / 1e6, 1.0, least.cycles, 1.0)
        table.rows.append(
            (program.title, "bound", *row, *_gains(results, least.cycles))
        )
    return table


def _gains(results: Results, cycles: int) -> tuple[Cell, Cell]:
    """Return the speedups over `unfused` and over `naive`."""
    unfused, naive = (results[name] for name in ("unfused", "naive"))
    return (
        unfused.cycles / max(1, cycles) if isinstance(unfused, Measured) else None,
        naive.cycles / max(1, cycles) if isinstance(naive, Measured) else None,
    )


def ablations(programs: Sequence[Program], target: Target, jobs: int) -> Table:
    """
    Return a table of the cost of the compiled program with one optimisation disabled at
    a time.
    """
    table = Table({"program": TEXT, "way": TEXT, **FIGURES, "costs": SHARE})
    for program, least, results in compared(programs, target, ABLATIONS, jobs):
        whole = next(iter(results.values()))
        for name, result in results.items():
            if isinstance(result, Failure):
                table.rows.append(_failed(program, name, table))
                table.notes.append(f"{program.title}, {name}: {result.reason}")
                continue
            cost = None
            if isinstance(whole, Measured) and result is not whole:
                cost = result.cycles / max(1, whole.cycles) - 1
            row = figures(result, least)
            table.rows.append((program.title, name, *row, cost))
    return table


def _failed(program: Program, name: str, table: Table) -> Sequence[Cell]:
    return (program.title, name, *[None] * (len(table.formats) - 2))
