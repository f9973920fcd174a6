"""
Ranges of values in narrower types: values that stay finite, judged by the operations
that compute them.
"""

from __future__ import annotations

from math import inf, log, log2

from xdsl.ir import Attribute, SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.reduction import ReduceKind
from tlf.dialects.types import greatest, is_float, tensor_type


def stays_finite(value: SSAValue, element: Attribute) -> bool:
    """
    Return `True` if all finite numbers that a value may hold are finite in another
    type.
    """
    limit = greatest(element)
    while not _is_held(value, limit):
        owner = value.owner
        if not isinstance(owner, graph.CastOp):
            return _stays_below(value, limit)
        value = owner.operand
        if not is_float(tensor_type(value).element_type):
            return False
    return True


def _is_held(value: SSAValue, limit: float) -> bool:
    """Return `True` if the type of a value has no finite numbers far above a limit."""
    own = greatest(tensor_type(value).element_type)
    return log2(own) <= log2(limit) + 1


def _stays_below(value: SSAValue, limit: float) -> bool:
    """
    Return `True` if the operation that computes a value implies that no element is
    above a limit.
    """
    owner = value.owner
    if isinstance(owner, graph.ExpOp):
        return _highest(owner.operand) <= log(limit)
    return isinstance(owner, graph.TanhOp | graph.ErfOp | graph.SigmoidOp)


def _highest(value: SSAValue) -> float:
    """A number that no element is above; infinite where nothing is known."""
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
