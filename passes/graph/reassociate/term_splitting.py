"""
Helper of the rewrite that distributes sums: splitting of values into terms, each a
constant times invariant times varying factors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial

from xdsl.ir import Operation, SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.reduction import ReduceKind
from tlf.dialects.graph.tensor_builder import TensorBuilder
from tlf.dialects.interfaces import AccumulatingInterface, ElementwiseInterface
from tlf.dialects.postorder import compute_in_postorder
from tlf.dialects.types import is_float, tensor_type
from tlf.passes.graph.pointwise import is_varying_along
from tlf.passes.graph.reassociate.broadcast_views import (
    can_reshape_broadcast,
    is_axis_preserved,
    reshape_broadcast,
)
from tlf.passes.graph.reassociate.leading_elements import LeadingElements
from tlf.planner.settings.search_budgets import REASSOCIATION


@dataclass(frozen=True)
class FactorProduct:
    """A quotient of two products of values."""

    numerators: tuple[SSAValue, ...] = ()
    denominators: tuple[SSAValue, ...] = ()

    def __mul__(self, other: FactorProduct) -> FactorProduct:
        return FactorProduct(
            self.numerators + other.numerators, self.denominators + other.denominators
        )

    def __bool__(self) -> bool:
        return bool(self.numerators or self.denominators)

    @property
    def key(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Key that is equal for quotients of the same values."""
        above, below = (
            tuple(sorted(id(value) for value in values))
            for values in (self.numerators, self.denominators)
        )
        return above, below

    def __iter__(self) -> Iterator[SSAValue]:
        yield from self.numerators
        yield from self.denominators

    def map_values(self, change: Callable[[SSAValue], SSAValue]) -> FactorProduct:
        """Return the quotient with each value replaced by `change`."""
        return FactorProduct(
            tuple(map(change, self.numerators)), tuple(map(change, self.denominators))
        )

    def build_quotient(self, program: TensorBuilder) -> SSAValue | None:
        """Build the quotient; None if there are no factors."""
        total = _multiply_values(self.numerators, program)
        if (divisor := _multiply_values(self.denominators, program)) is None:
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
    shifts: bool = False
    """
    True if sums of varying and constant terms are centered at the mean of the leading
    elements.
    """
    _known: dict[SSAValue, list[Term]] = field(
        default_factory=dict[SSAValue, list[Term]]
    )
    _shifted: dict[SSAValue, list[Term]] = field(
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

    def is_worth_splitting(self, value: SSAValue) -> bool:
        """
        Return `True` if a varying value is linear in results of reductions that are
        constant along the axis.
        """
        return compute_in_postorder(
            value, self._mixed, self._varying_operands, self._has_mixed_operand
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
        owner = value.owner
        if not isinstance(owner, Operation) or not self.is_varying(value):
            return None
        is_view = isinstance(owner, graph.ReshapeOp) and is_axis_preserved(
            owner, self.axis
        )
        return owner if is_view or is_linear(owner) else None

    def _has_mixed_operand(self, value: SSAValue) -> bool:
        if (owner := self._linear_producer(value)) is None:
            return False
        return any(
            self.is_worth_splitting(each)
            if self.is_varying(each)
            else self._has_accumulation(each)
            for each in owner.operands
        )

    def _has_accumulation(self, value: SSAValue) -> bool:
        """Return `True` if a value is computed from sums or maxima."""
        return compute_in_postorder(
            value, self._accumulated, _elementwise_sources, self._has_accumulated_source
        )

    def _has_accumulated_source(self, value: SSAValue) -> bool:
        if isinstance(value.owner, AccumulatingInterface):
            return True
        return any(map(self._has_accumulation, _elementwise_sources(value)))

    def of(self, value: SSAValue) -> list[Term]:
        """Return the terms of a value."""
        return compute_in_postorder(
            value, self._known, self._term_operands, self._compute_terms
        )

    def _term_operands(self, value: SSAValue) -> Sequence[SSAValue]:
        """
        Return the operands whose terms make up a value, in the order in which
        `_split_operation` visits them.
        """
        owner = self._linear_producer(value)
        if owner is None or not self.is_worth_splitting(value):
            return ()
        if isinstance(owner, graph.SubOp):
            return owner.rhs, owner.lhs
        return owner.operands[:1] if isinstance(owner, graph.DivOp) else owner.operands

    def _compute_terms(self, value: SSAValue) -> list[Term]:
        if not self.is_varying(value):
            return [Term(1.0, FactorProduct((value,)), FactorProduct())]
        if not self.is_worth_splitting(value):
            return _single_term(value)
        terms = self._split_operation(value.owner)
        return terms if len(terms) <= REASSOCIATION.max_terms else _single_term(value)

    def _split_operation(self, owner: Operation | object) -> list[Term]:
        match owner:
            case graph.AddOp():
                return self._concat_terms(self.of(owner.lhs), self.of(owner.rhs))
            case graph.SubOp():
                minus = [-each for each in self.of(owner.rhs)]
                return self._concat_terms(self.of(owner.lhs), minus)
            case graph.NegOp():
                return [-each for each in self.of(owner.operand)]
            case graph.MulOp():
                return self._multiply_terms(owner)
            case graph.DivOp():
                divisor = FactorProduct(denominators=(owner.rhs,))
                varies = self.is_varying(owner.rhs)
                invariant, varying = (
                    (FactorProduct(), divisor) if varies else (divisor, FactorProduct())
                )
                inverse = Term(1.0, invariant, varying)
                return [each * inverse for each in self.of(owner.lhs)]
            case graph.CastOp():
                return self.of(owner.operand)
            case graph.ReshapeOp():
                return self._reshape_terms(owner)
            case _:
                raise AssertionError(owner)

    def _reshape_terms(self, owner: graph.ReshapeOp) -> list[Term]:
        """
        Return the terms of a reshaped value; a single term if a factor cannot be
        reshaped.
        """
        terms = self.of(owner.operand)
        if not all(
            can_reshape_broadcast(each, owner, self.axis)
            for term in terms
            for each in term
        ):
            return _single_term(owner.result)
        # Reshape each value once, so that equal factors of terms remain equal.
        move = cache(
            partial(
                reshape_broadcast,
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

    def _concat_terms(self, left: list[Term], right: list[Term]) -> list[Term]:
        terms = [*left, *right]
        return self._shift_terms(terms) if self.shifts else terms

    def _multiply_terms(self, owner: graph.MulOp) -> list[Term]:
        sides = self.of(owner.lhs), self.of(owner.rhs)
        if min(map(len, sides)) > 1:
            sides = self._centered_terms(owner.lhs), self._centered_terms(owner.rhs)
            if self.shifts and any(map(_can_cancel, sides)):
                return _single_term(owner.result)
        if self.shifts and all(map(_has_scaled_term, sides)):
            return _single_term(owner.result)
        return [left * right for left in sides[0] for right in sides[1]]

    def _centered_terms(self, value: SSAValue) -> list[Term]:
        """
        Return the terms of a value, with the mean of the leading elements subtracted
        from the varying terms and added to the constant ones. For `x - mean(x)`,
        neither term is then large if the sum is small, so that squares of sums lose no
        digits, whatever the mean is (T. F. Chan, G. H. Golub, R. J. LeVeque, Algorithms
        for computing the sample variance, 1983).
        """
        if value not in self._shifted:
            terms = self.of(value)
            is_centered = self.shifts and isinstance(
                value.owner, graph.AddOp | graph.SubOp
            )
            self._shifted[value] = terms if is_centered else self._shift_terms(terms)
        return self._shifted[value]

    def _shift_terms(self, terms: list[Term]) -> list[Term]:
        invariant = [each for each in terms if not each.varying]
        varying = [each for each in terms if each.varying]
        if not invariant or len({each.invariant.key for each in varying}) != 1:
            return terms
        scale = varying[0].invariant
        total = add_terms(
            [(each.number, each.varying) for each in varying], self.program
        )
        center = self._leading_mean(total)
        offset = add_terms(
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

    def _leading_mean(self, value: SSAValue) -> SSAValue:
        """Return the mean of the leading elements of a value along the axis."""
        head = self._leading.of(value)
        shape = tensor_type(head).get_shape()
        axes = [len(shape) + self.axis]
        total = self.program.reduce(head, ReduceKind.SUM, axes, True)
        return self.program.mul(total, self.program.constant(1 / shape[self.axis]))


def _elementwise_sources(value: SSAValue) -> Sequence[SSAValue]:
    """
    Return the operands of the elementwise operation or reshape that computes a value.
    """
    owner = value.owner
    if isinstance(owner, AccumulatingInterface):
        return ()
    is_elementwise = isinstance(owner, ElementwiseInterface | graph.ReshapeOp)
    return owner.operands if is_elementwise else ()


def _single_term(value: SSAValue) -> list[Term]:
    """Return a varying value as one term."""
    return [Term(1.0, FactorProduct(), FactorProduct((value,)))]


def _can_cancel(terms: Sequence[Term]) -> bool:
    """
    Return `True` if there are several varying terms, which may cancel.
    """
    return sum(bool(each.varying) for each in terms) > 1


def _has_scaled_term(terms: Sequence[Term]) -> bool:
    """
    Return `True` if a varying term has constant factors, which may be far from 1: the
    squares of both may overflow if the square of their product does not.
    """
    return any(each.invariant and each.varying for each in terms)


def is_linear(owner: Operation) -> bool:
    """Return `True` if an operation can be split into terms."""
    kinds = graph.AddOp | graph.SubOp | graph.NegOp | graph.MulOp | graph.DivOp
    if isinstance(owner, graph.CastOp):
        return is_float(tensor_type(owner.operand).element_type)
    return isinstance(owner, kinds)


def add_terms(
    terms: Sequence[tuple[float, FactorProduct]], program: TensorBuilder
) -> SSAValue:
    """Build the sum of products with constant coefficients."""
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


def _multiply_values(
    values: Sequence[SSAValue], program: TensorBuilder
) -> SSAValue | None:
    total: SSAValue | None = None
    for value in values:
        wide = program.promote(value)
        total = wide if total is None else program.mul(total, wide)
    return total
