"""
Buffers of several slots that the iterations of a loop take in turn: which slot an
access is to, and after how many iterations two accesses meet.

A slot is chosen by an index `(count + ...) mod slots`. Its *form* is what that index is
before the remainder: a number and a factor for each loop around, all modulo the slots.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import gcd

from xdsl.dialects import arith, scf
from xdsl.ir import Block, SSAValue

from tlf.dialects.mem import Index
from tlf.lowering.mem_to_npu.ranges import constant_of, range_of


@dataclass(frozen=True)
class Form:
    """
    A number and a factor for the count of each loop; of slots, modulo their number.

    The count of a loop is 0 in its first iteration, 1 in the next, and so on.
    """

    constant: int
    factors: Mapping[scf.ForOp, int]

    def plus(self, other: Form, factor: int) -> Form:
        """The sum with a multiple of another form."""
        factors = dict(self.factors)
        for loop, number in other.factors.items():
            factors[loop] = factors.get(loop, 0) + factor * number
        return Form(self.constant + factor * other.constant, factors)

    def divided(self, divisor: int) -> Form | None:
        """The quotient, rounded down, where it is a form."""
        if divisor <= 0 or any(each % divisor for each in self.factors.values()):
            return None
        factors = {loop: each // divisor for loop, each in self.factors.items()}
        return Form(self.constant // divisor, factors)

    def modulo(self, slots: int) -> Form:
        """The form modulo a number of slots."""
        factors = {loop: each % slots for loop, each in self.factors.items()}
        kept = {loop: each for loop, each in factors.items() if each}
        return Form(self.constant % slots, kept)


@dataclass(frozen=True, eq=False)
class Slot:
    """
    One of `count` equal parts of a buffer along an axis, the one whose number is
    `form`, or several from there on, with the first after the last.
    """

    count: int
    form: Form
    stride: int = 0
    """Bytes from one part to the next, which tell axes apart."""
    extent: int = 1
    """Number of consecutive parts."""
    family: object = None
    """Further key that two slots must share to be comparable."""

    def is_apart(
        self, later: Slot, fixed: Sequence[scf.ForOp], iterations: int
    ) -> bool | None:
        """
        Return `True` if `later`, `iterations` iterations of the last of the loops
        `fixed` after this, shares no slot with this; `None` if that is not known.
        """
        if (slots := self.distance(later, fixed, iterations)) is None:
            return None
        return self.extent <= slots <= self.count - later.extent

    def distance(
        self, later: Slot, fixed: Sequence[scf.ForOp], iterations: int
    ) -> int | None:
        """
        Return the distance in slots from this to `later`, `iterations` iterations of
        the last of the loops `fixed` after this, at the same iteration of the loops
        before the last. `None` if that is not known.
        """
        if (self.count, self.stride) != (later.count, later.stride):
            return None
        if self.family != later.family:
            return None
        if self.form.factors != later.form.factors:
            return None
        if any(loop not in fixed for loop in self.form.factors):
            return None
        moved = self.form.factors.get(fixed[-1], 0) * iterations if fixed else 0
        return (later.form.constant + moved - self.form.constant) % self.count

    def period(self, loop: scf.ForOp) -> int:
        """After how many iterations of a loop the same slots are used again."""
        return self.count // gcd(self.count, self.form.factors.get(loop, 0))

    def continues(self, path: Sequence[scf.ForOp]) -> bool:
        """
        Return `True` if the sequence of slots continues when an inner loop starts
        again.

        `path` are loops, each around the next. Then accesses of the innermost one are
        as far apart across the ends of its executions as within one.
        """
        factors = self.form.factors
        for outer, inner in pairwise(path):
            if (trips := _trips(inner)) is None:
                return False
            change = factors.get(inner, 0) * trips - factors.get(outer, 0)
            if change % self.count:
                return False
        return True


def _trips(loop: scf.ForOp) -> int | None:
    """Return the trip count of a loop, or `None` if it is not known."""
    lower, upper, step = (constant_of(each) for each in (loop.lb, loop.ub, loop.step))
    if lower is None or upper is None or not step:
        return None
    return max(0, -((lower - upper) // step))


def slot_of(index: Index, slots: int, stride: int = 0, extent: int = 1) -> Slot | None:
    """
    The slot that an index chooses among `slots`, if it is known which, or the first one
    of several.
    """
    if isinstance(index, int):
        return Slot(slots, Form(index % slots, {}), stride, extent)
    if (form := _form(index, slots)) is None:
        return None
    low, high = range_of(index)
    return Slot(slots, form, stride, extent) if low >= 0 and high < slots else None


def _form(value: Index, slots: int) -> Form | None:
    """The form of an index, where it is a linear one."""
    if (exact := _exact(value)) is not None:
        return exact.modulo(slots)
    assert isinstance(value, SSAValue)
    match owner := value.owner:
        case arith.AddiOp():
            return _sum(owner.lhs, owner.rhs, 1, slots)
        case arith.SubiOp():
            return _sum(owner.lhs, owner.rhs, -1, slots)
        case arith.MuliOp():
            for left, right in (owner.operands, owner.operands[::-1]):
                if (factor := constant_of(right)) is not None:
                    return _sum(0, left, factor, slots)
        case arith.RemSIOp():
            divisor = constant_of(owner.rhs)
            if divisor and divisor % slots == 0 and range_of(owner.lhs)[0] >= 0:
                return _form(owner.lhs, slots)
        case _:
            pass
    return None


def _sum(left: Index, right: Index, factor: int, slots: int) -> Form | None:
    first, second = _form(left, slots), _form(right, slots)
    if first is None or second is None:
        return None
    return first.plus(second, factor).modulo(slots)


def _exact(value: Index) -> Form | None:
    """The form of an index whose numbers are not modulo anything."""
    if (number := constant_of(value)) is not None:
        return Form(number, {})
    assert isinstance(value, SSAValue)
    if isinstance(owner := value.owner, Block):
        return _counter(value, owner)
    if len(owner.operands) != 2:
        return None
    left, right = (_exact(each) for each in owner.operands)
    if left is None or right is None:
        return None
    match owner:
        case arith.AddiOp():
            return left.plus(right, 1)
        case arith.SubiOp():
            return left.plus(right, -1)
        case arith.MuliOp() if not right.factors:
            return Form(0, {}).plus(left, right.constant)
        case arith.MuliOp() if not left.factors:
            return Form(0, {}).plus(right, left.constant)
        case arith.FloorDivSIOp() if not right.factors:
            return left.divided(right.constant)
        case _:
            return None


def _counter(value: SSAValue, block: Block) -> Form | None:
    """The form of a loop's counter."""
    loop = block.parent_op()
    if not isinstance(loop, scf.ForOp) or value is not block.args[0]:
        return None
    first, step = constant_of(loop.lb), constant_of(loop.step)
    if first is None or step is None:
        return None
    return Form(first, {loop: step})
