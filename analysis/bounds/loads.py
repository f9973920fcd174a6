"""Reads by operations of tensors in the outermost memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from tlf.analysis.bounds.dataflow import Dataflow, elements_of, is_tensor, width_of
from tlf.analysis.bounds.dependence import Relation
from tlf.analysis.bounds.efforts import Efforts
from tlf.analysis.bounds.needs import missing_of, read_by
from tlf.analysis.bounds.reuse import keeps_elements
from tlf.dialects.interfaces import (
    ContractionInterface,
    ElementwiseInterface,
    MovementInterface,
    ReferenceInterface,
    TilingInterface,
)

Numbers: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Loads:
    """For each tensor the operations that read it, by number, with the bytes."""

    users: Sequence[Sequence[tuple[int, int]]]

    def of(self, relation: Relation) -> Numbers:
        """
        For each column of a relation the bytes that the rows read which it names. What
        several of them read may be the same.
        """
        total = np.zeros(relation.shape[1])
        for users in self.users:
            most = np.zeros(relation.shape[1])
            for number, moved in users:
                np.maximum(most, relation[number] * float(moved), out=most)
            total += most
        return total


def all_loads(flow: Dataflow, outside: Collection[SSAValue]) -> Loads:
    """Each tensor whole, by whatever uses it: no less than what is read."""
    numbers = {op: number for number, op in enumerate(flow.operations)}
    return Loads(
        [
            [
                (numbers[user], elements_of(value) * width_of(value))
                for user, _ in flow.users(value)
                if user in numbers
            ]
            for value in outside
        ]
    )


@dataclass(frozen=True)
class Origins:
    """
    Reads by each step of an operation of tensors in the outermost memory: inputs of
    products, and operands of other work. They may pass through moves and conversions of
    elements, of which the narrowest type counts. The initial value of a product counts
    nothing, since it may be added at any time.
    """

    flow: Dataflow
    outside: Collection[SSAValue]
    efforts: Efforts

    def loads(self) -> Loads:
        """Return the reads of whole operations."""
        found: dict[SSAValue, list[tuple[int, int]]] = {}
        for number, op in enumerate(self.flow.operations):
            missing = missing_of(op, self.efforts.needs)
            for position in () if missing is None else self._positions(op):
                operand = self.flow.operands(op)[position]
                origin, width = self._origin(operand)
                if origin is not None:
                    need = read_by(op, position, operand, missing or 0, 1)
                    found.setdefault(origin, []).append((number, need.elements * width))
        return Loads(list(found.values()))

    def read_with(
        self, op: ReferenceInterface, position: int, values: Sequence[int]
    ) -> tuple[tuple[SSAValue, int], ...]:
        """
        Return the reads of the other operands by the steps of an operation that cover
        so many values of each iterator: tensors in the outermost memory, with the
        bytes.
        """
        found: list[tuple[SSAValue, int]] = []
        if not isinstance(op, TilingInterface):
            return ()
        for other in self._positions(op):
            origin, width = self._origin(self.flow.operands(op)[other])
            accesses = op.operand_accesses()[other]
            if other == position or origin is None or accesses is None:
                continue
            moving = {term[0] for each in accesses for term in each.terms}
            is_box = all(
                sum(each in moving for each, _ in access.terms) < 2
                for access in (*(op.operand_accesses()[position] or ()), *accesses)
            )
            if is_box and all(each.is_plain or not each.terms for each in accesses):
                elements = prod(values[each] for each in moving)
                found.append((origin, elements * width))
        return tuple(found)

    def _positions(self, op: ReferenceInterface) -> range:
        """The operands that count."""
        match op:
            case ContractionInterface():
                return range(2)
            case ElementwiseInterface() if self.efforts.of(op).steps:
                return range(len(op.operands))
            case _:
                return range(0)

    def _origin(self, value: SSAValue) -> tuple[SSAValue | None, int]:
        """
        The tensor outside whose elements make those of a value, each one of them, and
        the bytes of the narrowest on the way.
        """
        if not is_tensor(value):
            return None, 0
        width = width_of(value)
        while isinstance(
            owner := value.owner, MovementInterface | ElementwiseInterface
        ):
            operands = self.flow.operands(owner)
            if len(operands) != 1 or not keeps_elements(owner, operands[0], value):
                break
            value = operands[0]
            width = min(width, width_of(value))
        return (value if value in self.outside else None), width
