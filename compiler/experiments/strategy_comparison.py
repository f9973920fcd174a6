"""Comparison of the search strategies of `graph-partition`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tlf.compiler.experiments.compile_variants import with_strategy
from tlf.compiler.experiments.experiment_program import Program
from tlf.compiler.experiments.measurement import (
    Failure,
    Measurement,
    Task,
    lower_entry,
    main_function,
    measure_all,
)
from tlf.compiler.experiments.pipeline_variants import (
    change_pipeline,
    passes_before_partition,
)
from tlf.compiler.experiments.result_table import (
    CYCLES,
    MEGABYTES,
    SHARE,
    TEXT,
    Cell,
    Table,
)
from tlf.dialects.target import TargetSpec
from tlf.passes.plan.graph_partition import GraphPartitionPass
from tlf.planner.cost.npu.npu_estimator import NpuEstimator
from tlf.planner.cost.npu.outer_plan import OuterPlan
from tlf.planner.partition.block_problem import problems_of
from tlf.planner.partition.group_cost_model import GroupCosts
from tlf.support.partition import NoScheduleError, Problem, Step, search

NAMES = ("dp", "beam", "interval", "greedy", "unfused")
SETTINGS = GraphPartitionPass()
"""Pass whose options give the limits of the searches."""

GAIN = 0.001
"""Relative difference in time below which two schedules count as equally fast."""


NOTHING_FITS = "no schedule: not even the smallest tiles of each operation fit"
"""Note where `dp` finds no schedule."""


@dataclass(frozen=True)
class SearchResult:
    """Schedule that a search found for a program, with its cost by the model."""

    cycles: int
    bytes: int
    groups: int
    states: int
    exact: bool
    by: str
    """The search that found it, where another one gave up."""
    shape: tuple[object, ...]
    """Key that equivalent schedules share."""

    def exactness(self, name: str) -> str:
        """
        Return `yes` if the schedule is proven to be the best, else `no`, or the search
        that found it if that is another one.
        """
        return "yes" if self.exact else "no" if self.by == name else self.by

    def excess_over(self, best: SearchResult) -> float:
        """The share of its cycles that it takes beyond another one."""
        return self.cycles / max(1, best.cycles) - 1


def run_searches(
    module: ModuleOp, target: TargetSpec
) -> Mapping[str, SearchResult | None]:
    """
    Return the result of each search, all by the same costs; `None` where it finds no
    schedule.
    """
    if (passes := passes_before_partition(target)) is None:
        return {}
    lower_entry(module, target, passes)
    problems = list(_partition_problems(module, target))
    return {name: _run_search(problems, name) for name in NAMES}


def _partition_problems(
    module: ModuleOp, target: TargetSpec
) -> Iterator[tuple[Problem, GroupCosts]]:
    """The problems of a program whose operations are in groups, and their costs."""
    level = target.tile_levels[0]
    timed = NpuEstimator.of(target, level)
    if timed is None or timed.is_nearest:
        return
    for block in main_function(module).body.blocks:
        for stated in problems_of(block, level):
            costs = GroupCosts(
                stated.nodes, stated.values, target, level, SETTINGS.max_contractions
            )
            yield stated.problem, costs


def _run_search(
    problems: Sequence[tuple[Problem, GroupCosts]], name: str
) -> SearchResult | None:
    try:
        results = [
            search(problem, costs, name, limits=SETTINGS.search_limits())
            for problem, costs in problems
        ]
    except NoScheduleError:
        return None
    schedules = [result.schedule for result in results]
    told = [result.statistics for result in results]
    return SearchResult(
        sum(each.time for each in schedules),
        sum(each.payload for each in schedules),
        sum(len(each.steps) for each in schedules),
        sum(each.states for each in told),
        all(each.exact for each in told),
        ", ".join(dict.fromkeys(each.strategy for each in told)),
        tuple(map(_step_key, (step for each in schedules for step in each.steps))),
    )


def _step_key(step: Step) -> tuple[object, ...]:
    """Return a key that equivalent steps share."""
    plan = step.option.plan
    if not isinstance(plan, OuterPlan):
        return step.group, step.context
    return step.group, step.context, plan.key


def compare_strategies(
    programs: Sequence[Program],
    chips: Mapping[str, TargetSpec],
    jobs: int,
    simulates: bool,
) -> Table:
    """The searches over programs and chips, by the model and by the simulator."""
    formats = {"program": TEXT, "chip": TEXT, "search": TEXT, "groups": ","}
    formats |= {"states": ",", "exact": TEXT}
    formats |= {"model cycles": CYCLES, "model MB": MEGABYTES, "over dp": SHARE}
    if simulates:
        formats |= {"cycles": CYCLES, "L3 MB": MEGABYTES, "beyond dp": SHARE}
    table = Table(formats)
    for program in programs:
        for label, chip in chips.items():
            found = run_searches(program.read(), chip)
            results: Mapping[str, Measurement | Failure] = {}
            if simulates:
                results = _simulate_schedules(program, chip, found, jobs)
            for name, each in found.items():
                row = _model_cells(found, name, each)
                more = _simulator_cells(results, name) if simulates else ()
                table.rows.append((program.title, label, name, *row, *more))
            table.notes += _summarize_case(
                f"{program.title} on {label}", found, results
            )
    return table


def _simulate_schedules(
    program: Program,
    chip: TargetSpec,
    found: Mapping[str, SearchResult | None],
    jobs: int,
) -> Mapping[str, Measurement | Failure]:
    """Return the measured cost of schedules; equivalent ones are simulated once."""
    shapes = {each.shape: name for name, each in found.items() if each is not None}
    names = list(shapes.values())
    tasks = [
        Task(program, chip, change_pipeline(chip, with_strategy(name)))
        for name in names
    ]
    known = dict(zip(names, measure_all(tasks, jobs), strict=True))
    return {
        name: known[shapes[each.shape]]
        for name, each in found.items()
        if each is not None
    }


def _model_cells(
    found: Mapping[str, SearchResult | None], name: str, each: SearchResult | None
) -> Sequence[Cell]:
    if each is None:
        return (None,) * 6
    figures = (each.groups, each.states, each.exactness(name), each.cycles)
    best = found["dp"]
    over = each.excess_over(best) if best and name != "dp" else None
    return (*figures, each.bytes / 1e6, over)


def _simulator_cells(
    results: Mapping[str, Measurement | Failure], name: str
) -> Sequence[Cell]:
    result, best = results.get(name), results.get("dp")
    if not isinstance(result, Measurement):
        return (None,) * 3
    over = None
    if isinstance(best, Measurement) and name != "dp":
        over = result.cycles / max(1, best.cycles) - 1
    return result.cycles, result.bytes / 1e6, over


def _summarize_case(
    case: str,
    found: Mapping[str, SearchResult | None],
    results: Mapping[str, Measurement | Failure],
) -> Iterator[str]:
    """Say where `dp` gains nothing over simpler searches, and where it loses."""
    if (best := found.get("dp")) is None:
        if found:
            yield f"{case}: {NOTHING_FITS}"
        return
    others = {name: each for name, each in found.items() if name != "dp" and each}
    equal = [
        name for name, each in others.items() if each.cycles <= best.cycles * (1 + GAIN)
    ]
    if equal:
        yield f"{case}: dp gains nothing over {', '.join(equal)} by the model"
    first = results.get("dp")
    if isinstance(first, Failure):
        yield f"{case}, dp: {first.reason}"
        return
    better = [
        name
        for name, result in results.items()
        if isinstance(result, Measurement)
        and first is not None
        and result.cycles * (1 + GAIN) < first.cycles
    ]
    if better:
        yield f"{case}: {', '.join(better)} takes less than dp on the simulator"
