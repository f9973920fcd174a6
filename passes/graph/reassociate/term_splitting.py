"""
Helper of the rewrite that distributes sums: splitting of values into terms, each a
constant times invariant times varying factors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial

from xdsl.ir import Operation, OpResult, SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.reduction import ReduceKind
from tlf.dialects.graph.tensor_builder import TensorBuilder
from tlf.dialects.interfaces import AccumulatingInterface, ElementwiseInterface
from tlf.dialects.types import is_float, tensor_type
from tlf.dialects.value_postorder import compute_in_postorder
from tlf.passes.graph.pointwise import is_varying_along
from tlf.passes.graph.reassociate.broadcast_views import (
    can_reshape_broadcast,
    is_axis_preserved,
    reshape_broadcast_like,
)
from tlf.passes.graph.reassociate.leading_elements import LeadingElements
from tlf.planner.settings.search_budgets import REASSOCIATION


@dataclass(frozen=True)
class FactorProduct:
    """A quotient of two products of values, for which no operations are built yet."""

    numerators: tuple[SSAValue, ...] = ()
    denominators: tuple[SSAValue, ...] = ()

    def __mul__(self, other: FactorProduct) -> FactorProduct:
        return FactorProduct(
            self.numerators + other.numerators, self.denominators + other.denominators
        )

    def __bool__(self) -> bool:
        return bool(self.numerators or self.denominators)

    @property
    def equality_key(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Key that is equal for quotients of identical values in any order."""
        above, below = (
            tuple(sorted(id(value) for value in values))
            for values in (self.numerators, self.denominators)
        )
        return above, below

    def __iter__(self) -> Iterator[SSAValue]:
        yield from self.numerators
        yield from self.denominators

    def map_values(self, function: Callable[[SSAValue], SSAValue]) -> FactorProduct:
        """Return a new quotient of the results of `function` on each value."""
        return FactorProduct(
            tuple(map(function, self.numerators)),
            tuple(map(function, self.denominators)),
        )

    def build_quotient(self, program: TensorBuilder) -> SSAValue | None:
        """Build operations that compute the quotient; None if there are no factors."""
        total = _build_product_of_values(self.numerators, program)
        if (divisor := _build_product_of_values(self.denominators, program)) is None:
            return total
        return program.div(program.constant(1.0) if total is None else total, divisor)


@dataclass(frozen=True)
class Term:
    """
    The product of a constant, factors that are constant along an axis, and varying
    factors.
    """

    number: float
    invariant: FactorProduct
    varying: FactorProduct

    def __mul__(self, other: Term) -> Term:
        number = self.number * other.number
        return Term(
            number, self.invariant * other.invariant, self.varying * other.varying
        )

    def __iter__(self) -> Iterator[SSAValue]:
        yield from self.invariant
        yield from self.varying

    def __neg__(self) -> Term:
        return replace(self, number=-self.number)


@dataclass
class TermSplitter:
    """
    Splits float values into terms along an axis. A value is split only if its linear
    expression has an operand that is constant along the axis and depends on sums or
    maxima.
    """

    axis: int
    """The axis as a negative index: -1 is the last axis."""
    program: TensorBuilder
    """Builder of the values of terms."""
    centers_terms: bool = False
    """
    True if sums of varying and constant terms are centered at the mean of the leading
    elements.
    """
    _known: dict[SSAValue, list[Term]] = field(
        default_factory=dict[SSAValue, list[Term]]
    )
    _centered: dict[SSAValue, list[Term]] = field(
        default_factory=dict[SSAValue, list[Term]]
    )
    _mixed: dict[SSAValue, bool] = field(default_factory=dict[SSAValue, bool])
    _accumulated: dict[SSAValue, bool] = field(default_factory=dict[SSAValue, bool])
    _leading: LeadingElements = field(init=False)

    def __post_init__(self) -> None:
        self._leading = LeadingElements(
            self.axis, REASSOCIATION.leading_elements, self.program.builder
        )

    def is_varying(self, value: SSAValue) -> bool:
        """Return `True` if a value varies along the axis."""
        return is_varying_along(value, self.axis)

    def has_accumulated_invariant_term(self, value: SSAValue) -> bool:
        """
        Return `True` if a varying value is linear in results of reductions that are
        constant along the axis.
        """
        return compute_in_postorder(
            value,
            self._mixed,
            self._varying_operands,
            self._has_operand_worth_splitting,
        )

    def _varying_operands(self, value: SSAValue) -> Iterator[SSAValue]:
        """Yield the varying operands of the linear operation that computes a value."""
        if (owner := self._linear_producer(value)) is not None:
            yield from filter(self.is_varying, owner.operands)

    def _linear_producer(self, value: SSAValue) -> Operation | None:
        """
        Return the operation that computes a varying value, if it can be split into
        terms; else None.
        """
        if not isinstance(value, OpResult) or not self.is_varying(value):
            return None
        owner = value.op
        is_view = isinstance(owner, graph.ReshapeOp) and is_axis_preserved(
            owner, self.axis
        )
        return owner if is_view or can_split_into_terms(owner) else None

    def _has_operand_worth_splitting(self, value: SSAValue) -> bool:
        """Return `True` if an invariant term of `value` depends on sums or maxima."""
        if (owner := self._linear_producer(value)) is None:
            return False
        return any(
            self.has_accumulated_invariant_term(each)
            if self.is_varying(each)
            else self._is_computed_from_accumulation(each)
            for each in owner.operands
        )

    def _is_computed_from_accumulation(self, value: SSAValue) -> bool:
        """
        Return `True` if a value is the result of a reduction or contraction, or
        computed from one by elementwise operations and reshapes.
        """
        return compute_in_postorder(
            value,
            self._accumulated,
            _operands_of_elementwise_or_reshape,
            self._is_accumulated_or_from_accumulated,
        )

    def _is_accumulated_or_from_accumulated(self, value: SSAValue) -> bool:
        """Return `True` if `value` is a reduction's result or computed from one."""
        if isinstance(value.owner, AccumulatingInterface):
            return True
        return any(
            map(
                self._is_computed_from_accumulation,
                _operands_of_elementwise_or_reshape(value),
            )
        )

    def split_into_terms(self, value: SSAValue) -> list[Term]:
        """Return the terms of a value."""
        return compute_in_postorder(
            value, self._known, self._operands_to_split, self._compute_terms
        )

    def _operands_to_split(self, value: SSAValue) -> Sequence[SSAValue]:
        """
        Return the operands whose terms make up a value, in the order in which
        `_split_operation_into_terms` visits them.
        """
        owner = self._linear_producer(value)
        if owner is None or not self.has_accumulated_invariant_term(value):
            return ()
        if isinstance(owner, graph.SubOp):
            return owner.rhs, owner.lhs
        return owner.operands[:1] if isinstance(owner, graph.DivOp) else owner.operands

    def _compute_terms(self, value: SSAValue) -> list[Term]:
        """Return the terms of `value`: one term if invariant, unsplit or too many."""
        if not self.is_varying(value):
            return [Term(1.0, FactorProduct((value,)), FactorProduct())]
        if not self.has_accumulated_invariant_term(value):
            return _as_single_varying_term(value)
        terms = self._split_operation_into_terms(value.owner)
        return (
            terms
            if len(terms) <= REASSOCIATION.max_terms
            else _as_single_varying_term(value)
        )

    def _split_operation_into_terms(self, owner: Operation | object) -> list[Term]:
        """Return the terms of an operation's result from the terms of its operands."""
        match owner:
            case graph.AddOp():
                return self._concat_and_center_terms(
                    self.split_into_terms(owner.lhs), self.split_into_terms(owner.rhs)
                )
            case graph.SubOp():
                minus = [-each for each in self.split_into_terms(owner.rhs)]
                return self._concat_and_center_terms(
                    self.split_into_terms(owner.lhs), minus
                )
            case graph.NegOp():
                return [-each for each in self.split_into_terms(owner.operand)]
            case graph.MulOp():
                return self._split_product_into_terms(owner)
            case graph.DivOp():
                divisor = FactorProduct(denominators=(owner.rhs,))
                varies = self.is_varying(owner.rhs)
                invariant, varying = (
                    (FactorProduct(), divisor) if varies else (divisor, FactorProduct())
                )
                inverse = Term(1.0, invariant, varying)
                return [each * inverse for each in self.split_into_terms(owner.lhs)]
            case graph.CastOp():
                return self.split_into_terms(owner.operand)
            case graph.ReshapeOp():
                return self._split_reshape_into_terms(owner)
            case _:
                raise AssertionError(owner)

    def _split_reshape_into_terms(self, owner: graph.ReshapeOp) -> list[Term]:
        """
        Return the terms of a reshaped value; a single term if a factor cannot be
        reshaped.
        """
        terms = self.split_into_terms(owner.operand)
        if not all(
            can_reshape_broadcast(each, owner, self.axis)
            for term in terms
            for each in term
        ):
            return _as_single_varying_term(owner.result)
        # Reshape each value once, so that equal factors of terms remain equal.
        move = cache(
            partial(
                reshape_broadcast_like,
                op=owner,
                axis=self.axis,
                builder=self.program.builder,
            )
        )
        return [
            Term(
                term.number,
                term.invariant.map_values(move),
                term.varying.map_values(move),
            )
            for term in terms
        ]

    def _concat_and_center_terms(
        self, lhs_terms: list[Term], rhs_terms: list[Term]
    ) -> list[Term]:
        terms = [*lhs_terms, *rhs_terms]
        return self._center_varying_terms(terms) if self.centers_terms else terms

    def _split_product_into_terms(self, owner: graph.MulOp) -> list[Term]:
        """
        Return the products of both operands' terms, or a single term if varying terms
        may cancel or overflow.
        """
        sides = self.split_into_terms(owner.lhs), self.split_into_terms(owner.rhs)
        if min(map(len, sides)) > 1:
            sides = (
                self._split_into_centered_terms(owner.lhs),
                self._split_into_centered_terms(owner.rhs),
            )
            if self.centers_terms and any(map(_can_varying_terms_cancel, sides)):
                return _as_single_varying_term(owner.result)
        if self.centers_terms and all(
            map(_has_varying_term_with_invariant_factors, sides)
        ):
            return _as_single_varying_term(owner.result)
        return [left * right for left in sides[0] for right in sides[1]]

    def _split_into_centered_terms(self, value: SSAValue) -> list[Term]:
        """
        Return the terms of a value, with the mean of the leading elements subtracted
        from the varying terms and added to the constant ones. For `x - mean(x)`,
        neither term is then large if the sum is small, so that squares of sums lose no
        digits, whatever the mean is (T. F. Chan, G. H. Golub, R. J. LeVeque, Algorithms
        for computing the sample variance, 1983).
        """
        if value not in self._centered:
            terms = self.split_into_terms(value)
            is_centered = self.centers_terms and isinstance(
                value.owner, graph.AddOp | graph.SubOp
            )
            self._centered[value] = (
                terms if is_centered else self._center_varying_terms(terms)
            )
        return self._centered[value]

    def _center_varying_terms(self, terms: list[Term]) -> list[Term]:
        """
        Return the varying terms minus the mean of their leading elements, and the
        invariant ones plus it; `terms` if their invariant factors differ.
        """
        invariant = [each for each in terms if not each.varying]
        varying = [each for each in terms if each.varying]
        if not invariant or len({each.invariant.equality_key for each in varying}) != 1:
            return terms
        scale = varying[0].invariant
        total = build_linear_combination(
            [(each.number, each.varying) for each in varying], self.program
        )
        center = self._mean_of_leading_elements(total)
        offset = build_linear_combination(
            [
                (1.0, scale * FactorProduct((center,))),
                *((e.number, e.invariant) for e in invariant),
            ],
            self.program,
        )
        return [
            Term(1.0, scale, FactorProduct((self.program.sub(total, center),))),
            Term(1.0, FactorProduct((offset,)), FactorProduct()),
        ]

    def _mean_of_leading_elements(self, value: SSAValue) -> SSAValue:
        """Return the mean of the leading elements of a value along the axis."""
        head = self._leading.build_leading_elements(value)
        shape = tensor_type(head).get_shape()
        axes = [len(shape) + self.axis]
        total = self.program.reduce(head, ReduceKind.SUM, axes, True)
        return self.program.mul(total, self.program.constant(1 / shape[self.axis]))


def _operands_of_elementwise_or_reshape(value: SSAValue) -> Sequence[SSAValue]:
    """
    Return the operands of the elementwise operation or reshape that computes a value.
    """
    owner = value.owner
    if isinstance(owner, AccumulatingInterface):
        return ()
    is_elementwise = isinstance(owner, ElementwiseInterface | graph.ReshapeOp)
    return owner.operands if is_elementwise else ()


def _as_single_varying_term(value: SSAValue) -> list[Term]:
    """Return a varying value as one term."""
    return [Term(1.0, FactorProduct(), FactorProduct((value,)))]


def _can_varying_terms_cancel(terms: Sequence[Term]) -> bool:
    """
    Return `True` if there are several varying terms, which may cancel.
    """
    return sum(bool(each.varying) for each in terms) > 1


def _has_varying_term_with_invariant_factors(terms: Sequence[Term]) -> bool:
    """
    Return `True` if a varying term has constant factors, which may be far from 1: the
    squares of both may overflow if the square of their product does not.
    """
    return any(each.invariant and each.varying for each in terms)


def can_split_into_terms(owner: Operation) -> bool:
    """
    Return `True` for sums, differences, negations, products, quotients, and casts of
    floats.
    """
    kinds = graph.AddOp | graph.SubOp | graph.NegOp | graph.MulOp | graph.DivOp
    if isinstance(owner, graph.CastOp):
        return is_float(tensor_type(owner.operand).element_type)
    return isinstance(owner, kinds)


def build_linear_combination(
    terms: Sequence[tuple[float, FactorProduct]], program: TensorBuilder
) -> SSAValue:
    """
    Build the sum of at least one term, each a coefficient times a quotient of factors.
    """
    total: SSAValue | None = None
    for number, factors in terms:
        value = factors.build_quotient(program)
        size = abs(number) if total is not None else number
        if value is None:
            value = program.constant(size)
        elif size != 1.0:
            value = program.mul(value, program.constant(size))
        if total is None:
            total = value
        else:
            join = program.add if number > 0 else program.sub
            total = join(total, value)
    assert total is not None
    return total


def _build_product_of_values(
    values: Sequence[SSAValue], program: TensorBuilder
) -> SSAValue | None:
    """Build the product of values in the builder's type; `None` without values."""
    total: SSAValue | None = None
    for value in values:
        wide = program.promote_to_builder_type(value)
        total = wide if total is None else program.mul(total, wide)
    return total
