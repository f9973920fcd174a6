"""The order of what a block computes without handing anything on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import Block, Operation, SSAValue

from tlf.dialects.block_order import put_last, sort_block
from tlf.dialects.target import Target
from tlf.planner.context import Evaluator
from tlf.planner.partition.changed_block import evaluate_change

Order: TypeAlias = tuple[int, ...]


@dataclass
class PartOrder:
    """
    Rehearses a block whose parts hand nothing on to each other in other orders: what
    comes first starts with loads, what comes last ends with stores, and nothing runs
    beside these.
    """

    block: Block
    parts: Sequence[Sequence[Operation]]
    target: Target
    evaluator: Evaluator
    tries: int
    """Rehearsals at most."""
    _known: dict[Order, int | None] = field(default_factory=dict[Order, "int | None"])

    def apply(self) -> None:
        """Put the parts in the fastest order that is found."""
        order = tuple(range(len(self.parts)))
        if (best := self._cycles(order)) is None:
            return
        while (found := self._better(order, best)) is not None:
            best, order = found
        put_last([op for number in order for op in self.parts[number]])
        sort_block(self.block)

    def _better(self, order: Order, best: int) -> tuple[int, Order] | None:
        """An order near it that takes less time, if there is one."""
        timed = ((self._cycles(each), each) for each in self._around(order))
        better = ((time, each) for time, each in timed if time and time < best)
        return next(better, None)

    def _around(self, order: Order) -> Iterator[Order]:
        """The orders with one part elsewhere."""
        for number in order:
            rest = [each for each in order if each != number]
            for place in range(len(order)):
                yield (*rest[:place], number, *rest[place:])

    def _cycles(self, order: Order) -> int | None:
        """Return the program's cycles in an order; None where they are not known."""
        if order not in self._known and len(self._known) < self.tries:
            self._known[order] = self._rehearsed(order)
        return self._known.get(order)

    def _rehearsed(self, order: Order) -> int | None:
        def reorder(
            made: dict[Operation, Operation], _: dict[SSAValue, SSAValue]
        ) -> None:
            put_last([made[op] for number in order for op in self.parts[number]])

        return evaluate_change(self.block, reorder, self.target, self.evaluator)
