"""Decision on fills: the fills that accumulations replace by overwriting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Generic

from tlf.planner.folding.fold_facts import (
    AccumulationFacts,
    FillFacts,
    FoldOperation,
    OpT_co,
    blocks_in,
)


@dataclass(frozen=True)
class OverwrittenFills(Generic[OpT_co]):
    """Decision to drop the fills of all outputs of an accumulation."""

    fills: Sequence[OpT_co]
    accumulation: OpT_co
    loops: Sequence[OpT_co]
    """Loops around the accumulation but not around the fills, outermost first."""


def select_overwritten_fills(
    operations: Sequence[FoldOperation[OpT_co]],
) -> list[OverwrittenFills[OpT_co]]:
    """
    Return the fills of a function with the neutral element whose next access is an
    accumulation into the whole buffer.
    """
    found: dict[int, tuple[AccumulationFacts, list[OverwrittenFills[OpT_co]]]] = {}
    for block in blocks_in(operations):
        for position, operation in enumerate(block):
            if (fill := operation.fill) is None:
                continue
            loops, user = _find_next_access(fill, islice(block, position + 1, None))
            if user is None or (accumulation := user.accumulation) is None:
                continue
            if _can_overwrite(accumulation, fill):
                _, fills = found.setdefault(id(user), (accumulation, []))
                fills.append(OverwrittenFills([operation.op], user.op, loops))
    return [
        replace(fills[0], fills=[op for each in fills for op in each.fills])
        for accumulation, fills in found.values()
        if len(fills) == len(accumulation.outputs)
        and all(each.loops == fills[0].loops for each in fills)
    ]


def _find_next_access(
    fill: FillFacts, operations: Iterable[FoldOperation[OpT_co]]
) -> tuple[list[OpT_co], FoldOperation[OpT_co] | None]:
    """
    Return the next operation that accesses a filled buffer, and the loops around it,
    which run at least once.
    """
    loops: list[OpT_co] = []
    while True:
        accesses = (each for each in operations if fill.buffer in each.accessed)
        found = next(accesses, None)
        if found is None or found.body is None or not found.has_iterations:
            return loops, found
        loops.append(found.op)
        operations = found.body


def _can_overwrite(accumulation: AccumulationFacts, fill: FillFacts) -> bool:
    """Return `True` if overwriting has the same result as accumulating onto a fill."""
    outputs = [each for each in accumulation.outputs if each.buffer == fill.buffer]
    return (
        len(outputs) == 1
        and fill.buffer not in accumulation.inputs
        and fill.value == outputs[0].neutral_element
        and fill.view in outputs[0].whole_views
    )
