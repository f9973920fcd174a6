"""Analysis of groups: splat constants whose values affect no plan and no cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import copysign, isfinite

from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import Operation, SSAValue

from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ConstantInterface,
    MovementInterface,
)

SPECIAL_NUMBERS = (0.0, 1.0)
"""Magnitudes of constants that simplify the operations which read them."""


def label_arbitrary_splats(operations: Sequence[Operation]) -> Mapping[Operation, str]:
    """
    Return the splat constants of a group, in program order, whose values may be others
    without effect on its plans, each with its sign and a number for its magnitude.

    Corrections of cascades depend on the constants that operations read together with
    results of reductions, so that these are excluded, as are numbers that simplify
    operations, and integers, which may be indices.
    """
    if any(op.regions for op in operations):
        return {}
    numbers = {op: _float_splat_of(op) for op in operations}
    if all(number is None for number in numbers.values()):
        return {}
    relevant = set(_constants_read_with_reductions(operations))
    labels, magnitudes = dict[Operation, str](), dict[float, int]()
    for op, number in numbers.items():
        if number is not None and op not in relevant:
            index = magnitudes.setdefault(abs(number), len(magnitudes))
            labels[op] = f"{copysign(1, number):+.0f} x {index}"
    return labels


def _float_splat_of(op: Operation) -> float | None:
    """Return the float that all elements equal; None if it is special or unknown."""
    splat = op.splat_attribute() if isinstance(op, ConstantInterface) else None
    if not isinstance(splat, FloatAttr):
        return None
    number = splat.value.data
    return number if isfinite(number) and abs(number) not in SPECIAL_NUMBERS else None


def _constants_read_with_reductions(
    operations: Sequence[Operation],
) -> Iterator[Operation]:
    """
    Yield the operations that define the operands, traced through movements, of those
    operations that depend on the result of a reduction.
    """
    dependent = set[SSAValue]()
    for op in operations:
        is_dependent = not dependent.isdisjoint(op.operands)
        if is_dependent or isinstance(op, AccumulatingInterface):
            dependent.update(op.results)
        for value in op.operands if is_dependent else ():
            owner = value.owner
            while isinstance(owner, MovementInterface) and len(owner.operands) == 1:
                owner = owner.operands[0].owner
            if isinstance(owner, Operation):
                yield owner
