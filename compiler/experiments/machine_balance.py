"""
Experiment: gaps between simulated programs and their lower bounds on chips of varied
machine balance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from tlf.analysis.bounds.lower_bounds import LowerBounds
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
from tlf.compiler.experiments.result_table import CYCLES, RATIO, TEXT, Table
from tlf.dialects.target import TargetSpec, target_from_data

NEGLIGIBLE_GAP = 1.15
"""Largest ratio of time or traffic to its bound that needs no explanation."""

BUSY_SHARE = 0.85
"""Smallest utilization at which a component is the bottleneck."""

MIN_STALL_SHARE = 0.05
"""
Smallest share of the time that an engine is stalled for its stalls to be the
bottleneck.
"""

PEAK_SLACK = 1.02
"""Largest ratio of busy cycles to the cycles at peak that counts as working at peak."""


def make_balance_variants(target: TargetSpec) -> Mapping[str, TargetSpec]:
    """
    Return a chip as it is, with four times and a quarter of the bandwidth of its
    outermost memory, and with half its array.
    """
    return {
        "as it is": target,
        "memory x4": _with_bandwidth(target, 4, 1),
        "memory /4": _with_bandwidth(target, 1, 4),
        "half the array": _with_half_the_array(target),
    }


def tabulate_gaps(
    programs: Sequence[Program], chips: Mapping[str, TargetSpec], jobs: int
) -> Table:
    """
    Return a table of the gaps between programs and their lower bounds over all
    schedules, with the reasons.
    """
    formats = {"program": TEXT, "chip": TEXT, "cycles": CYCLES, "bound": CYCLES}
    formats |= {"of bound": RATIO, "in passes": CYCLES, "of passes": RATIO}
    formats |= {"bytes": RATIO, "on bus": RATIO, "binds": TEXT}
    table = Table(formats)
    cases = [(each, name, chip) for each in programs for name, chip in chips.items()]
    tasks = [
        MeasurementTask(each, chip, change_pipeline(chip, WHOLE))
        for each, _, chip in cases
    ]
    for (program, name, chip), result in zip(
        cases, measure_tasks(tasks, jobs), strict=True
    ):
        bounds = program_bounds_of(program, chip)
        if isinstance(result, Failure):
            table.rows.append((program.title, name, *[None] * 7, result.reason))
            continue
        gap = result.cycles / max(1, bounds.cycles)
        quantised = bounds.cycles_quantised
        table.rows.append(
            (
                program.title,
                name,
                result.cycles,
                bounds.cycles,
                gap,
                quantised,
                result.cycles / max(1, quantised),
                result.bytes / max(1, bounds.payload_bytes),
                result.bus_bytes / max(1, bounds.bus_bytes),
                explain_gap(result, bounds, chip.outermost_level.name),
            )
        )
    return table


def explain_gap(result: Measurement, bounds: LowerBounds, memory_level: str) -> str:
    """
    Return the bottleneck of a program whose time, or traffic with the outermost memory,
    exceeds its bound, and the utilization of that memory if traffic is the excess; an
    empty text if the excess is negligible.
    """
    moves_more = result.bytes > NEGLIGIBLE_GAP * bounds.payload_bytes
    if result.cycles <= NEGLIGIBLE_GAP * bounds.cycles and not moves_more:
        return ""
    text = describe_bottleneck(result, bounds)
    if not moves_more or result.busiest_component == memory_level:
        return text
    return f"{text}; {_describe_utilization(memory_level, result)} busy"


def describe_bottleneck(result: Measurement, bounds: LowerBounds) -> str:
    """
    Return the bottleneck of a program: the component that is always busy, and why it is
    busy for longer than necessary; or the causes of the stalls of the busiest
    component.
    """
    part = result.busiest_component
    text = f"{_describe_utilization(part, result)} busy"
    if result.busy_cycles[part] >= BUSY_SHARE * result.cycles:
        return f"{text}, {_explain_excess_load(part, result, bounds)}"
    waiting = _find_stalled_engine(result)
    if waiting is None:
        return text
    if part != waiting:
        text = f"{text}, {_describe_utilization(waiting, result)}"
    causes = result.stall_cycles[waiting]
    cause = max(causes, key=lambda each: causes[each])
    return f"{text}, waits {causes[cause] / max(1, result.cycles):.0%} for {cause}"


def _find_stalled_engine(result: Measurement) -> str | None:
    """
    Return the stalled engine: the busiest one, or the one with the most stalls if the
    busiest hardly stalls, as in short programs dominated by latency. Memories have no
    stalls of their own.
    """
    waited = {
        part: sum(causes.values()) for part, causes in result.stall_cycles.items()
    }
    waited = {part: cycles for part, cycles in waited.items() if cycles}
    busiest = max(waited, key=lambda part: result.busy_cycles[part], default=None)
    if busiest is None or waited[busiest] >= MIN_STALL_SHARE * result.cycles:
        return busiest
    return max(waited, key=lambda part: waited[part])


def _describe_utilization(component: str, result: Measurement) -> str:
    """Return a component with its utilization."""
    return f"{component} {result.busy_cycles[component] / max(1, result.cycles):.0%}"


def _explain_excess_load(
    component: str, result: Measurement, bounds: LowerBounds
) -> str:
    """Return the reason why a component is busy for longer than the bound."""
    if component not in result.stall_cycles:
        moved = result.bus_bytes / max(1, bounds.bus_bytes)
        return f"{moved:.2f}x of the least traffic"
    peak = result.peak_rate_cycles.get(component, 0)
    over = result.busy_cycles[component] / max(1, peak)
    if over > PEAK_SLACK or component != bounds.binding:
        return f"{over:.2f}x of its work at peak"
    return f"{peak / max(1, bounds.cycles):.2f}x of the least work"


def _with_bandwidth(target: TargetSpec, numerator: int, denominator: int) -> TargetSpec:
    """
    Return the chip with the bandwidth of the outermost memory scaled by `times /
    parts`.
    """
    data: Any = target.data
    *inner, outermost = data["levels"]
    bandwidth = max(1, cast(int, outermost["bandwidth"]) * numerator // denominator)
    return target_from_data(
        {**data, "levels": [*inner, {**outermost, "bandwidth": bandwidth}]}
    )


def _with_half_the_array(target: TargetSpec) -> TargetSpec:
    """Return the chip with half the `rows` of its matrix engine, but at least one."""
    data: Any = target.data
    matrix = data["engines"]["matrix"]
    half = {**matrix, "rows": max(1, cast(int, matrix["rows"]) // 2)}
    return target_from_data({**data, "engines": {**data["engines"], "matrix": half}})
