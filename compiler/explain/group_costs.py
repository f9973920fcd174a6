"""Predicted costs of the groups of a program, compared with the simulated ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tlf.compiler.backends.npu_rows import Row
from tlf.compiler.driver.source_names import SourceNames, spelled
from tlf.compiler.explain.choices import opened
from tlf.compiler.explain.kernel_costs import kernel_costs_of
from tlf.compiler.explain.pricing import has_model
from tlf.compiler.explain.recomputed import Recomputed
from tlf.compiler.explain.report import GroupReport, reports
from tlf.dialects.graph import GroupOp
from tlf.dialects.places import place_of
from tlf.dialects.target import Target

if TYPE_CHECKING:
    from tlf.runtime.npu.figures import Stretch


@dataclass(frozen=True)
class GroupCost:
    """A group before it was compiled."""

    title: str
    """The names of its first and last operation."""
    places: frozenset[str]
    """Source locations of its operations."""
    cycles: int
    """By the model."""
    bound: int
    """Lower bound of its cycles."""
    again: Recomputed


@dataclass
class GroupTable:
    """
    Takes down what the groups of a program are to cost, while it is compiled, for the
    function that is run.
    """

    names: SourceNames
    groups: list[GroupCost] = field(default_factory=list[GroupCost])
    bound: int = 0
    """Lower bound of the cycles of the function."""

    def see(self, module: ModuleOp) -> None:
        """Take down a module whose groups have plans."""
        if not has_model(Target.of(module)):
            return
        for report in reports(module):
            self.groups += [self._cost(each) for each in report.groups]
            self.bound += report.bounds.cycles

    def rows(self, stretches: Sequence[Stretch], cycles: int | None) -> Iterator[Row]:
        """
        A row for each group and one for all: what it takes at least, by the model, and
        in a run that took `cycles`, if one is known.
        """
        if not self.groups:
            return
        spent = simulated([group.places for group in self.groups], stretches)
        for number, each in enumerate(self.groups):
            text = figures_of(each.bound, each.cycles, spent.get(number))
            yield f"group {number}", f"{each.title}: {text}"
        total = sum(each.cycles for each in self.groups)
        yield "groups", figures_of(self.bound, total, cycles)
        again = Recomputed.total([each.again for each in self.groups])
        text = (
            f"{again.product_share:.1%} of products, {again.element_share:.1%} of "
            "other elements, by the plans of groups"
        )
        yield "recomputed", text

    def _cost(self, report: GroupReport) -> GroupCost:
        price = report.price
        operations = opened(price.group)
        return GroupCost(
            spelled(self.names, operations),
            places_of(operations),
            price.spent.cycles,
            price.bounds.cycles,
            report.recomputed,
        )


def costs_of(module: ModuleOp) -> Mapping[GroupOp, str]:
    """
    Return the lower bound of groups that have plans, and their predicted time, if it is
    known.
    """
    if not Target.is_known(module):
        return {}
    if not has_model(Target.of(module)):
        return kernel_costs_of(module)
    prices = [each.price for report in reports(module) for each in report.groups]
    return {
        each.group: figures_of(each.bounds.cycles, each.spent.cycles, None)
        for each in prices
    }


def places_of(operations: Sequence[Operation]) -> frozenset[str]:
    """
    Return the source locations of operations, in the form of the origins of
    instructions.
    """
    found = map(place_of, operations)
    return frozenset(
        f"{at.filename.data}:{at.line.data}:{at.column.data}" for at in found if at
    )


def simulated(
    groups: Sequence[frozenset[str]], stretches: Sequence[Stretch]
) -> Mapping[int, int]:
    """
    The cycles by which each group, given by its places, moves the end of a program
    further out. Nothing is told where a group is not to be found.
    """
    owners = _owners(groups)
    spent: Counter[int] = Counter()
    group = last = 0
    for stretch in stretches:
        votes = Counter(owners[each] for each in stretch.origins if each in owners)
        if votes:
            group = max(votes, key=lambda number: votes[number])
        spent[group] += stretch.end - last
        last = stretch.end
    return spent if set(spent) == set(range(len(groups))) else {}


def _owners(groups: Sequence[frozenset[str]]) -> dict[str, int]:
    """The group of each place that only one of them has."""
    counts = Counter(place for places in groups for place in places)
    return {
        place: number
        for number, places in enumerate(groups)
        for place in places
        if counts[place] == 1
    }


def figures_of(bound: int, predicted: int, achieved: int | None) -> str:
    """
    Return the text for the cycles of a group. A group that adds less to the whole than
    its lower bound has run in parallel with others.
    """
    text = f"lower bound {bound:,} cycles, predicted {predicted:,}"
    if achieved is None:
        return f"{text}; gap {_gap(predicted, bound)}"
    if achieved < bound:
        return f"{text}, simulated {achieved:,} beside others"
    return f"{text}, simulated {achieved:,}; gap {_gap(achieved, bound)}"


def _gap(cycles: int, bound: int) -> str:
    """Return the ratio to the bound, or `-` if the bound is 0."""
    return f"{cycles / bound:.2f}x" if bound else "-"
