"""Ways to compile against each other, and against what no schedule can beat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tlf.dialects.target import Target
from tlf.passes.analysis.bounds import Bounds
from tlf.tools.bench.measure import Failure, Measured, Task, least_of, measured
from tlf.tools.bench.pipelines import Change, changed
from tlf.tools.bench.table import CYCLES, MEGABYTES, RATIO, SHARE, TEXT, Cell, Table
from tlf.tools.bench.variants import ABLATIONS, BASELINES

FIGURES = {
    "L3 MB": MEGABYTES,
    "of least": RATIO,
    "cycles": CYCLES,
    "of bound": RATIO,
}

Results = Mapping[str, Measured | Failure]
"""By the name of the way."""


def title(file: str) -> str:
    """What a program is called in tables."""
    return Path(file).stem


def figures(result: Measured, least: Bounds) -> tuple[Cell, ...]:
    """The cells of `FIGURES`."""
    return (
        result.bytes / 1e6,
        result.bytes / max(1, least.payload_bytes),
        result.cycles,
        result.cycles / max(1, least.cycles),
    )


def compared(
    files: Sequence[str], target: Target, ways: Mapping[str, Change], jobs: int
) -> Iterator[tuple[str, Bounds, Results]]:
    """For each program its bounds, and what it takes each way."""
    tasks = [
        Task(file, target, changed(target, way))
        for file in files
        for way in ways.values()
    ]
    results = measured(tasks, jobs)
    for file in files:
        found = {name: next(results) for name in ways}
        yield file, least_of(file, target), found


def baselines(files: Sequence[str], target: Target, jobs: int) -> Table:
    """
    What fusion gains over each operation by itself, and over groups of a contraction
    with what follows it; and what is possible.
    """
    gains = {"gain on unfused": RATIO, "on naive": RATIO}
    table = Table({"program": TEXT, "way": TEXT, **FIGURES, **gains})
    for file, least, results in compared(files, target, BASELINES, jobs):
        for name, result in results.items():
            if isinstance(result, Failure):
                table.rows.append(_failed(file, name, table))
                table.notes.append(f"{title(file)}, {name}: {result.reason}")
                continue
            row = figures(result, least)
            gained = _gains(results, result.cycles)
            table.rows.append((title(file), name, *row, *gained))
        row = (least.payload_bytes / 1e6, 1.0, least.cycles, 1.0)
        table.rows.append((title(file), "bound", *row, *_gains(results, least.cycles)))
    return table


def _gains(results: Results, cycles: int) -> tuple[Cell, Cell]:
    """How many times faster than unfused, and than naive."""
    unfused, naive = (results[name] for name in ("unfused", "naive"))
    return (
        unfused.cycles / max(1, cycles) if isinstance(unfused, Measured) else None,
        naive.cycles / max(1, cycles) if isinstance(naive, Measured) else None,
    )


def ablations(files: Sequence[str], target: Target, jobs: int) -> Table:
    """What the compiler takes without one of its means each."""
    table = Table({"program": TEXT, "way": TEXT, **FIGURES, "costs": SHARE})
    for file, least, results in compared(files, target, ABLATIONS, jobs):
        whole = next(iter(results.values()))
        for name, result in results.items():
            if isinstance(result, Failure):
                table.rows.append(_failed(file, name, table))
                table.notes.append(f"{title(file)}, {name}: {result.reason}")
                continue
            cost = None
            if isinstance(whole, Measured) and result is not whole:
                cost = result.cycles / max(1, whole.cycles) - 1
            row = figures(result, least)
            table.rows.append((title(file), name, *row, cost))
    return table


def _failed(file: str, name: str, table: Table) -> Sequence[Cell]:
    return (title(file), name, *[None] * (len(table.formats) - 2))
