"""
Multi-buffer slots that loop iterations access, and the distance between them.

An index `(count + ...) mod slots` selects a slot. Its *form* is the index before the
remainder: a constant and a factor per enclosing loop, all modulo the slots.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import gcd

from xdsl.dialects import arith, scf
from xdsl.ir import Block, SSAValue

from tlf.dialects.mem import Index
from tlf.lowering.mem_to_npu.integer_ranges import constant_of, range_of


@dataclass(frozen=True)
class AffineForm:
    """
    A constant plus a coefficient for the iteration index of each loop.

    The iteration index of a loop is 0 in its first iteration, 1 in the next, and so on.
    """

    constant: int
    factors: Mapping[scf.ForOp, int]

    def add_scaled(self, other: AffineForm, factor: int) -> AffineForm:
        """Return the sum with a multiple of another form."""
        factors = dict(self.factors)
        for loop, coefficient in other.factors.items():
            factors[loop] = factors.get(loop, 0) + factor * coefficient
        return AffineForm(self.constant + factor * other.constant, factors)

    def floordiv(self, divisor: int) -> AffineForm | None:
        """Return the quotient, rounded down, or `None` if it is not affine."""
        if divisor <= 0 or any(each % divisor for each in self.factors.values()):
            return None
        factors = {loop: each // divisor for loop, each in self.factors.items()}
        return AffineForm(self.constant // divisor, factors)

    def modulo(self, slots: int) -> AffineForm:
        """Return the form modulo a number of slots."""
        factors = {loop: each % slots for loop, each in self.factors.items()}
        nonzero = {loop: each for loop, each in factors.items() if each}
        return AffineForm(self.constant % slots, nonzero)


@dataclass(frozen=True, eq=False)
class BufferSlot:
    """Consecutive slots of a multi-buffer, selected by an affine form."""

    count: int
    form: AffineForm
    stride: int = 0
    """Bytes from one slot to the next; distinguishes axes."""
    extent: int = 1
    """Number of consecutive slots."""
    family: object = None
    """Additional key that comparable slots share."""

    def is_disjoint(
        self, later: BufferSlot, fixed: Sequence[scf.ForOp], iterations: int
    ) -> bool | None:
        """
        Return `True` if `later`, `iterations` iterations of the last of the loops
        `fixed` after this, shares no slot with this; `None` if unknown.
        """
        if (distance := self.distance(later, fixed, iterations)) is None:
            return None
        return self.extent <= distance <= self.count - later.extent

    def distance(
        self, later: BufferSlot, fixed: Sequence[scf.ForOp], iterations: int
    ) -> int | None:
        """
        Return the distance in slots from this to `later`, `iterations` iterations of
        the last of the loops `fixed` after this, at the same iteration of the other
        loops; `None` if unknown.
        """
        if (self.count, self.stride) != (later.count, later.stride):
            return None
        if self.family != later.family:
            return None
        if self.form.factors != later.form.factors:
            return None
        if any(loop not in fixed for loop in self.form.factors):
            return None
        shift = self.form.factors.get(fixed[-1], 0) * iterations if fixed else 0
        return (later.form.constant + shift - self.form.constant) % self.count

    def period(self, loop: scf.ForOp) -> int:
        """Return the period of the slots, in iterations of a loop."""
        return self.count // gcd(self.count, self.form.factors.get(loop, 0))

    def is_continuous_across(self, path: Sequence[scf.ForOp]) -> bool:
        """
        Return `True` if the sequence of slots continues across restarts of an inner
        loop.

        `path` is a loop nest, outermost first. Accesses of the innermost loop then have
        the same distance across its executions as within one.
        """
        factors = self.form.factors
        for outer, inner in pairwise(path):
            if (trips := _trip_count(inner)) is None:
                return False
            change = factors.get(inner, 0) * trips - factors.get(outer, 0)
            if change % self.count:
                return False
        return True


def _trip_count(loop: scf.ForOp) -> int | None:
    """Return the trip count of a loop, or `None` if it is unknown."""
    lower, upper, step = (constant_of(each) for each in (loop.lb, loop.ub, loop.step))
    if lower is None or upper is None or not step:
        return None
    return max(0, -((lower - upper) // step))


def slot_of(
    index: Index, slots: int, stride: int = 0, extent: int = 1
) -> BufferSlot | None:
    """Return the slot that an index selects, if known."""
    if isinstance(index, int):
        return BufferSlot(slots, AffineForm(index % slots, {}), stride, extent)
    if (form := _residue_form(index, slots)) is None:
        return None
    low, high = range_of(index)
    return (
        BufferSlot(slots, form, stride, extent) if low >= 0 and high < slots else None
    )


def _residue_form(value: Index, slots: int) -> AffineForm | None:
    """Return the affine form of an index modulo the slots, if it is linear."""
    if (exact := _exact_form(value)) is not None:
        return exact.modulo(slots)
    assert isinstance(value, SSAValue)
    match owner := value.owner:
        case arith.AddiOp():
            return _sum_forms(owner.lhs, owner.rhs, 1, slots)
        case arith.SubiOp():
            return _sum_forms(owner.lhs, owner.rhs, -1, slots)
        case arith.MuliOp():
            for left, right in (owner.operands, owner.operands[::-1]):
                if (factor := constant_of(right)) is not None:
                    return _sum_forms(0, left, factor, slots)
        case arith.RemSIOp():
            divisor = constant_of(owner.rhs)
            if divisor and divisor % slots == 0 and range_of(owner.lhs)[0] >= 0:
                return _residue_form(owner.lhs, slots)
        case _:
            pass
    return None


def _sum_forms(left: Index, right: Index, factor: int, slots: int) -> AffineForm | None:
    first, second = _residue_form(left, slots), _residue_form(right, slots)
    if first is None or second is None:
        return None
    return first.add_scaled(second, factor).modulo(slots)


def _exact_form(value: Index) -> AffineForm | None:
    """Return the affine form of an index without a modulus, if it is affine."""
    if (constant := constant_of(value)) is not None:
        return AffineForm(constant, {})
    assert isinstance(value, SSAValue)
    if isinstance(owner := value.owner, Block):
        return _counter_form(value, owner)
    if len(owner.operands) != 2:
        return None
    left, right = (_exact_form(each) for each in owner.operands)
    if left is None or right is None:
        return None
    match owner:
        case arith.AddiOp():
            return left.add_scaled(right, 1)
        case arith.SubiOp():
            return left.add_scaled(right, -1)
        case arith.MuliOp() if not right.factors:
            return AffineForm(0, {}).add_scaled(left, right.constant)
        case arith.MuliOp() if not left.factors:
            return AffineForm(0, {}).add_scaled(right, left.constant)
        case arith.FloorDivSIOp() if not right.factors:
            return left.floordiv(right.constant)
        case _:
            return None


def _counter_form(value: SSAValue, block: Block) -> AffineForm | None:
    """Return the affine form of a loop's induction variable."""
    loop = block.parent_op()
    if not isinstance(loop, scf.ForOp) or value is not block.args[0]:
        return None
    first, step = constant_of(loop.lb), constant_of(loop.step)
    if first is None or step is None:
        return None
    return AffineForm(first, {loop: step})
