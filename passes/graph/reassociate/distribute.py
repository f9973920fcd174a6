"""Sums of several terms as sums of each, times what is the same for all elements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.dialects import graph
from tlf.dialects.graph.decomposition import TensorProgram
from tlf.dialects.replacement import between
from tlf.dialects.rewriting import replace_op
from tlf.dialects.types import is_half, tensor_type
from tlf.passes.graph.hoist_scalars.magnitude import stays_finite
from tlf.passes.graph.permutations import reshaped
from tlf.passes.graph.reassociate.invariant_terms import join_invariant
from tlf.passes.graph.reassociate.linear_sum import LinearSum
from tlf.passes.graph.reassociate.terms import Factors, Term, Terms, added


def is_splittable(op: Operation) -> bool:
    """
    Return `True` if a sum has several terms, or one with a factor that can be taken
    out.
    """
    found = LinearSum.of(op)
    return found is not None and _mixed_side(found) is not None


def distribute(op: Operation, invariant: Collection[SSAValue] = ()) -> bool:
    """
    Split what a sum or a contraction adds up along its axis, where it is multiplied by
    results of other sums or maxima, and replace the operation. `invariant` are values
    that are the same at every call: they take what differs along the axis alone.
    Returns whether there was something to split.
    """
    if (found := LinearSum.of(op)) is None:
        return False
    if (side := _mixed_side(found)) is None:
        return False
    return _Distribution(found, side, invariant).apply()


def _mixed_side(found: LinearSum) -> int | None:
    """The first operand of a sum that is worth splitting."""
    for side, operand in enumerate(found.operands):
        if _terms(found, side).is_mixed(operand.value):
            return side
    return None


def _terms(found: LinearSum, side: int, shifts: bool = False) -> Terms:
    """Return the splitter of an operand of a sum into terms along its axis."""
    axes = found.operands[side].axes
    program = TensorProgram(Builder(InsertPoint.before(found.op)), found.element)
    return Terms(axes.index(found.summed) - len(axes), program, shifts)


@dataclass(frozen=True)
class _Part:
    """A sum, and what it is multiplied by, which is the same along its axis."""

    total: SSAValue
    rows: Factors

    def without(self, factor: SSAValue) -> _Part:
        """The same, divided by one of the factors."""
        above = list(self.rows.above)
        above.remove(factor)
        return _Part(self.total, Factors(tuple(above), self.rows.below))


@dataclass
class _Distribution:
    """Replaces one sum by several."""

    sum: LinearSum
    side: int
    invariant: Collection[SSAValue]
    program: TensorProgram = field(init=False)

    def __post_init__(self) -> None:
        self.program = _terms(self.sum, self.side).program

    def apply(self) -> bool:
        """Build the sums, unless a term cannot be read in the type of the operand."""
        op, value = self.sum.op, self.sum.operands[self.side].value
        before = op.prev_op
        terms = _terms(self.sum, self.side).of(value)
        if not all(map(self._is_exact, terms)):
            terms = _terms(self.sum, self.side, shifts=True).of(value)
        parts = [self._part(alike) for alike in self._alike(terms)]
        built = [part for part in parts if part is not None]
        if len(built) < len(parts):
            for each in list(between(before, op)):
                Rewriter.erase_op(each)
            return False
        self._replace(before, self._combined(built))
        return True

    def _replace(self, before: Operation | None, total: SSAValue) -> None:
        """Let a total stand for the sum, and all since an operation be at its place."""
        op, builder = self.sum.op, self.program.builder
        type_ = tensor_type(op.results[0])
        last = TensorProgram(builder, type_.element_type).widened(total)
        last = reshaped(last, type_.get_shape(), builder)
        last.name_hint = op.results[0].name_hint
        for each in between(before, op):
            each.location = op.location
        replace_op(op, [], [last])
        join_invariant(last)

    def _is_exact(self, term: Term) -> bool:
        """
        Return `True` if a term sums up values as they are read and in a wider type, so
        that large numbers lose no digits that were not lost before.
        """
        operand = tensor_type(self.sum.operands[self.side].value).element_type
        values = self._rest(term).above
        if not values:
            return True
        return is_half(operand) and len(values) == 1 and _origin(values[0]) == operand

    def _scale(self, term: Term) -> Factors:
        """Return the factors that another operand may be multiplied by instead."""
        return Factors(tuple(filter(self._is_scale, term.varying.above)))

    def _rest(self, term: Term) -> Factors:
        above = (each for each in term.varying.above if not self._is_scale(each))
        return Factors(tuple(above), term.varying.below)

    def _is_scale(self, value: SSAValue) -> bool:
        """
        Return `True` if a value varies along the axis alone, and both factors are
        known.
        """
        others = (e.value for n, e in enumerate(self.sum.operands) if n != self.side)
        known = [value, *others]
        if len(known) == 1 or not all(each in self.invariant for each in known):
            return False
        extents = self.sum.read(self.side, value).extents
        return all(n == self.sum.summed for n, extent in extents.items() if extent > 1)

    def _alike(self, terms: Sequence[Term]) -> Iterator[list[Term]]:
        """Different terms in lists of those with the same factors."""
        found: dict[object, dict[object, Term]] = {}
        for term in terms:
            key = term.rows.key, self._scale(term).key
            alike = found.setdefault(key, {})
            known = alike.get(key := term.varying.key)
            number = term.number + (0.0 if known is None else known.number)
            alike[key] = replace(known or term, number=number)
        for each in found.values():
            yield list(each.values())

    def _part(self, terms: Sequence[Term]) -> _Part | None:
        """The sum of terms that have the same factors; none where some cancel."""
        if not all(term.number for term in terms):
            return None
        rest = [(term.number, self._rest(term)) for term in terms]
        varying = [(number, factors) for number, factors in rest if factors]
        ones = sum(number for number, factors in rest if not factors)
        number = varying[0][0] if varying else ones
        scale = self._scale(terms[0]).build(self.program)
        totals: list[SSAValue] = []
        if varying:
            multiples = [(each / number, factors) for each, factors in varying]
            narrow = self._narrowed(added(multiples, self.program))
            if narrow is None:
                return None
            totals.append(self._summed(narrow, scale))
        if ones:
            total = self._summed(None, scale)
            totals.append(self._scaled(total, ones / number))
        total = self._scaled(self._added(totals), number)
        return _Part(total, terms[0].rows)

    def _combined(self, parts: Sequence[_Part]) -> SSAValue:
        """The sum of parts, with what several are multiplied by taken out of them."""
        counts = Counter(each for part in parts for each in set(part.rows.above))
        shared = [value for value, count in counts.items() if count > 1]
        if not shared:
            return self._added([self._times(each.total, each.rows) for each in parts])
        factor, *_ = shared
        inside = [part.without(factor) for part in parts if factor in part.rows.above]
        outside = [part for part in parts if factor not in part.rows.above]
        product = self._times(self._combined(inside), Factors((factor,)))
        rest = [self._combined(outside)] if outside else []
        return self._added([product, *rest])

    def _summed(self, terms: SSAValue | None, scale: SSAValue | None) -> SSAValue:
        builder, found = self.program.builder, self.sum
        if scale is not None:
            placed = found.read(self.side, scale)
            found = found.scaled(1 - self.side, placed, builder)
        return found.build(self.side, terms, builder).along(found.result, builder)

    def _added(self, values: Sequence[SSAValue]) -> SSAValue:
        return added([(1.0, Factors((each,))) for each in values], self.program)

    def _scaled(self, value: SSAValue, number: float) -> SSAValue:
        return added([(number, Factors((value,)))], self.program)

    def _narrowed(self, value: SSAValue) -> SSAValue | None:
        """Terms in the type that a product reads; other sums read what there is."""
        if len(self.sum.operands) == 1:
            return value
        element = tensor_type(self.sum.operands[self.side].value).element_type
        if not stays_finite(value, element):
            return None
        return TensorProgram(self.program.builder, element).widened(value)

    def _times(self, total: SSAValue, rows: Factors) -> SSAValue:
        """A sum times what is the same along its axis."""
        if not rows.above and len(rows.below) == 1:
            divisor = self.program.widened(rows.below[0])
            return self.program.div(total, self._placed(divisor))
        if (factor := rows.build(self.program)) is None:
            return total
        return self.program.mul(total, self._placed(factor))

    def _placed(self, factor: SSAValue) -> SSAValue:
        placed = self.sum.read(self.side, factor)
        return placed.along(self.sum.result, self.program.builder)


def _origin(value: SSAValue) -> object:
    """The element type that a value had before it was widened."""
    owner = value.owner
    source = owner.operand if isinstance(owner, graph.CastOp) else value
    return tensor_type(source).element_type
