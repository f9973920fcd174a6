"""
Operation base of the `graph` dialect: operations that return their operand unchanged.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.interfaces import HasFolderInterface
from xdsl.ir import Attribute, SSAValue

from tlf.dialects.graph.cast import CastOp
from tlf.dialects.graph.elementwise import UnaryOperation
from tlf.dialects.interfaces import Array, DecompositionInterface


class IdentityOperation(
    UnaryOperation, DecompositionInterface, HasFolderInterface, abc.ABC
):
    """
    Base of operations that return their operand. They fold away if operand and result
    types are equal, and decompose to a cast if layouts differ.
    """

    def compute_in_numpy(self, *operands: Array) -> Array:
        return operands[0]

    def build_scalar_computation(
        self, builder: Builder, *elements: SSAValue
    ) -> SSAValue:
        return elements[0]

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        if self.operand.type == self.result.type:
            return [self.operand]
        cast = CastOp.create(operands=[self.operand], result_types=self.result_types)
        return builder.insert(cast).results

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        return [self.operand] if self.operand.type == self.result.type else None

    def flops(self) -> int:
        return 0
