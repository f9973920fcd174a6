"""
Legality check of the pass `graph-hoist-scales`, also of rewrites that distribute sums:
upper bounds of values prove that casts to narrower floats remain finite.
"""

from __future__ import annotations

from math import inf, log, log2

from xdsl.ir import Attribute, SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.reduction import ReduceKind
from tlf.dialects.types import is_float, max_finite_value_of_type, tensor_type


def is_finite_after_cast(value: SSAValue, element_type: Attribute) -> bool:
    """
    Return `True` if all finite elements of a value remain finite in another type.
    """
    limit = max_finite_value_of_type(element_type)
    while not _has_type_range_within(value, limit):
        owner = value.owner
        if not isinstance(owner, graph.CastOp):
            return _is_bounded_by_producer(value, limit)
        value = owner.operand
        if not is_float(tensor_type(value).element_type):
            return False
    return True


def _has_type_range_within(value: SSAValue, limit: float) -> bool:
    """
    Return `True` if the largest finite value of the type of `value` is at most twice
    the limit.
    """
    largest = max_finite_value_of_type(tensor_type(value).element_type)
    return log2(largest) <= log2(limit) + 1


def _is_bounded_by_producer(value: SSAValue, limit: float) -> bool:
    """
    Return `True` if the operation that computes a value bounds its elements by a limit.
    """
    owner = value.owner
    if isinstance(owner, graph.ExpOp):
        return _upper_bound_of(owner.operand) <= log(limit)
    return isinstance(owner, graph.TanhOp | graph.ErfOp | graph.SigmoidOp)


def _upper_bound_of(value: SSAValue) -> float:
    """Return an upper bound of the elements of a value; infinite if none is known."""
    owner = value.owner
    if not isinstance(owner, graph.SubOp):
        return inf
    maximum = owner.rhs.owner
    is_maximum = (
        isinstance(maximum, graph.ReduceOp)
        and maximum.reduce_kind is ReduceKind.MAX
        and maximum.operand is owner.lhs
    )
    return 0.0 if is_maximum else inf
