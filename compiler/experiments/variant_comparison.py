"""
Experiment: comparison of baselines and ablations with each other and with lower bounds,
by simulation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tlf.analysis.bounds.lower_bounds import LowerBounds
from tlf.compiler.experiments.compile_variants import ABLATIONS, BASELINES
from tlf.compiler.experiments.experiment_program import Program
from tlf.compiler.experiments.measurement import (
    Failure,
    Measurement,
    MeasurementTask,
    measure_tasks,
    program_bounds_of,
)
from tlf.compiler.experiments.pipeline_variants import PipelineChange, change_pipeline
from tlf.compiler.experiments.result_table import (
    CYCLES,
    MEGABYTES,
    RATIO,
    SHARE,
    TEXT,
    Cell,
    Table,
)
from tlf.dialects.target import TargetSpec

FIGURES = {
    "L3 MB": MEGABYTES,
    "of least": RATIO,
    "cycles": CYCLES,
    "of bound": RATIO,
}

Results = Mapping[str, Measurement | Failure]
"""Results by the name of the variant."""


def figure_cells(result: Measurement, bounds: LowerBounds) -> tuple[Cell, ...]:
    """
    Return the cells of the columns `FIGURES`: traffic in MB and cycles, each followed
    by its ratio to the lower bound.
    """
    return (
        result.bytes / 1e6,
        result.bytes / max(1, bounds.payload_bytes),
        result.cycles,
        result.cycles / max(1, bounds.cycles),
    )


def compare_variants(
    programs: Sequence[Program],
    target: TargetSpec,
    variants: Mapping[str, PipelineChange],
    jobs: int,
) -> Iterator[tuple[Program, LowerBounds, Results]]:
    """Yield the lower bounds and the results of all variants, by program."""
    tasks = [
        MeasurementTask(program, target, change_pipeline(target, variant))
        for program in programs
        for variant in variants.values()
    ]
    results = measure_tasks(tasks, jobs)
    for program in programs:
        by_variant = {name: next(results) for name in variants}
        yield program, program_bounds_of(program, target), by_variant


def tabulate_baselines(
    programs: Sequence[Program], target: TargetSpec, jobs: int
) -> Table:
    """
    Return a table of the speedups of fusion over unfused operations, and over groups of
    a contraction with its successors; with the lower bound.
    """
    gains = {"gain on unfused": RATIO, "on naive": RATIO}
    table = Table({"program": TEXT, "way": TEXT, **FIGURES, **gains})
    for program, bounds, results in compare_variants(programs, target, BASELINES, jobs):
        for name, result in results.items():
            if isinstance(result, Failure):
                table.rows.append(_failure_row(program, name, table))
                table.notes.append(f"{program.title}, {name}: {result.reason}")
                continue
            row = figure_cells(result, bounds)
            speedups = _speedup_cells(results, result.cycles)
            table.rows.append((program.title, name, *row, *speedups))
        row = (bounds.payload_bytes / 1e6, 1.0, bounds.cycles, 1.0)
        table.rows.append(
            (program.title, "bound", *row, *_speedup_cells(results, bounds.cycles))
        )
    return table


def _speedup_cells(results: Results, cycles: int) -> tuple[Cell, Cell]:
    """
    Return the cycles of `unfused` and of `naive`, each divided by `cycles`; `None` for
    a variant that failed.
    """
    unfused, naive = (results[name] for name in ("unfused", "naive"))
    return (
        unfused.cycles / max(1, cycles) if isinstance(unfused, Measurement) else None,
        naive.cycles / max(1, cycles) if isinstance(naive, Measurement) else None,
    )


def tabulate_ablations(
    programs: Sequence[Program], target: TargetSpec, jobs: int
) -> Table:
    """
    Return a table of the cost of the compiled program with one optimization disabled at
    a time.
    """
    table = Table({"program": TEXT, "way": TEXT, **FIGURES, "costs": SHARE})
    for program, bounds, results in compare_variants(programs, target, ABLATIONS, jobs):
        baseline = next(iter(results.values()))
        for name, result in results.items():
            if isinstance(result, Failure):
                table.rows.append(_failure_row(program, name, table))
                table.notes.append(f"{program.title}, {name}: {result.reason}")
                continue
            cost = None
            if isinstance(baseline, Measurement) and result is not baseline:
                cost = result.cycles / max(1, baseline.cycles) - 1
            row = figure_cells(result, bounds)
            table.rows.append((program.title, name, *row, cost))
    return table


def _failure_row(program: Program, name: str, table: Table) -> Sequence[Cell]:
    return (program.title, name, *[None] * (len(table.formats) - 2))
