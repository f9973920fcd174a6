"""
Rewrite that distributes a sum over its terms, with factors hoisted out of each sum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.dialects import graph
from tlf.dialects.call_invariants import CallInvariantAnalysis
from tlf.dialects.graph.tensor_builder import TensorBuilder
from tlf.dialects.located_rewriting import replace_op
from tlf.dialects.types import accumulator_type_of, is_16_bit_float, tensor_type
from tlf.passes.graph.hoist_scalars.finite_range import is_finite_after_cast
from tlf.passes.graph.permutations import reshape_to
from tlf.passes.graph.reassociate.linear_sum import LinearSum
from tlf.passes.graph.reassociate.term_splitting import (
    FactorProduct,
    Term,
    TermSplitter,
    build_linear_combination,
)
from tlf.passes.op_replacement import operations_between


def can_distribute_sum(op: Operation) -> bool:
    """Return `True` if a sum has several terms, or one with an invariant factor."""
    linear_sum = LinearSum.from_operation(op)
    return linear_sum is not None and _index_of_operand_to_split(linear_sum) is not None


def distribute_sum(op: Operation, invariant: Collection[SSAValue] = ()) -> bool:
    """
    Distribute a sum or contraction over the terms of its operand, and replace the
    operation.

    Factors that are constant along the axis, such as results of other reductions, scale
    the sums. `invariant` are the call-invariant values: an invariant operand absorbs
    invariant factors that vary only along the axis. Return `True` on success.
    """
    if (linear_sum := LinearSum.from_operation(op)) is None:
        return False
    if (side := _index_of_operand_to_split(linear_sum)) is None:
        return False
    return _SumDistribution(linear_sum, side, invariant).replace_by_sums_of_terms()


def _index_of_operand_to_split(linear_sum: LinearSum) -> int | None:
    """
    Return the index of the first operand that is worth splitting into terms, or None.
    """
    for side, operand in enumerate(linear_sum.operands):
        if _term_splitter_of_operand(linear_sum, side).has_accumulated_invariant_term(
            operand.value
        ):
            return side
    return None


def _term_splitter_of_operand(
    linear_sum: LinearSum, operand_index: int, centers_terms: bool = False
) -> TermSplitter:
    """Return the splitter of an operand of a sum into terms along its axis."""
    axes = linear_sum.operands[operand_index].axes
    program = TensorBuilder(
        Builder(InsertPoint.before(linear_sum.op)), linear_sum.element_type
    )
    return TermSplitter(
        axes.index(linear_sum.summed_iterator) - len(axes), program, centers_terms
    )


@dataclass(frozen=True)
class _ScaledSum:
    """The value of a sum, to be multiplied by factors constant along its axis."""

    sum_value: SSAValue
    factors: FactorProduct

    def without_factor(self, factor: SSAValue) -> _ScaledSum:
        """
        Return a scaled sum without one occurrence of a numerator; builds no operations.
        """
        numerators = list(self.factors.numerators)
        numerators.remove(factor)
        return _ScaledSum(
            self.sum_value, FactorProduct(tuple(numerators), self.factors.denominators)
        )


@dataclass
class _SumDistribution:
    """Rewrite of a sum as several sums, one for each list of like terms."""

    linear_sum: LinearSum
    operand_index: int
    invariant: Collection[SSAValue]
    program: TensorBuilder = field(init=False)

    def __post_init__(self) -> None:
        self.program = _term_splitter_of_operand(
            self.linear_sum, self.operand_index
        ).program

    def replace_by_sums_of_terms(self) -> bool:
        """
        Build the sums. Return `False` without changes if a term cannot be represented
        in the type of the operand, or terms cancel.
        """
        op, value = (
            self.linear_sum.op,
            self.linear_sum.operands[self.operand_index].value,
        )
        before = op.prev_op
        terms = _term_splitter_of_operand(
            self.linear_sum, self.operand_index
        ).split_into_terms(value)
        if not all(map(self._is_sum_of_term_exact, terms)):
            terms = _term_splitter_of_operand(
                self.linear_sum, self.operand_index, centers_terms=True
            ).split_into_terms(value)
        sums = [self._sum_like_terms(alike) for alike in self._group_like_terms(terms)]
        built = [each_sum for each_sum in sums if each_sum is not None]
        if len(built) < len(sums):
            for each in list(operations_between(before, op)):
                Rewriter.erase_op(each)
            return False
        self._replace_sum_by_total(before, self._combine_scaled_sums(built))
        return True

    def _replace_sum_by_total(
        self, previous_op: Operation | None, total: SSAValue
    ) -> None:
        """Replace the sum by a total, and set the location of the new operations."""
        op, builder = self.linear_sum.op, self.program.builder
        type_ = tensor_type(op.results[0])
        result = TensorBuilder(builder, type_.element_type).promote_to_builder_type(
            total
        )
        result = reshape_to(result, type_.get_shape(), builder)
        result.name_hint = op.results[0].name_hint
        for each in operations_between(previous_op, op):
            each.location = op.location
        replace_op(op, [], [result])
        _combine_invariant_terms(result)

    def _is_sum_of_term_exact(self, term: Term) -> bool:
        """
        Return `True` if a term accumulates stored 16-bit values in a wider type, so
        that the sum of large numbers loses no additional digits.
        """
        operand = tensor_type(
            self.linear_sum.operands[self.operand_index].value
        ).element_type
        values = self._factors_for_split_operand(term).numerators
        if not values:
            return True
        return (
            is_16_bit_float(operand)
            and len(values) == 1
            and _element_before_promotion(values[0]) == operand
        )

    def _factors_for_other_operand(self, term: Term) -> FactorProduct:
        """Return the factors that can scale another operand instead."""
        return FactorProduct(
            tuple(filter(self._can_scale_other_operand, term.varying.numerators))
        )

    def _factors_for_split_operand(self, term: Term) -> FactorProduct:
        """Return a term's varying factors that cannot scale the other operand."""
        numerators = (
            each
            for each in term.varying.numerators
            if not self._can_scale_other_operand(each)
        )
        return FactorProduct(tuple(numerators), term.varying.denominators)

    def _can_scale_other_operand(self, value: SSAValue) -> bool:
        """
        Return `True` if a value varies along the summed axis only, and the value and
        the other operand are invariant.
        """
        other_operands = (
            e.value
            for n, e in enumerate(self.linear_sum.operands)
            if n != self.operand_index
        )
        values = [value, *other_operands]
        if len(values) == 1 or not all(each in self.invariant for each in values):
            return False
        extents = self.linear_sum.index_broadcast_operand(
            self.operand_index, value
        ).extents
        return all(
            n == self.linear_sum.summed_iterator
            for n, extent in extents.items()
            if extent > 1
        )

    def _group_like_terms(self, terms: Sequence[Term]) -> Iterator[list[Term]]:
        """Yield lists of terms with the same factors, with like terms combined."""
        groups: dict[object, dict[object, Term]] = {}
        for term in terms:
            key = (
                term.invariant.equality_key,
                self._factors_for_other_operand(term).equality_key,
            )
            like_terms = groups.setdefault(key, {})
            previous = like_terms.get(key := term.varying.equality_key)
            number = term.number + (0.0 if previous is None else previous.number)
            like_terms[key] = replace(previous or term, number=number)
        for each in groups.values():
            yield list(each.values())

    def _sum_like_terms(self, terms: Sequence[Term]) -> _ScaledSum | None:
        """
        Build the sum of terms with the same factors; None if a term cancels, or is not
        finite in the type of the operand.
        """
        if not all(term.number for term in terms):
            return None
        unscaled = [
            (term.number, self._factors_for_split_operand(term)) for term in terms
        ]
        varying = [(number, factors) for number, factors in unscaled if factors]
        constant = sum(number for number, factors in unscaled if not factors)
        number = varying[0][0] if varying else constant
        scale = self._factors_for_other_operand(terms[0]).build_quotient(self.program)
        totals: list[SSAValue] = []
        if varying:
            multiples = [(each / number, factors) for each, factors in varying]
            narrow = self._cast_terms_to_operand_type(
                build_linear_combination(multiples, self.program)
            )
            if narrow is None:
                return None
            totals.append(self._build_sum_with_scaled_other_operand(narrow, scale))
        if constant:
            total = self._build_sum_with_scaled_other_operand(None, scale)
            totals.append(self._multiply_by_constant(total, constant / number))
        total = self._multiply_by_constant(self._build_sum_of_values(totals), number)
        return _ScaledSum(total, terms[0].invariant)

    def _combine_scaled_sums(self, scaled_sums: Sequence[_ScaledSum]) -> SSAValue:
        """Build the linear combination of sums, with common factors factored out."""
        counts = Counter(
            each for part in scaled_sums for each in set(part.factors.numerators)
        )
        shared = [value for value, count in counts.items() if count > 1]
        if not shared:
            return self._build_sum_of_values(
                [
                    self._multiply_by_factors(each.sum_value, each.factors)
                    for each in scaled_sums
                ]
            )
        factor, *_ = shared
        with_factor = [
            part.without_factor(factor)
            for part in scaled_sums
            if factor in part.factors.numerators
        ]
        without_factor = [
            part for part in scaled_sums if factor not in part.factors.numerators
        ]
        product = self._multiply_by_factors(
            self._combine_scaled_sums(with_factor), FactorProduct((factor,))
        )
        remainder = (
            [self._combine_scaled_sums(without_factor)] if without_factor else []
        )
        return self._build_sum_of_values([product, *remainder])

    def _build_sum_with_scaled_other_operand(
        self, terms: SSAValue | None, scale: SSAValue | None
    ) -> SSAValue:
        """Build the sum over `terms`, with the other operand multiplied by `scale`."""
        builder, linear_sum = self.program.builder, self.linear_sum
        if scale is not None:
            indexed = linear_sum.index_broadcast_operand(self.operand_index, scale)
            linear_sum = linear_sum.with_scaled_operand(
                1 - self.operand_index, indexed, builder
            )
        return linear_sum.build_sum_with_operand_terms(
            self.operand_index, terms, builder
        ).align_axes_to_iterators(linear_sum.result, builder)

    def _build_sum_of_values(self, values: Sequence[SSAValue]) -> SSAValue:
        return build_linear_combination(
            [(1.0, FactorProduct((each,))) for each in values], self.program
        )

    def _multiply_by_constant(self, value: SSAValue, constant: float) -> SSAValue:
        return build_linear_combination(
            [(constant, FactorProduct((value,)))], self.program
        )

    def _cast_terms_to_operand_type(self, value: SSAValue) -> SSAValue | None:
        """
        Return terms cast to the element type of the product's operand, None if they may
        not be finite in it; unchanged for reductions.
        """
        if len(self.linear_sum.operands) == 1:
            return value
        element = tensor_type(
            self.linear_sum.operands[self.operand_index].value
        ).element_type
        if not is_finite_after_cast(value, element):
            return None
        return TensorBuilder(self.program.builder, element).promote_to_builder_type(
            value
        )

    def _multiply_by_factors(self, total: SSAValue, factors: FactorProduct) -> SSAValue:
        """
        Build the product of a sum and a quotient of factors that are constant along its
        axis.
        """
        if not factors.numerators and len(factors.denominators) == 1:
            divisor = self.program.promote_to_builder_type(factors.denominators[0])
            return self.program.div(total, self._align_factor_with_result(divisor))
        if (factor := factors.build_quotient(self.program)) is None:
            return total
        return self.program.mul(total, self._align_factor_with_result(factor))

    def _align_factor_with_result(self, factor: SSAValue) -> SSAValue:
        """Return `factor` transposed and reshaped to the iterators of the result."""
        indexed = self.linear_sum.index_broadcast_operand(self.operand_index, factor)
        return indexed.align_axes_to_iterators(
            self.linear_sum.result, self.program.builder
        )


def _element_before_promotion(value: SSAValue) -> object:
    """Return the element type of a value before a cast promoted it."""
    owner = value.owner
    source = owner.operand if isinstance(owner, graph.CastOp) else value
    return tensor_type(source).element_type


def _combine_invariant_terms(value: SSAValue) -> None:
    """
    Rewrite `(x + a) + b` as `x + (a + b)`, where `value` is the first sum, and `a` and
    `b` are call-invariant, so that they are added once. Do nothing if the element type
    is narrower than its accumulator type, or the first sum has other uses.
    """
    inner, element = value.owner, tensor_type(value).element_type
    uses = list(value.uses)
    if not isinstance(inner, graph.AddOp) or accumulator_type_of(element) != element:
        return
    if len(uses) != 1 or not isinstance(outer := uses[0].operation, graph.AddOp):
        return
    if outer.result.type != value.type:
        return
    is_invariant = CallInvariantAnalysis().is_call_invariant
    other = outer.operands[1 - uses[0].index]
    if not (is_invariant(inner.rhs) and is_invariant(other)) or is_invariant(inner.lhs):
        return
    builder = Builder(InsertPoint.before(outer))
    total = builder.insert(graph.AddOp(inner.rhs, other)).result
    result = builder.insert(graph.AddOp(inner.lhs, total))
    result.location = outer.location
    result.result.name_hint = outer.result.name_hint
    replace_op(outer, [], [result.result])
    Rewriter.erase_op(inner)
