"""Analysis of loads: the bytes that each operation loads from the outermost memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from tlf.analysis.bounds.dataflow import DataflowGraph, is_tensor
from tlf.analysis.bounds.matmul_traffic import is_element_preserving
from tlf.analysis.bounds.op_dependence import Relation
from tlf.analysis.bounds.op_work import OpWork
from tlf.analysis.bounds.tensor_demand import (
    count_unneeded_result_elements,
    operand_demand_of,
)
from tlf.dialects.interfaces import (
    ContractionInterface,
    ElementwiseInterface,
    MovementInterface,
    ReferenceInterface,
    TilingInterface,
)
from tlf.dialects.types import element_count_of, itemsize_of

FloatArray: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class OuterLoads:
    """For each outer tensor, the operations that load it, with the bytes."""

    loads_by_tensor: Sequence[Sequence[tuple[int, int]]]

    def bytes_loaded_per_column(self, relation: Relation) -> FloatArray:
        """
        Return, for each column of a relation, the bytes that its rows read. Of the
        reads of one tensor only the largest counts, as they may overlap.
        """
        total = np.zeros(relation.shape[1])
        for users in self.loads_by_tensor:
            most = np.zeros(relation.shape[1])
            for index, byte_count in users:
                np.maximum(most, relation[index] * float(byte_count), out=most)
            total += most
        return total


def whole_tensor_loads(
    flow: DataflowGraph, outer_tensors: Collection[SSAValue]
) -> OuterLoads:
    """Return an upper bound on loads: each tensor completely, by all of its users."""
    indices = {op: index for index, op in enumerate(flow.operations)}
    return OuterLoads(
        [
            [
                (indices[user], element_count_of(value) * itemsize_of(value))
                for user, _ in flow.users_of(value)
                if user in indices
            ]
            for value in outer_tensors
        ]
    )


@dataclass(frozen=True)
class StepLoads:
    """
    Loads of outer tensors by each step of an operation. Loads may pass through moves
    and element conversions; the narrowest type counts. The initial value of a product
    does not count, because it may be added at any time.
    """

    dataflow: DataflowGraph
    outer_tensors: Collection[SSAValue]
    op_work: OpWork

    def loads_of_operations(self) -> OuterLoads:
        """
        Return the bytes of outer tensors that each operation as a whole certainly
        loads.
        """
        loads: dict[SSAValue, list[tuple[int, int]]] = {}
        for index, op in enumerate(self.dataflow.operations):
            missing = count_unneeded_result_elements(op, self.op_work.demands)
            for position in (
                () if missing is None else self._operands_read_in_every_step(op)
            ):
                operand = self.dataflow.operands_of(op)[position]
                origin, width = self._trace_to_outer_tensor(operand)
                if origin is not None:
                    need = operand_demand_of(op, position, operand, missing or 0, 1)
                    loads.setdefault(origin, []).append((index, need.elements * width))
        return OuterLoads(list(loads.values()))

    def loads_of_other_operands(
        self, op: ReferenceInterface, operand_index: int, value_counts: Sequence[int]
    ) -> tuple[tuple[SSAValue, int], ...]:
        """
        Return the loads of the other operands by the steps of an operation that cover
        `value_counts` values of each iterator: outer tensors, with the bytes.
        """
        loads: list[tuple[SSAValue, int]] = []
        if not isinstance(op, TilingInterface):
            return ()
        for other in self._operands_read_in_every_step(op):
            origin, width = self._trace_to_outer_tensor(
                self.dataflow.operands_of(op)[other]
            )
            accesses = op.indexing_maps()[other]
            if other == operand_index or origin is None or accesses is None:
                continue
            iterators = {term[0] for each in accesses for term in each.terms}
            is_box = all(
                sum(each in iterators for each, _ in access.terms) < 2
                for access in (*(op.indexing_maps()[operand_index] or ()), *accesses)
            )
            if is_box and all(each.is_loop_dim or not each.terms for each in accesses):
                elements = prod(value_counts[each] for each in iterators)
                loads.append((origin, elements * width))
        return tuple(loads)

    def _operands_read_in_every_step(self, op: ReferenceInterface) -> range:
        """
        Return the positions of the operands that each step reads; empty if uncertain.
        """
        match op:
            case ContractionInterface():
                return range(2)
            case ElementwiseInterface() if self.op_work.work_of(op).vector_steps:
                return range(len(op.operands))
            case _:
                return range(0)

    def _trace_to_outer_tensor(self, value: SSAValue) -> tuple[SSAValue | None, int]:
        """
        Return the outer tensor that a value derives from element by element, or None,
        and the narrowest element width on the path in bytes.
        """
        if not is_tensor(value):
            return None, 0
        width = itemsize_of(value)
        while isinstance(
            owner := value.owner, MovementInterface | ElementwiseInterface
        ):
            operands = self.dataflow.operands_of(owner)
            if len(operands) != 1 or not is_element_preserving(
                owner, operands[0], value
            ):
                break
            value = operands[0]
            width = min(width, itemsize_of(value))
        return (value if value in self.outer_tensors else None), width
