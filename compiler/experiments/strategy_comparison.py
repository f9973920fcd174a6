"""
Experiment: comparison of the search strategies of the pass `graph-partition`, by the
cost model and by simulation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tlf.compiler.experiments.compile_variants import change_with_strategy
from tlf.compiler.experiments.experiment_program import Program
from tlf.compiler.experiments.measurement import (
    Failure,
    Measurement,
    MeasurementTask,
    main_function_of,
    measure_tasks,
    run_passes_on_entry,
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
from tlf.planner.partition.block_problem import partition_problems_of
from tlf.planner.partition.group_cost_model import GroupCosts
from tlf.support.partition import (
    NoScheduleError,
    PartitionProblem,
    Step,
    search_schedule,
)

NAMES = ("dp", "beam", "interval", "greedy", "unfused")
SETTINGS = GraphPartitionPass()
"""Pass whose options are the limits of the searches."""

GAIN = 0.001
"""Relative difference in time below which two schedules count as equally fast."""


NOTHING_FITS = "no schedule: not even the smallest tiles of each operation fit"
"""Note for programs without a feasible schedule."""


@dataclass(frozen=True)
class SearchResult:
    """Schedule that a search found for a program, with its cost by the model."""

    cycles: int
    bytes: int
    group_count: int
    state_count: int
    exact: bool
    found_by: str
    """Name of the search that found it, which differs if the requested one gave up."""
    schedule_key: tuple[object, ...]
    """Key that equivalent schedules share."""

    def exactness(self, name: str) -> str:
        """
        Return `yes` if the schedule is proven optimal, `no` if not, or the name of the
        search that found it if that differs from `name`.
        """
        return "yes" if self.exact else "no" if self.found_by == name else self.found_by

    def excess_over(self, best: SearchResult) -> float:
        """Return the relative excess of cycles over another result."""
        return self.cycles / max(1, best.cycles) - 1


def run_searches(
    module: ModuleOp, target: TargetSpec
) -> Mapping[str, SearchResult | None]:
    """
    Return the result of each search, with the same cost model for all; `None` if a
    search finds no schedule.
    """
    if (passes := passes_before_partition(target)) is None:
        return {}
    run_passes_on_entry(module, target, passes)
    problems = list(_partition_problems(module, target))
    return {name: _run_search(problems, name) for name in NAMES}


def _partition_problems(
    module: ModuleOp, target: TargetSpec
) -> Iterator[tuple[PartitionProblem, GroupCosts]]:
    """Yield the partition problems of a grouped program, with their costs."""
    level = target.tile_levels[0]
    estimator = NpuEstimator.create_for_level(target, level)
    if estimator is None or estimator.is_nearest:
        return
    for block in main_function_of(module).body.blocks:
        for block_problem in partition_problems_of(block, level):
            costs = GroupCosts(
                block_problem.nodes,
                block_problem.values,
                target,
                level,
                SETTINGS.max_contractions,
            )
            yield block_problem.problem, costs


def _run_search(
    problems: Sequence[tuple[PartitionProblem, GroupCosts]], strategy: str
) -> SearchResult | None:
    """Schedule all `problems` and sum up the costs; `None` if one has no schedule."""
    try:
        results = [
            search_schedule(problem, costs, strategy, limits=SETTINGS.search_limits())
            for problem, costs in problems
        ]
    except NoScheduleError:
        return None
    schedules = [result.schedule for result in results]
    statistics = [result.statistics for result in results]
    return SearchResult(
        sum(each.time for each in schedules),
        sum(each.payload for each in schedules),
        sum(len(each.steps) for each in schedules),
        sum(each.states for each in statistics),
        all(each.exact for each in statistics),
        ", ".join(dict.fromkeys(each.strategy for each in statistics)),
        tuple(map(_step_key_of, (step for each in schedules for step in each.steps))),
    )


def _step_key_of(step: Step) -> tuple[object, ...]:
    """
    Return a hashable key of a schedule step, equal for the same group, context and
    plan.
    """
    plan = step.option.plan
    if not isinstance(plan, OuterPlan):
        return step.group, step.context
    return step.group, step.context, plan.plan_key


def compare_strategies(
    programs: Sequence[Program],
    chips: Mapping[str, TargetSpec],
    jobs: int,
    simulates: bool,
) -> Table:
    """
    Return a table of all searches over programs and chips, by the cost model and by the
    simulator.
    """
    formats = {"program": TEXT, "chip": TEXT, "search": TEXT, "groups": ","}
    formats |= {"states": ",", "exact": TEXT}
    formats |= {"model cycles": CYCLES, "model MB": MEGABYTES, "over dp": SHARE}
    if simulates:
        formats |= {"cycles": CYCLES, "L3 MB": MEGABYTES, "beyond dp": SHARE}
    table = Table(formats)
    for program in programs:
        for label, chip in chips.items():
            searches = run_searches(program.read_module(), chip)
            results: Mapping[str, Measurement | Failure] = {}
            if simulates:
                results = _simulate_schedules(program, chip, searches, jobs)
            for name, each in searches.items():
                row = _model_cells(searches, name, each)
                simulator_cells = _simulator_cells(results, name) if simulates else ()
                table.rows.append((program.title, label, name, *row, *simulator_cells))
            table.notes += _make_case_notes(
                f"{program.title} on {label}", searches, results
            )
    return table


def _simulate_schedules(
    program: Program,
    chip: TargetSpec,
    results_by_search: Mapping[str, SearchResult | None],
    jobs: int,
) -> Mapping[str, Measurement | Failure]:
    """
    Return the measured costs of schedules. Equivalent schedules are simulated once.
    """
    shapes = {
        each.schedule_key: name
        for name, each in results_by_search.items()
        if each is not None
    }
    names = list(shapes.values())
    tasks = [
        MeasurementTask(
            program, chip, change_pipeline(chip, change_with_strategy(name))
        )
        for name in names
    ]
    measured = dict(zip(names, measure_tasks(tasks, jobs), strict=True))
    return {
        name: measured[shapes[each.schedule_key]]
        for name, each in results_by_search.items()
        if each is not None
    }


def _model_cells(
    results_by_search: Mapping[str, SearchResult | None],
    name: str,
    search_result: SearchResult | None,
) -> Sequence[Cell]:
    """
    Return group count, states, exactness, cycles, MB and excess over `dp`, or `None`s.
    """
    if search_result is None:
        return (None,) * 6
    figures = (
        search_result.group_count,
        search_result.state_count,
        search_result.exactness(name),
        search_result.cycles,
    )
    best = results_by_search["dp"]
    over = search_result.excess_over(best) if best and name != "dp" else None
    return (*figures, search_result.bytes / 1e6, over)


def _simulator_cells(
    results: Mapping[str, Measurement | Failure], name: str
) -> Sequence[Cell]:
    """
    Return simulated cycles, MB and excess over `dp`; `None` for each if not measured.
    """
    result, best = results.get(name), results.get("dp")
    if not isinstance(result, Measurement):
        return (None,) * 3
    over = None
    if isinstance(best, Measurement) and name != "dp":
        over = result.cycles / max(1, best.cycles) - 1
    return result.cycles, result.bytes / 1e6, over


def _make_case_notes(
    case_title: str,
    results_by_search: Mapping[str, SearchResult | None],
    results: Mapping[str, Measurement | Failure],
) -> Iterator[str]:
    """
    Yield notes on searches that `dp` does not improve on, and on those that beat it.
    """
    if (best := results_by_search.get("dp")) is None:
        if results_by_search:
            yield f"{case_title}: {NOTHING_FITS}"
        return
    others = {
        name: each for name, each in results_by_search.items() if name != "dp" and each
    }
    equal = [
        name for name, each in others.items() if each.cycles <= best.cycles * (1 + GAIN)
    ]
    if equal:
        yield f"{case_title}: dp gains nothing over {', '.join(equal)} by the model"
    first = results.get("dp")
    if isinstance(first, Failure):
        yield f"{case_title}, dp: {first.reason}"
        return
    better = [
        name
        for name, result in results.items()
        if isinstance(result, Measurement)
        and first is not None
        and result.cycles * (1 + GAIN) < first.cycles
    ]
    if better:
        yield f"{case_title}: {', '.join(better)} takes less than dp on the simulator"
