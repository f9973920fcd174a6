"""
Search for the order of the independent components of a block, by trial evaluation; the
block is rewritten in this order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import Block, Operation, SSAValue

from tlf.dialects.target import TargetSpec
from tlf.dialects.topological_order import move_before_terminator
from tlf.planner.context import Evaluator
from tlf.planner.partition.block_evaluation import evaluate_block_change

Order: TypeAlias = tuple[int, ...]


@dataclass
class ComponentOrderSearch:
    """Evaluation of a block with its independent components in other orders."""

    program_block: Block
    components: Sequence[Sequence[Operation]]
    target: TargetSpec
    evaluator: Evaluator
    max_evaluations: int
    """Maximum number of evaluations."""
    _cycles_by_order: dict[Order, int | None] = field(
        default_factory=dict[Order, "int | None"]
    )

    def find_fastest(self) -> list[Operation] | None:
        """
        Return the operations of the components in the fastest order that is found, or
        None if no cycles are known.
        """
        order = tuple(range(len(self.components)))
        if (best := self._cycles_of(order)) is None:
            return None
        while (faster := self._find_faster_order(order, best)) is not None:
            best, order = faster
        return [op for index in order for op in self.components[index]]

    def _find_faster_order(
        self, order: Order, best_cycles: int
    ) -> tuple[int, Order] | None:
        """
        Return a neighbouring order that takes less time, or None if there is none.
        """
        timed = (
            (self._cycles_of(each), each) for each in self._neighbour_orders(order)
        )
        better = ((time, each) for time, each in timed if time and time < best_cycles)
        return next(better, None)

    def _neighbour_orders(self, order: Order) -> Iterator[Order]:
        """Yield copies of an order with one component moved, or at its own position."""
        for index in order:
            rest = [each for each in order if each != index]
            for position in range(len(order)):
                yield (*rest[:position], index, *rest[position:])

    def _cycles_of(self, order: Order) -> int | None:
        """Return the program's cycles in an order; None if unknown or over budget."""
        if (
            order not in self._cycles_by_order
            and len(self._cycles_by_order) < self.max_evaluations
        ):
            self._cycles_by_order[order] = self._evaluate_order(order)
        return self._cycles_by_order.get(order)

    def _evaluate_order(self, order: Order) -> int | None:
        """
        Return the cycles of a copy of the program with the components in `order`, or
        None if unknown.
        """

        def reorder(
            copies: dict[Operation, Operation], _: dict[SSAValue, SSAValue]
        ) -> None:
            move_before_terminator(
                [copies[op] for index in order for op in self.components[index]]
            )

        return evaluate_block_change(
            self.program_block, reorder, self.target, self.evaluator
        )
