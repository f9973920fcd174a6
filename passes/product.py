"""Contractions without windows as products of tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from tlf.dialects import graph
from tlf.dialects.access import Accesses
from tlf.dialects.interfaces import ContractionInterface
from tlf.dialects.types import tensor_type
from tlf.passes.replacement import is_planned

Axes = tuple[int, ...]
"""For each axis of a tensor, the iterator that runs along it."""


def projection(accesses: Accesses | None) -> Axes | None:
    """The iterators that accesses are, each used once; none for any other access."""
    if accesses is None:
        return None
    axes: list[int] = []
    for access in accesses:
        is_plain = access.offset == 0 and access.width == 1 and len(access.terms) == 1
        if not is_plain or access.terms[0][1] != 1:
            return None
        axes.append(access.terms[0][0])
    return tuple(axes) if len(set(axes)) == len(axes) else None


@dataclass(frozen=True)
class Product:
    """A contraction without windows: what it multiplies, and along which iterators."""

    op: ContractionInterface
    values: tuple[SSAValue, SSAValue]
    axes: tuple[Axes, Axes]
    result: Axes

    @staticmethod
    def of(op: Operation) -> Product | None:
        """The product that an operation is; none where it starts from a tensor."""
        if not isinstance(op, ContractionInterface) or op.init_value is not None:
            return None
        lhs, rhs = (projection(each) for each in op.operand_accesses()[:2])
        result = projection(op.result_accesses()[0])
        if lhs is None or rhs is None or result is None or is_planned(op):
            return None
        values = cast(tuple[SSAValue, SSAValue], tuple(op.operands[:2]))
        return Product(op, values, (lhs, rhs), result)

    def is_whole(self) -> bool:
        """Whether every iterator runs along an operand."""
        return {*self.axes[0], *self.axes[1]} == {*range(len(self.op.iterators()))}

    def build(self, element: Attribute | None = None) -> graph.ContractOp:
        """The contraction by its maps, of the same element type unless one is given."""
        count = len({*self.axes[0], *self.axes[1]})
        maps = [
            AffineMap(count, 0, tuple(AffineExpr.dimension(axis) for axis in axes))
            for axes in (*self.axes, self.result)
        ]
        made = graph.ContractOp(
            *self.values,
            maps,
            acc=self.op.properties.get("acc"),
            precision=self.op.precision,
            element=element or tensor_type(self.op.results[0]).element_type,
        )
        made.location = self.op.location
        return made
