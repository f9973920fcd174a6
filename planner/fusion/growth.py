"""
Recomputation by contractions and reductions in loops over more than their results, as
those of padding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from xdsl.ir import SSAValue

from tlf.analysis.operations.form import Form, Forms
from tlf.analysis.recurrence.axes import AxisClasses
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ReductionInterface,
    TilingInterface,
)
from tlf.dialects.types import tensor_type

GROWN = Fraction(5, 4)
"""Loops may run over so many times the elements of such a result."""

REASON = "a contraction or reduction would run for what is put around its result"


def objection(operations: Sequence[TilingInterface], forms: Forms) -> str | None:
    """
    Return why operations, in program order, may not share loops with a contraction or a
    reduction before them: they make something larger of its result, as padding does,
    and every tile of that would come with a tile of what computes it. `None` if they
    may.
    """
    grown: dict[SSAValue, Fraction] = {}
    for op in operations:
        factor = _grown(op, grown, forms)
        if factor is None:
            continue
        if factor > GROWN:
            return REASON
        grown.update(dict.fromkeys(op.results, factor))
    return None


def is_serial(operations: Sequence[TilingInterface], forms: Forms) -> bool:
    """
    Return `True` if a reduction runs along an axis for each index of which another one
    has a result: in one loop these would be computed one after the other.
    """
    found = [op for op in operations if isinstance(op, ReductionInterface)]
    if len(found) < 2:
        return False
    axes = AxisClasses.of(operations, forms)
    reduced = {
        axes.of_iterator(op, each) for op in found for each in forms.of(op).reductions
    }
    return any(
        axes.of_iterator(op, each) in reduced
        for op in found
        for each in forms.of(op).parallel
    )


def _grown(
    op: TilingInterface, grown: Mapping[SSAValue, Fraction], forms: Forms
) -> Fraction | None:
    """
    Return the ratio of an operation's loops to the result of an accumulation that it
    depends on; None if there is no such result.
    """
    factors = [
        grown[operand] * _growth(op, position, forms.of(op))
        for position, operand in enumerate(op.operands)
        if operand in grown
    ]
    if isinstance(op, AccumulatingInterface):
        factors.append(Fraction(1))
    return max(factors, default=None)


def _growth(op: TilingInterface, position: int, form: Form) -> Fraction:
    """
    Return the number of iterations for each element of an operand, along its axes.
    """
    accesses = form.operands[position]
    if accesses is None:
        return Fraction(1)
    shape = tensor_type(op.operands[position]).get_shape()
    growth = Fraction(1)
    for access, extent in zip(accesses, shape, strict=True):
        if len(access.terms) == 1 and access.terms[0][1] == 1 and extent > 1:
            growth *= Fraction(form.extents[access.terms[0][0]], extent)
    return max(growth, Fraction(1))
