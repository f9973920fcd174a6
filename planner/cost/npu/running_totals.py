"""Cost model of clamping and correcting the running totals of a cascade on an NPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from tlf.analysis.recurrence.formula import ElementwiseFormula, Formula
from tlf.analysis.tiling.cascade_tiles import running_value_limits_in_loop
from tlf.analysis.tiling.group_tiling import GroupTiling, count_elements_of_box
from tlf.machine.instruction_costs import Cost
from tlf.planner.cost.npu.tile_instructions import TileInstructions

SLOW = ("exp", "div")
"""Operations of formulae that take multiple steps."""

RESTARTS = ("compare", "compare", "or", "select")
"""Operations that preserve a total while its extreme is unchanged."""


@dataclass
class RunningTotalCosts:
    """Cost of one iteration's updates of running totals, in program order."""

    tiling: GroupTiling
    costs: TileInstructions
    _computed_formulas: set[Formula] = field(default_factory=set[Formula])

    def clamp_costs_of(self, op: Operation) -> Iterator[Cost]:
        """Yield the costs of clamping a total to finite numbers for its users."""
        if self.tiling.cascade is None:
            return
        for _ in running_value_limits_in_loop(self.tiling, op):
            yield self.costs.cost_of_elementwise(self._element_count(op.results[0]))

    def correction_costs_of(self, op: Operation) -> Iterator[Cost]:
        """
        Yield the costs of correcting a total for the current values of its terms'
        operands.
        """
        if self.tiling.cascade is None:
            return
        if self.tiling.restart_of(op) is not None:
            for _ in RESTARTS:
                yield self.costs.cost_of_elementwise(self._element_count(op.results[0]))
        if (correction := self.tiling.correction_of(op)) is None:
            return
        count = max(map(self._element_count, correction.values))
        for name in self._uncomputed_operations_of(correction.formula):
            yield self.costs.cost_of_elementwise(count, name in SLOW)
        if not correction.is_bounded:
            yield self.costs.cost_of_elementwise(count)
        yield self.costs.cost_of_elementwise(self._element_count(op.results[0]))

    def _uncomputed_operations_of(self, formula: Formula) -> Iterator[str]:
        """Yield the operations of a formula that have not been computed already."""
        if (
            not isinstance(formula, ElementwiseFormula)
            or formula in self._computed_formulas
        ):
            return
        self._computed_formulas.add(formula)
        for operand in formula.operands:
            yield from self._uncomputed_operations_of(operand)
        yield formula.name

    def _element_count(self, value: SSAValue) -> int:
        owner = value.owner
        assert isinstance(owner, Operation)
        return count_elements_of_box(self.tiling.tiles[owner].result)
