"""
Analysis of a tiled group: constants that the elements of a tile equal under conditions
on induction variables, such as scores that a mask hides.

Elements that are not known are taken to be finite: a product with 0 is 0, and a sum
with an infinity is that infinity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import inf, isinf, isnan
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import i1
from xdsl.ir import Operation, SSAValue

from tlf.analysis.tiling.group_tiling import GroupTiling
from tlf.analysis.tiling.tile_conditions import (
    ALWAYS,
    NEVER,
    TileConditions,
    is_plain_movement,
)
from tlf.dialects import graph
from tlf.dialects.graph.splat_tensors import splat_scalar_of
from tlf.dialects.graph.tensor_types import element_type_of_value
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ContractionInterface,
    ElementwiseInterface,
    ReductionInterface,
    Scalar,
)
from tlf.dialects.types import dtype_of
from tlf.support.affine.affine_extrema import Term, maximum_of, minimum_of

KnownConstants: TypeAlias = Mapping[Scalar, Term]
"""
Constants that all elements of a tile equal, each with the condition: a term that is at
least 0.
"""

Case: TypeAlias = tuple[Scalar | None, Term]
"""Constant of a tile, or None if its elements are not known, and the condition."""

MAX_CONSTANTS = 8
"""Maximum number of constants of one value."""


class TileConstants:
    """Constants of the values of a tiled group."""

    def __init__(self, tiling: GroupTiling) -> None:
        self.tiling = tiling
        self.conditions = TileConditions(tiling)
        self._constants: dict[SSAValue, KnownConstants] = {}

    def constants_of(self, value: SSAValue) -> KnownConstants:
        """Return the known constants of the tile of a value."""
        if value not in self._constants:
            self._constants[value] = self._evaluate_constants(value)
        return self._constants[value]

    def condition_of_neutral_terms(self, op: AccumulatingInterface) -> Term:
        """
        Return a term that is at least 0 only if the operand tiles of a reduction leave
        its total unchanged.
        """
        neutral = op.neutral_element()
        match op:
            case ContractionInterface():
                factors = op.operands[:2]
            case ReductionInterface():
                factors = op.operands[:1]
            case _:
                return NEVER
        known = (self.constants_of(each).get(neutral, NEVER) for each in factors)
        return maximum_of(known)

    def _evaluate_constants(self, value: SSAValue) -> KnownConstants:
        op = value.owner
        if (splat := splat_scalar_of(value)) is not None:
            return {splat: ALWAYS}
        if element_type_of_value(value) == i1:
            condition = self.conditions.condition_of(value)
            return _merge_cases([(1, condition.if_true), (0, condition.if_false)])
        if not isinstance(op, Operation) or op not in self.tiling.tiles:
            return {}
        match op:
            case graph.SelectOp():
                return _merge_cases(self._cases_of_select(op))
            case _ if is_plain_movement(op):
                return self.constants_of(op.operands[0])
            case ElementwiseInterface():
                return _merge_cases(self._cases_of_elementwise(op))
            case _:
                return {}

    def _cases_of_select(self, op: graph.SelectOp) -> Iterator[Case]:
        """Yield the constants of each branch, where the condition selects it."""
        condition = self.conditions.condition_of(op.condition)
        left, right = map(self.constants_of, (op.lhs, op.rhs))
        for constant, known_if in left.items():
            yield constant, minimum_of([known_if, condition.if_true])
            if constant in right:
                yield constant, minimum_of([known_if, right[constant]])
        for constant, known_if in right.items():
            yield constant, minimum_of([known_if, condition.if_false])

    def _cases_of_elementwise(self, op: ElementwiseInterface) -> Iterator[Case]:
        """Yield the results for all combinations of the known operands."""
        unknown: Case = None, ALWAYS
        choices = [
            [unknown, *self.constants_of(operand).items()] for operand in op.operands
        ]
        for cases in product(*choices):
            if any(constant is not None for constant, _ in cases):
                result = compute_constant(op, [constant for constant, _ in cases])
                yield result, minimum_of(known_if for _, known_if in cases)


def compute_constant(
    op: ElementwiseInterface, operands: Sequence[Scalar | None]
) -> Scalar | None:
    """
    Return the result of an operation on constants, or on any finite elements where an
    operand is None; None if these decide the result.
    """
    known = [each for each in operands if each is not None]
    if len(known) < len(operands):
        return _compute_absorbed_constant(op, operands)
    arrays = [
        np.asarray(number, dtype_of(element_type_of_value(operand)))
        for number, operand in zip(known, op.operands, strict=True)
    ]
    return op.compute_reference(*arrays)[0].item()


def _compute_absorbed_constant(
    op: ElementwiseInterface, operands: Sequence[Scalar | None]
) -> Scalar | None:
    """Return the result that one constant operand determines alone, or None."""
    if len(operands) != 2 or type(op) not in ABSORBED_OPERANDS:
        return None
    left, right = operands
    return ABSORBED_OPERANDS[type(op)](left, right)


def _absorb_in_sum(left: Scalar | None, right: Scalar | None) -> Scalar | None:
    """Return the infinite term."""
    known = left if right is None else right
    return known if known is not None and isinf(known) else None


def _absorb_in_difference(left: Scalar | None, right: Scalar | None) -> Scalar | None:
    return _absorb_in_sum(left, None if right is None else -right)


def _absorb_in_product(left: Scalar | None, right: Scalar | None) -> Scalar | None:
    """Return 0 if a factor is 0."""
    return 0 if 0 in (left, right) else None


def _absorb_in_quotient(left: Scalar | None, _: Scalar | None) -> Scalar | None:
    return 0 if left == 0 else None


def _absorb_in_maximum(left: Scalar | None, right: Scalar | None) -> Scalar | None:
    return inf if inf in (left, right) else None


def _absorb_in_minimum(left: Scalar | None, right: Scalar | None) -> Scalar | None:
    return -inf if -inf in (left, right) else None


ABSORBED_OPERANDS: Mapping[
    type[Operation], Callable[[Scalar | None, Scalar | None], Scalar | None]
] = {
    graph.AddOp: _absorb_in_sum,
    graph.DivOp: _absorb_in_quotient,
    graph.MaximumOp: _absorb_in_maximum,
    graph.MinimumOp: _absorb_in_minimum,
    graph.MulOp: _absorb_in_product,
    graph.SubOp: _absorb_in_difference,
}
"""
Result of a binary operation on one constant and any finite numbers, None for these; or
None if these decide the result.
"""


def _merge_cases(cases: Iterable[Case]) -> KnownConstants:
    """Return the constants of the cases that are known and possible."""
    merged: dict[Scalar, Term] = {}
    for constant, known_if in cases:
        if constant is None or isnan(constant) or known_if == NEVER:
            continue
        if constant in merged:
            merged[constant] = maximum_of([merged[constant], known_if])
        elif len(merged) < MAX_CONSTANTS:
            merged[constant] = known_if
    return merged
