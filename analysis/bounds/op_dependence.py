"""Proven dependences of operations on complete elements of earlier results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation

from tlf.analysis.bounds.operand_reads import OperandReads
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ContractionInterface,
    ElementwiseInterface,
    ReferenceInterface,
)

Relation: TypeAlias = NDArray[np.bool_]
"""Row and column are operations, by number."""


@dataclass(frozen=True)
class OpDependence:
    """The operations of a dataflow, by number in its order."""

    requires_element: Relation
    """True if each element of the first needs one of the second, or is it."""
    steps_require_element: Relation
    """True if each step of the first needs a complete element of the second."""
    ancestors: Relation
    """True if the first may need something of the second, or is it."""

    @staticmethod
    def of(reads: OperandReads) -> OpDependence:
        """The dependences of a dataflow."""
        flow = reads.dataflow
        numbers = {op: number for number, op in enumerate(flow.operations)}
        count = len(numbers)
        found = OpDependence(*(np.zeros((count, count), np.bool_) for _ in range(3)))
        for op, number in numbers.items():
            found.requires_element[number, number] = found.ancestors[number, number] = (
                True
            )
            for position, operand in enumerate(flow.operands_of(op)):
                owner = operand.owner
                if not isinstance(owner, ReferenceInterface) or owner not in numbers:
                    continue
                before = numbers[owner]
                found.ancestors[number] |= found.ancestors[before]
                if is_certain := reads.is_always_needed(op, position):
                    found.requires_element[number] |= found.requires_element[before]
                if is_read_in_every_step(op, position, is_certain):
                    found.steps_require_element[number] |= found.requires_element[
                        before
                    ]
        return found


def is_read_in_every_step(op: Operation, position: int, is_certain: bool) -> bool:
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
