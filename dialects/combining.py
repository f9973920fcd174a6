"""How results of a reduction become one."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.elementwise import BinaryOperation
from tlf.dialects.graph.reduction import ReduceKind
from tlf.dialects.interfaces import AccumulatingInterface

COMBINED: Mapping[ReduceKind, type[BinaryOperation]] = {
    ReduceKind.SUM: graph.AddOp,
    ReduceKind.PROD: graph.MulOp,
    ReduceKind.MAX: graph.MaximumOp,
    ReduceKind.MIN: graph.MinimumOp,
}
"""What makes one reduction of two."""


def kind_of(op: AccumulatingInterface) -> ReduceKind:
    """How results of a reduction or a contraction are combined."""
    return op.combination if isinstance(op, graph.ReduceOp) else ReduceKind.SUM


def combined(
    op: AccumulatingInterface, one: SSAValue, other: SSAValue
) -> BinaryOperation:
    """The operation that makes one result of two of a reduction or a contraction."""
    return COMBINED[kind_of(op)](one, other)
