"""
Analysis of operations: proven dependences on complete elements of earlier results.
"""

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
"""Boolean matrix whose rows and columns are operations, by index."""


@dataclass(frozen=True)
class OpDependence:
    """Dependences between the operations of a dataflow, by index in its order."""

    requires_element: Relation
    """
    True if each element of the row operation needs an element of the column operation,
    or both are the same.
    """
    steps_require_element: Relation
    """
    True if each step of the row operation needs a complete element of the column
    operation.
    """
    ancestors: Relation
    """
    True if the row operation may depend on the column operation, or both are the same.
    """

    @staticmethod
    def of(reads: OperandReads) -> OpDependence:
        """
        Compute the dependence matrices of the operations of the dataflow of `reads`.
        """
        flow = reads.dataflow
        indices = {op: index for index, op in enumerate(flow.operations)}
        count = len(indices)
        dependence = OpDependence(
            *(np.zeros((count, count), np.bool_) for _ in range(3))
        )
        for op, index in indices.items():
            dependence.requires_element[index, index] = dependence.ancestors[
                index, index
            ] = True
            for position, operand in enumerate(flow.operands_of(op)):
                owner = operand.owner
                if not isinstance(owner, ReferenceInterface) or owner not in indices:
                    continue
                producer = indices[owner]
                dependence.ancestors[index] |= dependence.ancestors[producer]
                if is_certain := reads.is_operand_always_needed(op, position):
                    dependence.requires_element[index] |= dependence.requires_element[
                        producer
                    ]
                if is_read_in_every_step(op, position, is_certain):
                    dependence.steps_require_element[index] |= (
                        dependence.requires_element[producer]
                    )
        return dependence


def is_read_in_every_step(op: Operation, operand_index: int, is_certain: bool) -> bool:
    """
    Return `True` if each step of an operation reads an element of an operand. The
    initial value of a sum may be added last; a partial sum may contain terms of other
    operands only.
    """
    match op:
        case ContractionInterface():
            return operand_index < 2
        case AccumulatingInterface():
            return operand_index == 0 and len(op.inputs) == 1
        case ElementwiseInterface():
            return is_certain
        case _:
            return False
