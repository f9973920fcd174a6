"""What running values are kept within while others compute with them."""

from __future__ import annotations

from collections.abc import Iterator
from math import copysign, isinf
from typing import TYPE_CHECKING

from xdsl.ir import Operation, SSAValue

from tlf.dialects.interfaces import AccumulatingInterface
from tlf.dialects.types import greatest, is_float, tensor_type
from tlf.passes.cascades.cascade import Cascade

if TYPE_CHECKING:
    from tlf.passes.cascades.corrections import Correction


def is_carried(cascade: Cascade, op: Operation) -> bool:
    """
    Whether a loop hands a value on to its next iteration: a total, or what is computed
    of totals and corrects others.
    """
    if op in cascade.steps:
        return True
    return op in cascade.rows and any(
        op.results[0] in correction.values for _, correction in corrections(cascade)
    )


def corrections(cascade: Cascade) -> Iterator[tuple[Operation, Correction]]:
    """The steps of a cascade whose terms depend on others."""
    for op, step in cascade.steps.items():
        if step.correction is not None:
            yield op, step.correction


def limited(cascade: Cascade) -> set[SSAValue]:
    """What is limited while sums run, and what is computed of it alone."""
    steps = [op for op in cascade.steps if limits_of(cascade, op)]
    found: set[SSAValue] = {op.results[0] for op in steps}
    for op in cascade.rows:
        if not found.isdisjoint(op.operands):
            found.add(op.results[0])
    return found


def limits_of(cascade: Cascade, op: Operation) -> tuple[float, ...]:
    """
    The numbers that a running value is not to be beyond while others compute with it:
    the least finite one, which is negative, or the greatest, or both. The total of a
    step has one if it starts from an infinity, and what is computed of it has both.
    """
    element = tensor_type(op.results[0]).element_type
    if not is_float(element):
        return ()
    if isinstance(op, AccumulatingInterface):
        neutral = op.neutral()
        is_read = op in cascade.steps and op is not cascade.anchor
        is_limited = is_read and isinf(neutral)
        return (copysign(greatest(element), neutral),) if is_limited else ()
    if is_carried(cascade, op) and op.results[0] in limited(cascade):
        return -greatest(element), greatest(element)
    return ()
