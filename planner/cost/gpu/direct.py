"""Loads that go to registers, as they are too narrow to be left to the memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from tlf.analysis.tiling.model import GroupTiling, Scope, elements
from tlf.dialects.interfaces import AccumulatingInterface, ContractionInterface
from tlf.planner.cost.gpu.accesses import Accesses

ASYNCHRONOUS = 4
"""The least bytes that a thread has copied to shared memory while it goes on."""


@dataclass(frozen=True)
class Direct:
    """The elements that every iteration of a reduction loads into registers."""

    factors: int
    """Of what products multiply, which then wait for them."""
    others: int

    @staticmethod
    def of(tiling: GroupTiling, accesses: Accesses) -> Direct:
        """
        Return the elements that every iteration of a group's reduction loads into
        registers, as its threads load too few bytes at once.
        """
        counts = {True: 0, False: 0}
        for value, count in _narrow(tiling, accesses):
            counts[_is_factor(tiling, value)] += count
        return Direct(counts[True], counts[False])


def _narrow(tiling: GroupTiling, accesses: Accesses) -> Iterator[tuple[SSAValue, int]]:
    """Values of which threads load few bytes at once, with the elements of a tile."""
    for (value, scope), boxes in tiling.reads.items():
        if scope is not Scope.OUTER:
            for box in boxes:
                if accesses.masked_width(value, box) < ASYNCHRONOUS:
                    yield value, elements(box)
    for op in tiling.gathered:
        tiled = tiling.tiles[op]
        if tiled.scope is not Scope.INNER:
            continue
        if accesses.gathered_width(tiled) < ASYNCHRONOUS:
            yield op.results[0], elements(tiled.result)


def _is_factor(tiling: GroupTiling, value: SSAValue) -> bool:
    """
    Return `True` if a product reads a value, or one computed from it without
    accumulation.
    """
    later = _accumulated(tiling)
    pending, seen = [value], set[SSAValue]()
    while pending:
        each = pending.pop()
        if each in seen:
            continue
        seen.add(each)
        for use in each.uses:
            op = use.operation
            if op not in tiling.tiles:
                continue
            if isinstance(op, ContractionInterface):
                return True
            if op not in later:
                pending += op.results
    return False


def _accumulated(tiling: GroupTiling) -> set[Operation]:
    """Return the accumulating operations, and all that depend on their results."""
    found = set[Operation]()
    for op in tiling.tiles:
        needs = any(operand.owner in found for operand in op.operands)
        if needs or isinstance(op, AccumulatingInterface):
            found.add(op)
    return found
