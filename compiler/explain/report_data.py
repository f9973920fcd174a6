"""
Explanation of plans: data of the report of `tlf-explain`, for JSON and for the text
format.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation

from tlf.compiler.driver.source_names import SourceNames, title_of_operations
from tlf.compiler.explain.partition_choices import (
    AlternativeGroup,
    Cost,
    PartitionChoice,
    operations_of_node,
)
from tlf.compiler.explain.peak_memory import MemoryPeak
from tlf.compiler.explain.plan_report import FunctionReport, GroupReport
from tlf.compiler.explain.remark_report import Remark
from tlf.dialects import graph
from tlf.planner.partition.schedule_refinement import EvaluatedTimes


@dataclass(frozen=True)
class GroupMember:
    """
    Report entry of one operation of a group: its name without the dialect, and its
    origin.
    """

    operation: str
    name: str | None
    """Name of the originating operation in the source."""
    location: str | None
    """Source location of the originating operation."""


@dataclass(frozen=True)
class Plan:
    """Report entry of the tiling plan of one group."""

    level: str
    tile: Sequence[int]
    reduce: Sequence[int]
    stages: int
    """Iterations in flight: over reduction tiles, or over tiles."""
    sliding_axis: int | None
    """Axis of the tile along which the window slides."""
    prefetch_distance: int
    """Iterations by which window values are computed ahead: 0 or 1."""
    retained: Sequence[str]
    """Names of results that are retained in the level."""


@dataclass(frozen=True)
class Figures:
    """Predicted cost of a program or a part of it, with lower bounds."""

    cycles: int
    bytes: int
    """Bytes moved from and to the outer level."""
    bound_cycles: int
    bound_cycles_quantised: int
    """Lower bound with products rounded up to whole passes of the array."""
    bound_bytes: int
    bound_by: str
    """Resource that dominates the bound: `memory`, `matrix` or `vector`."""
    gap: float
    """Ratio of cycles to the lower bound."""


@dataclass(frozen=True)
class Memory:
    """Report entry of the peak use of a memory level by one group, in bytes."""

    level: str
    capacity: int
    peak_bytes: int
    live: int
    fragmentation: int
    uses: Mapping[str, int]


@dataclass(frozen=True)
class Alternative:
    """Alternative to a chosen group, with the best total cost that uses it."""

    title: str
    """Names of its first and last operation."""
    operations: Sequence[GroupMember]
    resident_count: int
    """Number of tensors that are resident for it."""
    cycles: int
    bytes: int
    relative_increase: float
    """Increase of cycles over the chosen schedule, as a fraction."""


@dataclass(frozen=True)
class Group:
    """Report entry of one planned group: operations, plan, costs and alternatives."""

    number: int
    title: str
    """Names of its first and last operation."""
    operations: Sequence[GroupMember]
    plan: Plan
    figures: Figures
    moves: int
    """Cycles of the moves."""
    computation: int
    """Cycles of the computation."""
    bottleneck: str
    """The longer one of both: `moves` or `computation`."""
    recomputed_product_fraction: float
    """Fraction of the products that are recomputed."""
    recomputed_element_fraction: float
    """Fraction of all other elements that are recomputed."""
    memory: Memory
    alternatives: Sequence[Alternative]
    simulated_cycles: int | None = None


@dataclass(frozen=True)
class Search:
    """
    Report entry of a search that chose groups: strategy, whether it is exact, and
    costs.
    """

    strategy: str
    exact: bool
    reason: str
    cost: Cost
    """Cost of the chosen schedule, in which groups may overlap."""
    evaluated: EvaluatedTimes | None
    """Costs of the best schedules by the event model, if it was run."""


@dataclass(frozen=True)
class Function:
    """Report entry of one function on a target, with its groups in program order."""

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


def make_function_report(
    report: FunctionReport,
    target: str,
    choices: Sequence[PartitionChoice],
    names: SourceNames,
) -> Function:
    """
    Return the data of `report` and of the `choices` of its function, without remarks
    and simulated costs.
    """
    own_choices = [
        _include_planned_groups(item, report)
        for item in choices
        if _is_choice_of_function(item, report)
    ]
    alternatives = {
        group: [_make_alternative_entry(each, choice, names) for each in others]
        for choice in own_choices
        for group, others in zip(choice.groups, choice.alternatives, strict=True)
        if group is not None
    }
    groups = [
        _make_group_entry(
            number, item, alternatives.get(item.estimate.group, ()), names
        )
        for number, item in enumerate(report.groups)
    ]
    unfused, gain = _unfused_cost(report, own_choices), None
    if unfused is not None:
        gain = unfused.cycles / max(
            _total_cost(report, own_choices, lambda c: c.cost).cycles, 1
        )
    searches = [_make_search_entry(item) for item in own_choices]
    name = report.function.sym_name.data
    figures = _figures_of(report)
    return Function(name, target, groups, figures, unfused, gain, searches)


def _figures_of(report: FunctionReport) -> Figures:
    """Return the cycles and bytes of a function beside their lower bounds."""
    bounds = report.bounds
    return Figures(
        report.cycles,
        report.bytes,
        bounds.cycles,
        bounds.cycles_quantised,
        bounds.payload_bytes,
        bounds.binding,
        report.gap,
    )


def _make_search_entry(choice: PartitionChoice) -> Search:
    statistics = choice.statistics
    outcome = statistics.strategy, statistics.exact, statistics.reason
    return Search(*outcome, choice.cost, choice.evaluation)


def _make_alternative_entry(
    alternative: AlternativeGroup, choice: PartitionChoice, names: SourceNames
) -> Alternative:
    """
    Return the report entry of `alternative`, with its cycles relative to those of
    `choice`.
    """
    cycles, chosen = alternative.cost.cycles, max(choice.cost.cycles, 1)
    return Alternative(
        title_of_operations(names, alternative.operations),
        make_member_entries(alternative.operations, names),
        alternative.resident_count,
        cycles,
        alternative.cost.bytes,
        cycles / chosen - 1,
    )


def _include_planned_groups(
    choice: PartitionChoice, report: FunctionReport
) -> PartitionChoice:
    """Return a choice that includes the cost of groups planned beforehand."""
    planned = [
        e.estimate.predicted
        for e in report.groups
        if e.estimate.group in choice.planned_groups
    ]
    cycles, moved = sum(e.cycles for e in planned), sum(e.bytes for e in planned)
    return choice.add_planned_cost(Cost(cycles, moved))


def _is_choice_of_function(choice: PartitionChoice, report: FunctionReport) -> bool:
    groups = {each.estimate.group for each in report.groups}
    return any(group in groups for group in choice.groups)


def _unfused_cost(
    report: FunctionReport, choices: Sequence[PartitionChoice]
) -> Cost | None:
    """Return the cost of the function with no groups merged, if that is feasible."""
    if not choices or any(each.unfused_cost is None for each in choices):
        return None
    return _total_cost(report, choices, lambda each: each.unfused_cost)


def _total_cost(
    report: FunctionReport,
    choices: Sequence[PartitionChoice],
    cost: Callable[[PartitionChoice], Cost | None],
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


def _make_group_entry(
    group_index: int,
    report: GroupReport,
    alternatives: Sequence[Alternative],
    names: SourceNames,
) -> Group:
    """
    Return the data of one group: members, plan, predicted cost, bounds and memory.
    """
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
        group_index,
        title_of_operations(names, operations_of_node(estimate.group)),
        make_member_entries(operations_of_node(estimate.group), names),
        _make_plan_entry(estimate.group, names),
        figures,
        predicted.move_cycles,
        predicted.compute_cycles,
        report.bottleneck,
        report.recomputation.product_share,
        report.recomputation.element_share,
        _make_memory_entry(estimate.level.name, report.peak),
        alternatives,
    )


def make_member_entries(
    operations: Sequence[Operation], names: SourceNames
) -> list[GroupMember]:
    """
    Return a report entry for each of `operations`, with its name and location in the
    source.
    """
    return [
        GroupMember(
            op.name.removeprefix("graph."),
            names.name_of(op),
            names.source_location_of(op),
        )
        for op in operations
    ]


def _make_plan_entry(group: graph.GroupOp, names: SourceNames) -> Plan:
    """
    Return the attribute `plan` of `group` as data, with names of retained results.
    """
    assert group.plan is not None
    retained = [
        group.yielded_values[index].owner for index in group.plan.retained_results
    ]
    retained_names = [names.name_of(op) for op in retained if isinstance(op, Operation)]
    return Plan(
        group.plan.level.data,
        group.plan.tile_sizes,
        group.plan.reduce_sizes,
        group.plan.innermost_stage_count,
        group.plan.sliding_window_axis,
        group.plan.prefetch_distance.data,
        [name for name in retained_names if name is not None],
    )


def _make_memory_entry(level: str, peak: MemoryPeak) -> Memory:
    """Return the peak use of memory `level` as data; its `uses` are keyed by name."""
    uses = {str(use): size for use, size in peak.uses.items()}
    return Memory(
        level, peak.capacity, peak.height, peak.live, peak.fragmentation, uses
    )
