"""Certain dependences of operations on the first elements of others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation

from tlf.analysis.bounds.reads import Reads
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ContractionInterface,
    ElementwiseInterface,
    ReferenceInterface,
)

Relation: TypeAlias = NDArray[np.bool_]
"""Row and column are operations, by number."""


@dataclass(frozen=True)
class Dependence:
    """The operations of a dataflow, by number in its order."""

    complete: Relation
    """True if each element of the first needs one of the second, or is it."""
    starts: Relation
    """True if each step of the first needs a complete element of the second."""
    ancestors: Relation
    """True if the first may need something of the second, or is it."""

    @staticmethod
    def of(reads: Reads) -> Dependence:
        """The dependences of a dataflow."""
        flow = reads.flow
        numbers = {op: number for number, op in enumerate(flow.operations)}
        count = len(numbers)
        found = Dependence(*(np.zeros((count, count), np.bool_) for _ in range(3)))
        for op, number in numbers.items():
            found.complete[number, number] = found.ancestors[number, number] = True
            for position, operand in enumerate(flow.operands(op)):
                owner = operand.owner
                if not isinstance(owner, ReferenceInterface) or owner not in numbers:
                    continue
                before = numbers[owner]
                found.ancestors[number] |= found.ancestors[before]
                if is_certain := reads.needs(op, position):
                    found.complete[number] |= found.complete[before]
                if starts_with(op, position, is_certain):
                    found.starts[number] |= found.complete[before]
        return found


def starts_with(op: Operation, position: int, is_certain: bool) -> bool:
    """
    Return `True` if each step of an operation reads an element of an operand. The
    initial value of a sum may be added last; a partial sum may have all of its terms
    elsewhere.
    """
    match op:
        case ContractionInterface():
            return position < 2
        case AccumulatingInterface():
            return position == 0 and len(op.inputs) == 1
        case ElementwiseInterface():
            return is_certain
        case _:
            return False
