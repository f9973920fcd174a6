"""
IR utility of the dialects: build the `graph` operation that combines partial results of
a reduction.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.elementwise import BinaryOperation
from tlf.dialects.graph.reduction import ReduceKind
from tlf.dialects.interfaces import AccumulatingInterface

COMBINE_OPS: Mapping[ReduceKind, type[BinaryOperation]] = {
    ReduceKind.SUM: graph.AddOp,
    ReduceKind.PROD: graph.MulOp,
    ReduceKind.MAX: graph.MaximumOp,
    ReduceKind.MIN: graph.MinimumOp,
}
"""Operation that combines two partial results of a reduction, by its kind."""


def reduce_kind_of(op: AccumulatingInterface) -> ReduceKind:
    """Return the kind of combination of a reduction or a contraction."""
    return op.reduce_kind if isinstance(op, graph.ReduceOp) else ReduceKind.SUM


def build_combining_operation(
    op: AccumulatingInterface, lhs: SSAValue, rhs: SSAValue
) -> BinaryOperation:
    """Build the operation that combines two partial results of a reduction."""
    return COMBINE_OPS[reduce_kind_of(op)](lhs, rhs)
