"""Report data of `tlf-explain`, for JSON and for the text report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation

from tlf.compiler.driver.source_names import SourceNames, title_of
from tlf.compiler.explain.partition_choices import (
    AlternativeGroup,
    Choice,
    Cost,
    operations_in,
)
from tlf.compiler.explain.peak_memory import Peak
from tlf.compiler.explain.plan_report import FunctionReport, GroupReport
from tlf.compiler.explain.remark_report import Remark
from tlf.dialects import graph
from tlf.planner.partition.schedule_refinement import EvaluatedTimes


@dataclass(frozen=True)
class Member:
    """An operation of a group."""

    operation: str
    name: str | None
    """Name of the originating operation in the source."""
    place: str | None
    """Source location of the originating operation."""


@dataclass(frozen=True)
class Plan:
    """Tiling of a group."""

    level: str
    tile: Sequence[int]
    reduce: Sequence[int]
    stages: int
    """Iterations in flight: over reduction tiles, or over tiles."""
    roll: int | None
    """Axis of the tile along which the window slides."""
    leads: bool
    """True if window values are computed one iteration ahead."""
    kept: Sequence[str]
    """Names of results that are retained in the level."""


@dataclass(frozen=True)
class Figures:
    """Predicted cost of a program or a part of it, with lower bounds."""

    cycles: int
    bytes: int
    """Bytes moved from and to the outer level."""
    bound_cycles: int
    bound_cycles_in_passes: int
    """Lower bound with products rounded up to whole passes of the array."""
    bound_bytes: int
    bound_by: str
    """Resource that dominates the bound: `memory`, `matrix` or `vector`."""
    gap: float
    """Ratio of cycles to the lower bound."""


@dataclass(frozen=True)
class Memory:
    """Peak use of a memory level, in bytes."""

    level: str
    capacity: int
    height: int
    live: int
    fragmentation: int
    uses: Mapping[str, int]


@dataclass(frozen=True)
class Alternative:
    """Alternative to a chosen group, with the best total cost that uses it."""

    title: str
    """Names of its first and last operation."""
    operations: Sequence[Member]
    kept: int
    cycles: int
    bytes: int
    more: float
    """Increase of cycles over the chosen schedule, as a fraction."""


@dataclass(frozen=True)
class Group:
    """A group of a function."""

    number: int
    title: str
    """Names of its first and last operation."""
    operations: Sequence[Member]
    plan: Plan
    figures: Figures
    moves: int
    """Cycles of the moves."""
    computation: int
    """Cycles of the computation."""
    binds: str
    """The longer one of both: `moves` or `computation`."""
    products_again: float
    """Fraction of the products that are recomputed."""
    elements_again: float
    """Fraction of all other elements that are recomputed."""
    memory: Memory
    instead: Sequence[Alternative]
    simulated_cycles: int | None = None


@dataclass(frozen=True)
class Search:
    """Search that found the groups, with its result."""

    strategy: str
    exact: bool
    reason: str
    cost: Cost
    """Cost of the chosen schedule, in which groups may overlap."""
    rehearsed: EvaluatedTimes | None
    """Costs of the best schedules by the event model, if it was run."""


@dataclass(frozen=True)
class Function:
    """A function with its groups in order."""

    name: str
    target: str
    groups: Sequence[Group]
    figures: Figures
    unfused: Cost | None
    """Cost by the model with every group of `graph-group` unmerged."""
    gain: float | None
    """Ratio of the unfused cycles to those of the chosen schedule."""
    searches: Sequence[Search]
    remarks: Sequence[Remark] = ()
    simulated: Cost | None = None


def function_of(
    report: FunctionReport, target: str, choices: Sequence[Choice], names: SourceNames
) -> Function:
    """Return the report of a function."""
    own_choices = [
        _with_planned_groups(item, report)
        for item in choices
        if _is_about(item, report)
    ]
    instead = {
        group: [_alternative_of(item, choice, names) for item in alternatives]
        for choice in own_choices
        for group, alternatives in zip(choice.groups, choice.alternatives, strict=True)
        if group is not None
    }
    groups = [
        _report_group(number, item, instead.get(item.estimate.group, ()), names)
        for number, item in enumerate(report.groups)
    ]
    bounds = report.bounds
    figures = Figures(
        report.cycles,
        report.bytes,
        bounds.cycles,
        bounds.cycles_quantised,
        bounds.payload_bytes,
        bounds.binding,
        report.gap,
    )
    unfused, gain = _unfused_cost(report, own_choices), None
    if unfused is not None:
        gain = unfused.cycles / max(
            _total_cost(report, own_choices, lambda c: c.cost).cycles, 1
        )
    searches = [_search_of(item) for item in own_choices]
    name = report.function.sym_name.data
    return Function(name, target, groups, figures, unfused, gain, searches)


def _search_of(choice: Choice) -> Search:
    statistics = choice.statistics
    outcome = statistics.strategy, statistics.exact, statistics.reason
    return Search(*outcome, choice.cost, choice.evaluation)


def _alternative_of(
    other: AlternativeGroup, choice: Choice, names: SourceNames
) -> Alternative:
    """Return the report of an alternative to the chosen group."""
    cycles, chosen = other.cost.cycles, max(choice.cost.cycles, 1)
    return Alternative(
        title_of(names, other.operations),
        members_of(other.operations, names),
        other.resident_count,
        cycles,
        other.cost.bytes,
        cycles / chosen - 1,
    )


def _with_planned_groups(choice: Choice, report: FunctionReport) -> Choice:
    """Return a choice that includes the cost of groups planned beforehand."""
    planned = [
        e.estimate.predicted
        for e in report.groups
        if e.estimate.group in choice.planned_groups
    ]
    cycles, moved = sum(e.cycles for e in planned), sum(e.bytes for e in planned)
    return choice.with_planned_cost(Cost(cycles, moved))


def _is_about(choice: Choice, report: FunctionReport) -> bool:
    groups = {each.estimate.group for each in report.groups}
    return any(group in groups for group in choice.groups)


def _unfused_cost(report: FunctionReport, choices: Sequence[Choice]) -> Cost | None:
    """Return the cost of the function with no groups merged, if that is feasible."""
    if not choices or any(each.unfused is None for each in choices):
        return None
    return _total_cost(report, choices, lambda each: each.unfused)


def _total_cost(
    report: FunctionReport,
    choices: Sequence[Choice],
    cost: Callable[[Choice], Cost | None],
) -> Cost:
    """
    Return the cost of the function: `cost` of each choice plus predicted costs of other
    groups.
    """
    chosen = {group for each in choices for group in each.groups}
    rest = [
        each.estimate.predicted
        for each in report.groups
        if each.estimate.group not in chosen
    ]
    costs = [*rest, *filter(None, map(cost, choices))]
    return Cost(sum(each.cycles for each in costs), sum(each.bytes for each in costs))


def _report_group(
    number: int, report: GroupReport, instead: Sequence[Alternative], names: SourceNames
) -> Group:
    estimate, predicted, bounds = (
        report.estimate,
        report.estimate.predicted,
        report.estimate.bounds,
    )
    figures = Figures(
        predicted.cycles,
        predicted.bytes,
        bounds.cycles,
        bounds.cycles_quantised,
        bounds.payload_bytes,
        bounds.binding,
        report.gap,
    )
    return Group(
        number,
        title_of(names, operations_in(estimate.group)),
        members_of(operations_in(estimate.group), names),
        _plan_of(estimate.group, names),
        figures,
        predicted.moves,
        predicted.computation,
        report.bottleneck,
        report.recomputation.product_share,
        report.recomputation.element_share,
        _memory_of(estimate.level.name, report.peak),
        instead,
    )


def members_of(operations: Sequence[Operation], names: SourceNames) -> list[Member]:
    """Return the report entries of operations."""
    return [
        Member(op.name.removeprefix("graph."), names.name(op), names.location(op))
        for op in operations
    ]


def _plan_of(group: graph.GroupOp, names: SourceNames) -> Plan:
    assert group.plan is not None
    retained = [
        group.yielded_values[index].owner for index in group.plan.retained_results
    ]
    retained_names = [names.name(op) for op in retained if isinstance(op, Operation)]
    return Plan(
        group.plan.level.data,
        group.plan.tile_sizes,
        group.plan.reduce_sizes,
        group.plan.innermost_stages,
        group.plan.sliding_axis,
        group.plan.has_prefetch,
        [name for name in retained_names if name is not None],
    )


def _memory_of(level: str, peak: Peak) -> Memory:
    uses = {str(use): size for use, size in peak.uses.items()}
    return Memory(
        level, peak.capacity, peak.height, peak.live, peak.fragmentation, uses
    )
