"""Values as sums of terms: what differs along an axis, and by what it is multiplied."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial

from xdsl.ir import Operation, SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.decomposition import TensorProgram
from tlf.dialects.graph.reduction import ReduceKind
from tlf.dialects.interfaces import AccumulatingInterface, ElementwiseInterface
from tlf.dialects.postorder import in_postorder
from tlf.dialects.types import is_float, tensor_type
from tlf.passes.graph.pointwise import varies_along
from tlf.passes.graph.reassociate.head import Heads
from tlf.passes.graph.reassociate.seen import is_seen, keeps_axis, seen

HEAD = 16
"""Number of first elements that indicate about where all lie."""

MOST = 16
"""Maximum number of terms that a value is split into."""


@dataclass(frozen=True)
class Factors:
    """A product of values, and of reciprocals of others."""

    above: tuple[SSAValue, ...] = ()
    below: tuple[SSAValue, ...] = ()

    def __mul__(self, other: Factors) -> Factors:
        return Factors(self.above + other.above, self.below + other.below)

    def __bool__(self) -> bool:
        return bool(self.above or self.below)

    @property
    def key(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Key that is equal for products of the same values."""
        above, below = (
            tuple(sorted(id(value) for value in values))
            for values in (self.above, self.below)
        )
        return above, below

    def __iter__(self) -> Iterator[SSAValue]:
        yield from self.above
        yield from self.below

    def mapped(self, change: Callable[[SSAValue], SSAValue]) -> Factors:
        """The same of other values."""
        return Factors(tuple(map(change, self.above)), tuple(map(change, self.below)))

    def build(self, program: TensorProgram) -> SSAValue | None:
        """The product, or nothing where there are no factors."""
        total = _product(self.above, program)
        if (divisor := _product(self.below, program)) is None:
            return total
        return program.div(program.number(1.0) if total is None else total, divisor)


@dataclass(frozen=True)
class Term:
    """A number, times what is the same along an axis, times what differs along it."""

    number: float
    rows: Factors
    varying: Factors

    def __mul__(self, other: Term) -> Term:
        number = self.number * other.number
        return Term(number, self.rows * other.rows, self.varying * other.varying)

    def __iter__(self) -> Iterator[SSAValue]:
        yield from self.rows
        yield from self.varying

    def __neg__(self) -> Term:
        return replace(self, number=-self.number)


@dataclass
class Terms:
    """
    Splits values of floats into terms along an axis. They are split as far as something
    that is the same along the axis, and that depends on sums or maxima, is in between.
    """

    axis: int
    """The axis, counted from the last one, which is -1."""
    program: TensorProgram
    """Program in which the values that terms need are built."""
    shifts: bool = False
    """
    True if values that are invariant along the axis are added to small numbers alone.
    """
    _known: dict[SSAValue, list[Term]] = field(
        default_factory=dict[SSAValue, list[Term]]
    )
    _shifted: dict[SSAValue, list[Term]] = field(
        default_factory=dict[SSAValue, list[Term]]
    )
    _mixed: dict[SSAValue, bool] = field(default_factory=dict[SSAValue, bool])
    _accumulated: dict[SSAValue, bool] = field(default_factory=dict[SSAValue, bool])
    _heads: Heads = field(init=False)

    def __post_init__(self) -> None:
        self._heads = Heads(self.axis, HEAD, self.program.builder)

    def varies(self, value: SSAValue) -> bool:
        """Return `True` if a value varies along the axis."""
        return varies_along(value, self.axis)

    def is_mixed(self, value: SSAValue) -> bool:
        """Return `True` if a value that varies is worth splitting."""
        return in_postorder(value, self._mixed, self._varying, self._is_mixed)

    def _varying(self, value: SSAValue) -> Iterator[SSAValue]:
        """The operands that vary, of what computes a value linearly."""
        if (owner := self._linear(value)) is not None:
            yield from filter(self.varies, owner.operands)

    def _linear(self, value: SSAValue) -> Operation | None:
        """
        Return the operation that computes a varying value, if terms can be taken from
        it.
        """
        owner = value.owner
        if not isinstance(owner, Operation) or not self.varies(value):
            return None
        is_seen = isinstance(owner, graph.ReshapeOp) and keeps_axis(owner, self.axis)
        return owner if is_seen or is_linear(owner) else None

    def _is_mixed(self, value: SSAValue) -> bool:
        if (owner := self._linear(value)) is None:
            return False
        return any(
            self.is_mixed(each) if self.varies(each) else self._depends(each)
            for each in owner.operands
        )

    def _depends(self, value: SSAValue) -> bool:
        """Return `True` if a value is computed from sums or maxima."""
        return in_postorder(value, self._accumulated, _sources, self._is_accumulated)

    def _is_accumulated(self, value: SSAValue) -> bool:
        if isinstance(value.owner, AccumulatingInterface):
            return True
        return any(map(self._depends, _sources(value)))

    def of(self, value: SSAValue) -> list[Term]:
        """The terms of a value."""
        return in_postorder(value, self._known, self._parts, self._of)

    def _parts(self, value: SSAValue) -> Sequence[SSAValue]:
        """The operands that terms of a value come from, in the order of `_split`."""
        owner = self._linear(value)
        if owner is None or not self.is_mixed(value):
            return ()
        if isinstance(owner, graph.SubOp):
            return owner.rhs, owner.lhs
        return owner.operands[:1] if isinstance(owner, graph.DivOp) else owner.operands

    def _of(self, value: SSAValue) -> list[Term]:
        if not self.varies(value):
            return [Term(1.0, Factors((value,)), Factors())]
        if not self.is_mixed(value):
            return _whole(value)
        found = self._split(value.owner)
        return found if len(found) <= MOST else _whole(value)

    def _split(self, owner: Operation | object) -> list[Term]:
        match owner:
            case graph.AddOp():
                return self._sum(self.of(owner.lhs), self.of(owner.rhs))
            case graph.SubOp():
                minus = [-each for each in self.of(owner.rhs)]
                return self._sum(self.of(owner.lhs), minus)
            case graph.NegOp():
                return [-each for each in self.of(owner.operand)]
            case graph.MulOp():
                return self._product(owner)
            case graph.DivOp():
                below = Factors(below=(owner.rhs,))
                varies = self.varies(owner.rhs)
                rows, varying = (Factors(), below) if varies else (below, Factors())
                inverse = Term(1.0, rows, varying)
                return [each * inverse for each in self.of(owner.lhs)]
            case graph.CastOp():
                return self.of(owner.operand)
            case graph.ReshapeOp():
                return self._reshaped(owner)
            case _:
                raise AssertionError(owner)

    def _reshaped(self, owner: graph.ReshapeOp) -> list[Term]:
        """The terms of what is seen under another shape, as far as they can be."""
        found = self.of(owner.operand)
        if not all(is_seen(each, owner, self.axis) for term in found for each in term):
            return _whole(owner.result)
        # The same value is one factor in all terms.
        move = cache(
            partial(seen, op=owner, axis=self.axis, builder=self.program.builder)
        )
        return [
            Term(term.number, term.rows.mapped(move), term.varying.mapped(move))
            for term in found
        ]

    def _sum(self, left: list[Term], right: list[Term]) -> list[Term]:
        terms = [*left, *right]
        return self._shift(terms) if self.shifts else terms

    def _product(self, owner: graph.MulOp) -> list[Term]:
        sides = self.of(owner.lhs), self.of(owner.rhs)
        if min(map(len, sides)) > 1:
            sides = self._near_zero(owner.lhs), self._near_zero(owner.rhs)
            if self.shifts and any(map(_cancels, sides)):
                return _whole(owner.result)
        if self.shifts and all(map(_is_scaled, sides)):
            return _whole(owner.result)
        return [one * other for one in sides[0] for other in sides[1]]

    def _near_zero(self, value: SSAValue) -> list[Term]:
        """
        The terms of a value, with what differs along the axis less the mean of its
        first elements. Where that is `x`, and the rest is minus the mean, neither is
        then large where the sum is small: squares of sums lose no places, wherever the
        mean lies (T. F. Chan, G. H. Golub, R. J. LeVeque, Algorithms for computing the
        sample variance, 1983).
        """
        if value not in self._shifted:
            terms = self.of(value)
            is_near = self.shifts and isinstance(value.owner, graph.AddOp | graph.SubOp)
            self._shifted[value] = terms if is_near else self._shift(terms)
        return self._shifted[value]

    def _shift(self, terms: list[Term]) -> list[Term]:
        rows = [each for each in terms if not each.varying]
        varying = [each for each in terms if each.varying]
        if not rows or len({each.rows.key for each in varying}) != 1:
            return terms
        scale = varying[0].rows
        total = added([(each.number, each.varying) for each in varying], self.program)
        about = self._about(total)
        rest = added(
            [(1.0, scale * Factors((about,))), *((e.number, e.rows) for e in rows)],
            self.program,
        )
        return [
            Term(1.0, scale, Factors((self.program.sub(total, about),))),
            Term(1.0, Factors((rest,)), Factors()),
        ]

    def _about(self, value: SSAValue) -> SSAValue:
        """The mean of the first elements of a value along the axis."""
        head = self._heads.of(value)
        shape = tensor_type(head).get_shape()
        axes = [len(shape) + self.axis]
        total = self.program.reduce(head, ReduceKind.SUM, axes, True)
        return self.program.mul(total, self.program.number(1 / shape[self.axis]))


def _sources(value: SSAValue) -> Sequence[SSAValue]:
    """
    Return the values that a value is computed from element by element, possibly of
    another shape.
    """
    owner = value.owner
    if isinstance(owner, AccumulatingInterface):
        return ()
    is_passed = isinstance(owner, ElementwiseInterface | graph.ReshapeOp)
    return owner.operands if is_passed else ()


def _whole(value: SSAValue) -> list[Term]:
    """A value that varies, not split."""
    return [Term(1.0, Factors(), Factors((value,)))]


def _cancels(terms: Sequence[Term]) -> bool:
    """
    Return `True` if large terms that vary along an axis may cancel to a small sum.
    """
    return sum(bool(each.varying) for each in terms) > 1


def _is_scaled(terms: Sequence[Term]) -> bool:
    """
    Return `True` if values that vary along an axis are multiplied by values that may be
    far from 1: squares of both may overflow a type where the square of their product
    does not.
    """
    return any(each.rows and each.varying for each in terms)


def is_linear(owner: Operation) -> bool:
    """Return `True` if terms can be taken from an operation."""
    kinds = graph.AddOp | graph.SubOp | graph.NegOp | graph.MulOp | graph.DivOp
    if isinstance(owner, graph.CastOp):
        return is_float(tensor_type(owner.operand).element_type)
    return isinstance(owner, kinds)


def added(terms: Sequence[tuple[float, Factors]], program: TensorProgram) -> SSAValue:
    """The sum of multiples of products."""
    total: SSAValue | None = None
    for number, factors in terms:
        value = factors.build(program)
        size = abs(number) if total is not None else number
        if value is None:
            value = program.number(size)
        elif size != 1.0:
            value = program.mul(value, program.number(size))
        if total is None:
            total = value
        else:
            join = program.add if number > 0 else program.sub
            total = join(total, value)
    assert total is not None
    return total


def _product(values: Sequence[SSAValue], program: TensorProgram) -> SSAValue | None:
    total: SSAValue | None = None
    for value in values:
        wide = program.widened(value)
        total = wide if total is None else program.mul(total, wide)
    return total
