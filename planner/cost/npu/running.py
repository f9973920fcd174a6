"""
Limits and corrections of running totals, which the steps of a cascade compute besides
their terms.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from tlf.analysis.recurrence.formula import Apply, Formula
from tlf.analysis.tiling.cascading import limits_of
from tlf.analysis.tiling.model import GroupTiling, elements
from tlf.machine.costs import Cost, Costs

SLOW = ("exp", "div")
"""Operations of formulae that take an engine longer."""

RESTARTS = ("compare", "compare", "or", "select")
"""Operations that keep a total as long as its extreme is unchanged."""


@dataclass
class Running:
    """Prices one iteration, in the order in which the loop is built."""

    tiling: GroupTiling
    costs: Costs
    _known: set[Formula] = field(default_factory=set[Formula])

    def limited(self, op: Operation) -> Iterator[Cost]:
        """Yield the costs of clamping a total to finite numbers for its users."""
        for _ in limits_of(self.tiling, op):
            yield self.costs.elementwise(self._count(op.results[0]))

    def corrected(self, op: Operation) -> Iterator[Cost]:
        """
        Yield the costs of correcting a total for the current values that its terms
        depend on.
        """
        if self.tiling.restart_of(op) is not None:
            for _ in RESTARTS:
                yield self.costs.elementwise(self._count(op.results[0]))
        if (correction := self.tiling.correction_of(op)) is None:
            return
        count = max(map(self._count, correction.values))
        for name in self._applied(correction.formula):
            yield self.costs.elementwise(count, name in SLOW)
        if not correction.is_bounded:
            yield self.costs.elementwise(count)
        yield self.costs.elementwise(self._count(op.results[0]))

    def _applied(self, formula: Formula) -> Iterator[str]:
        """The operations of a formula that has not been computed already."""
        if not isinstance(formula, Apply) or formula in self._known:
            return
        self._known.add(formula)
        for operand in formula.operands:
            yield from self._applied(operand)
        yield formula.name

    def _count(self, value: SSAValue) -> int:
        owner = value.owner
        assert isinstance(owner, Operation)
        return elements(self.tiling.tiles[owner].result)
