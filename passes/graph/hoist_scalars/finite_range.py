"""Upper bounds on values that prove that they stay finite in a narrower float type."""

from __future__ import annotations

from math import inf, log, log2

from xdsl.ir import Attribute, SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.reduction import ReduceKind
from tlf.dialects.types import is_float, max_finite, tensor_type


def is_finite_in(value: SSAValue, element: Attribute) -> bool:
    """
    Return `True` if all finite elements of a value are finite in another type, too.
    """
    limit = max_finite(element)
    while not _has_similar_range(value, limit):
        owner = value.owner
        if not isinstance(owner, graph.CastOp):
            return _is_bounded_by(value, limit)
        value = owner.operand
        if not is_float(tensor_type(value).element_type):
            return False
    return True


def _has_similar_range(value: SSAValue, limit: float) -> bool:
    """Return `True` if the type of a value has about the range of a limit, or less."""
    own = max_finite(tensor_type(value).element_type)
    return log2(own) <= log2(limit) + 1


def _is_bounded_by(value: SSAValue, limit: float) -> bool:
    """
    Return `True` if the operation that computes a value implies that no element is
    above a limit.
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
    most = owner.rhs.owner
    is_greatest = (
        isinstance(most, graph.ReduceOp)
        and most.combination is ReduceKind.MAX
        and most.operand is owner.lhs
    )
    return 0.0 if is_greatest else inf
