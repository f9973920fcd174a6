"""
Analysis of cascades: finite limits of running values that other steps compute with.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import copysign, isfinite, isinf
from typing import TYPE_CHECKING

from xdsl.ir import Operation, SSAValue

from tlf.analysis.recurrence.cascade import Cascade
from tlf.analysis.recurrence.reduction_restarts import is_used_arithmetically
from tlf.dialects import graph
from tlf.dialects.graph.splat_tensors import splat_scalar_of
from tlf.dialects.interfaces import AccumulatingInterface
from tlf.dialects.types import is_float, max_finite_value_of_type, tensor_type

if TYPE_CHECKING:
    from tlf.analysis.recurrence.correction_factors import Correction


def is_loop_carried(cascade: Cascade, op: Operation) -> bool:
    """
    Return `True` if a value is loop-carried: a total, or a value computed from totals
    that corrects others.
    """
    if op in cascade.steps:
        return True
    return op in cascade.row_operations and any(
        op.results[0] in correction.values
        for _, correction in steps_with_correction(cascade)
    )


def steps_with_correction(cascade: Cascade) -> Iterator[tuple[Operation, Correction]]:
    """Yield the steps of a cascade that have a correction."""
    for op, step in cascade.steps.items():
        if step.correction is not None:
            yield op, step.correction


def values_to_clamp(cascade: Cascade) -> set[SSAValue]:
    """
    Return the running values that are clamped in the loop, and the rows computed from
    them.
    """
    steps = [op for op in cascade.steps if finite_limits_of(cascade, op)]
    found: set[SSAValue] = {op.results[0] for op in steps}
    for op in cascade.row_operations:
        if not found.isdisjoint(op.operands):
            found.add(op.results[0])
    return found


def finite_limits_of(cascade: Cascade, op: Operation) -> tuple[float, ...]:
    """
    Return the finite limits to which a running value is clamped while others compute
    with it: the lowest finite number, which is negative, the largest, or both. The
    total of a step has one limit if it starts from an infinity. A row computed from it
    has both, unless it is a maximum or minimum that bounds one end.
    """
    element = tensor_type(op.results[0]).element_type
    if not is_float(element) or not _needs_limit(cascade, op):
        return ()
    sides = sorted(_possible_infinity_signs(cascade, op.results[0]))
    return tuple(copysign(max_finite_value_of_type(element), side) for side in sides)


def _needs_limit(cascade: Cascade, op: Operation) -> bool:
    """
    Return `True` if others compute with the running value of an operation, so that it
    must be clamped to finite numbers.
    """
    if not isinstance(op, AccumulatingInterface):
        return is_loop_carried(cascade, op) and op.results[0] in values_to_clamp(
            cascade
        )
    if (
        op not in cascade.steps
        or op is cascade.anchor
        or not isinf(op.neutral_element())
    ):
        return False
    if not is_used_arithmetically(
        op.results[0], cascade.steps, cascade.dependent_operations
    ):
        return False
    readers = (use.operation for use in op.results[0].uses)
    return not all(
        reader in cascade.row_operations
        and not _possible_infinity_signs(cascade, reader.results[0])
        for reader in readers
        if reader in cascade.dependent_operations or reader in cascade.steps
    )


def _possible_infinity_signs(cascade: Cascade, value: SSAValue) -> frozenset[int]:
    """Return the signs of infinity that a value may have in the loop: -1, 1 or both."""
    op = value.owner
    if isinstance(op, AccumulatingInterface) and isinf(neutral := op.neutral_element()):
        return frozenset({-1 if neutral < 0 else 1})
    constant = splat_scalar_of(value)
    if constant is not None and isfinite(constant):
        return frozenset()
    if (
        isinstance(op, graph.MaximumOp | graph.MinimumOp)
        and op in cascade.row_operations
    ):
        bound = -1 if isinstance(op, graph.MaximumOp) else 1
        left, right = (_possible_infinity_signs(cascade, each) for each in op.operands)
        # The maximum of a finite number and any other is not negative infinity.
        return left | right if left and right else (left | right) - {bound}
    return frozenset({-1, 1})
