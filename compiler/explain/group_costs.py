"""
Explanation of plans: table of the predicted costs of groups, beside the simulated ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tlf.compiler.backends.npu_report_rows import Row
from tlf.compiler.driver.source_names import SourceNames, title_of_operations
from tlf.compiler.explain.cost_estimates import has_cost_model
from tlf.compiler.explain.kernel_costs import describe_kernel_costs
from tlf.compiler.explain.partition_choices import operations_of_node
from tlf.compiler.explain.plan_report import GroupReport, report_functions
from tlf.compiler.explain.recomputation import Recomputation
from tlf.dialects.graph import GroupOp
from tlf.dialects.source_locations import nearest_location_of
from tlf.dialects.target import TargetSpec

if TYPE_CHECKING:
    from tlf.runtime.npu.run_metrics import ProgramSegment


@dataclass(frozen=True)
class GroupCost:
    """
    Predicted cycles of one planned group, recorded before lowering, with their lower
    bound.
    """

    title: str
    """Names of its first and last operation."""
    locations: frozenset[str]
    """Source locations of its operations."""
    cycles: int
    """Predicted cycles."""
    bound: int
    """Lower bound of its cycles."""
    recomputation: Recomputation


@dataclass
class GroupTable:
    """Table of the predicted costs of groups, recorded during compilation."""

    names: SourceNames
    groups: list[GroupCost] = field(default_factory=list[GroupCost])
    bound: int = 0
    """Lower bound of the cycles of the function."""

    def record_module(self, module: ModuleOp) -> None:
        """
        Append the predicted costs of the planned groups in `module` to the table; do
        nothing if its target has no cost model.
        """
        if not has_cost_model(TargetSpec.read_from_module(module)):
            return
        for report in report_functions(module):
            self.groups += [self._group_cost_of(each) for each in report.groups]
            self.bound += report.bounds.cycles

    def cost_rows(
        self, segments: Sequence[ProgramSegment], cycles: int | None
    ) -> Iterator[Row]:
        """
        Yield a row for each group and one for the total: lower bound, prediction, and
        cycles simulated in a run of `cycles`, if known.
        """
        if not self.groups:
            return
        spent = attribute_cycles_to_groups(
            [group.locations for group in self.groups], segments
        )
        for number, each in enumerate(self.groups):
            text = format_group_cycles(each.bound, each.cycles, spent.get(number))
            yield f"group {number}", f"{each.title}: {text}"
        total = sum(each.cycles for each in self.groups)
        yield "groups", format_group_cycles(self.bound, total, cycles)
        again = Recomputation.sum_over_groups(
            [each.recomputation for each in self.groups]
        )
        text = (
            f"{again.product_share:.1%} of products, {again.element_share:.1%} of "
            "other elements, by the plans of groups"
        )
        yield "recomputed", text

    def _group_cost_of(self, report: GroupReport) -> GroupCost:
        """Return the part of `report` that is kept for the table after lowering."""
        estimate = report.estimate
        operations = operations_of_node(estimate.group)
        return GroupCost(
            title_of_operations(self.names, operations),
            locations_of(operations),
            estimate.predicted.cycles,
            estimate.bounds.cycles,
            report.recomputation,
        )


def describe_group_costs(module: ModuleOp) -> Mapping[GroupOp, str]:
    """Return the lower bound of planned groups, and their predicted time if known."""
    if not TargetSpec.is_attached_to(module):
        return {}
    if not has_cost_model(TargetSpec.read_from_module(module)):
        return describe_kernel_costs(module)
    estimates = [
        each.estimate for report in report_functions(module) for each in report.groups
    ]
    return {
        each.group: format_group_cycles(each.bounds.cycles, each.predicted.cycles, None)
        for each in estimates
    }


def locations_of(operations: Sequence[Operation]) -> frozenset[str]:
    """
    Return the source locations of operations, in the format of instruction origins.
    """
    locations = map(nearest_location_of, operations)
    return frozenset(
        f"{at.filename.data}:{at.line.data}:{at.column.data}" for at in locations if at
    )


def attribute_cycles_to_groups(
    group_locations: Sequence[frozenset[str]], segments: Sequence[ProgramSegment]
) -> Mapping[int, int]:
    """
    Attribute simulated cycles to groups by source locations. Returns an empty mapping
    if cycles of some group cannot be identified.
    """
    owners = _groups_by_location(group_locations)
    spent: Counter[int] = Counter()
    group = last = 0
    for stretch in segments:
        votes = Counter(owners[each] for each in stretch.origins if each in owners)
        if votes:
            group = max(votes, key=lambda number: votes[number])
        spent[group] += stretch.end - last
        last = stretch.end
    return spent if set(spent) == set(range(len(group_locations))) else {}


def _groups_by_location(groups: Sequence[frozenset[str]]) -> dict[str, int]:
    """Return the group index of each location that is unique to one group."""
    counts = Counter(
        location for group_locations in groups for location in group_locations
    )
    return {
        location: number
        for number, group_locations in enumerate(groups)
        for location in group_locations
        if counts[location] == 1
    }


def format_group_cycles(bound: int, predicted: int, simulated: int | None) -> str:
    """
    Return the text for the cycles of a group. Fewer achieved cycles than the lower
    bound mean that the group overlaps others.
    """
    text = f"lower bound {bound:,} cycles, predicted {predicted:,}"
    if simulated is None:
        return f"{text}; gap {_format_bound_ratio(predicted, bound)}"
    if simulated < bound:
        return f"{text}, simulated {simulated:,}, overlapping other groups"
    return (
        f"{text}, simulated {simulated:,}; gap {_format_bound_ratio(simulated, bound)}"
    )


def _format_bound_ratio(cycles: int, bound: int) -> str:
    """Return the ratio to the bound, or `-` if the bound is 0."""
    return f"{cycles / bound:.2f}x" if bound else "-"
