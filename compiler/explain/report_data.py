"""Report data of `tlf-explain`, as JSON and for its text."""

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
    """Name in the source of the operation that it comes from."""
    place: str | None
    """Source location of that operation."""


@dataclass(frozen=True)
class Plan:
    """Tiling of a group."""

    level: str
    tile: Sequence[int]
    reduce: Sequence[int]
    stages: int
    """Iterations in flight: over the steps of a reduction, or over tiles."""
    roll: int | None
    """The axis of the tile along which it rolls."""
    leads: bool
    """True if the values of windows are computed an iteration ahead."""
    kept: Sequence[str]
    """Results that stay in the level."""


@dataclass(frozen=True)
class Figures:
    """Predicted cost of a program or a part of it, and its lower bounds."""

    cycles: int
    bytes: int
    """From and to the farther memory."""
    bound_cycles: int
    bound_cycles_in_passes: int
    """With products in whole passes of the array."""
    bound_bytes: int
    bound_by: str
    """The part that dominates the bound: `memory`, `matrix` or `vector`."""
    gap: float
    """Cycles over those of the bound."""


@dataclass(frozen=True)
class Memory:
    """The peak of a level, in bytes."""

    level: str
    capacity: int
    height: int
    live: int
    fragmentation: int
    uses: Mapping[str, int]


@dataclass(frozen=True)
class Alternative:
    """Another choice, and what the search says of the whole with it."""

    title: str
    """The names of its first and last operation."""
    operations: Sequence[Member]
    kept: int
    cycles: int
    bytes: int
    more: float
    """The cycles that this adds to those of the chosen schedule, as a part of them."""


@dataclass(frozen=True)
class Group:
    """A group of a function."""

    number: int
    title: str
    """The names of its first and last operation."""
    operations: Sequence[Member]
    plan: Plan
    figures: Figures
    moves: int
    """Cycles of moves alone."""
    computation: int
    """Cycles of computation alone."""
    binds: str
    """The longer one of both."""
    products_again: float
    """The part of the products that is computed more than once."""
    elements_again: float
    """The part of all other elements that is."""
    memory: Memory
    instead: Sequence[Alternative]
    simulated_cycles: int | None = None


@dataclass(frozen=True)
class Search:
    """Search that found the groups, and its result."""

    strategy: str
    exact: bool
    reason: str
    cost: Cost
    """Of the schedule that was chosen, where groups run beside each other."""
    rehearsed: EvaluatedTimes | None
    """Cost of the best schedules by the event model, if it was run."""


@dataclass(frozen=True)
class Function:
    """A function, and its groups in order."""

    name: str
    target: str
    groups: Sequence[Group]
    figures: Figures
    unfused: Cost | None
    """With every group of `graph-group` by itself, by the model."""
    gain: float | None
    """Ratio of the unfused cycles to those of the chosen schedule."""
    searches: Sequence[Search]
    remarks: Sequence[Remark] = ()
    simulated: Cost | None = None


def function_of(
    report: FunctionReport, target: str, choices: Sequence[Choice], names: SourceNames
) -> Function:
    """Return the report on a function."""
    here = [
        _with_planned_groups(each, report)
        for each in choices
        if _is_about(each, report)
    ]
    instead = {
        group: [_alternative_of(each, choice, names) for each in told]
        for choice in here
        for group, told in zip(choice.groups, choice.alternatives, strict=True)
        if group is not None
    }
    groups = [
        _report_group(number, each, instead.get(each.estimate.group, ()), names)
        for number, each in enumerate(report.groups)
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
    unfused, gain = _unfused_cost(report, here), None
    if unfused is not None:
        gain = unfused.cycles / max(
            _total_cost(report, here, lambda c: c.cost).cycles, 1
        )
    searches = [_search_of(each) for each in here]
    name = report.function.sym_name.data
    return Function(name, target, groups, figures, unfused, gain, searches)


def _search_of(choice: Choice) -> Search:
    found = choice.statistics
    told = found.strategy, found.exact, found.reason
    return Search(*told, choice.cost, choice.evaluation)


def _alternative_of(
    other: AlternativeGroup, choice: Choice, names: SourceNames
) -> Alternative:
    """Return the report on an alternative to the chosen group."""
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
    """A choice with what groups cost that had their plan before."""
    given = [
        e.estimate.predicted
        for e in report.groups
        if e.estimate.group in choice.planned_groups
    ]
    cycles, moved = sum(e.cycles for e in given), sum(e.bytes for e in given)
    return choice.with_planned_cost(Cost(cycles, moved))


def _is_about(choice: Choice, report: FunctionReport) -> bool:
    groups = {each.estimate.group for each in report.groups}
    return any(group in groups for group in choice.groups)


def _unfused_cost(report: FunctionReport, choices: Sequence[Choice]) -> Cost | None:
    """The whole function with nothing merged, if that runs."""
    if not choices or any(each.unfused is None for each in choices):
        return None
    return _total_cost(report, choices, lambda each: each.unfused)


def _total_cost(
    report: FunctionReport,
    choices: Sequence[Choice],
    cost: Callable[[Choice], Cost | None],
) -> Cost:
    """The whole function with some cost of what was searched; other groups as are."""
    chosen = {group for each in choices for group in each.groups}
    rest = [
        each.estimate.predicted
        for each in report.groups
        if each.estimate.group not in chosen
    ]
    told = [*rest, *filter(None, map(cost, choices))]
    return Cost(sum(each.cycles for each in told), sum(each.bytes for each in told))


def _report_group(
    number: int, report: GroupReport, instead: Sequence[Alternative], names: SourceNames
) -> Group:
    price, spent, bounds = (
        report.estimate,
        report.estimate.predicted,
        report.estimate.bounds,
    )
    figures = Figures(
        spent.cycles,
        spent.bytes,
        bounds.cycles,
        bounds.cycles_quantised,
        bounds.payload_bytes,
        bounds.binding,
        report.gap,
    )
    return Group(
        number,
        title_of(names, operations_in(price.group)),
        members_of(operations_in(price.group), names),
        _plan_of(price.group, names),
        figures,
        spent.moves,
        spent.computation,
        report.bottleneck,
        report.recomputation.product_share,
        report.recomputation.element_share,
        _memory_of(price.level.name, report.peak),
        instead,
    )


def members_of(operations: Sequence[Operation], names: SourceNames) -> list[Member]:
    """Return report entries for operations."""
    return [
        Member(op.name.removeprefix("graph."), names.name(op), names.location(op))
        for op in operations
    ]


def _plan_of(group: graph.GroupOp, names: SourceNames) -> Plan:
    assert group.plan is not None
    kept = [
        group.yielded_values[number].owner for number in group.plan.retained_results
    ]
    named = [names.name(op) for op in kept if isinstance(op, Operation)]
    return Plan(
        group.plan.level.data,
        group.plan.tile_sizes,
        group.plan.reduce_sizes,
        group.plan.innermost_stages,
        group.plan.sliding_axis,
        group.plan.has_prefetch,
        [name for name in named if name is not None],
    )


def _memory_of(level: str, peak: Peak) -> Memory:
    uses = {str(use): size for use, size in peak.uses.items()}
    return Memory(
        level, peak.capacity, peak.height, peak.live, peak.fragmentation, uses
    )
