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

from xdsl.dialects import arith, scf
from xdsl.ir import Block, SSAValue

from tlf.dialects.mem import Index
from tlf.lowering.npu.ranges import constant_of, range_of


@dataclass(frozen=True)
class Form:
    """
    A number and a factor for the count of each loop, modulo the number of slots.

    The count of a loop is 0 in its first iteration, 1 in the next, and so on.
    """

    constant: int
    factors: Mapping[scf.ForOp, int]

    def plus(self, other: Form, factor: int, slots: int) -> Form:
        """The sum with a multiple of another form."""
        factors = dict(self.factors)
        for loop, number in other.factors.items():
            factors[loop] = (factors.get(loop, 0) + factor * number) % slots
        kept = {loop: number for loop, number in factors.items() if number}
        return Form((self.constant + factor * other.constant) % slots, kept)


@dataclass(frozen=True, eq=False)
class Slot:
    """One of `count` equal parts of a buffer, the one whose number is `form`."""

    count: int
    form: Form

    def distance(
        self, later: Slot, fixed: Sequence[scf.ForOp], iterations: int
    ) -> int | None:
        """
        How many slots `later`, some iterations of the last of the loops `fixed` after
        this, is away from this one. The loops before the last are at the same
        iteration. None if that is not known.
        """
        if self.count != later.count or self.form.factors != later.form.factors:
            return None
        if any(loop not in fixed for loop in self.form.factors):
            return None
        moved = self.form.factors.get(fixed[-1], 0) * iterations if fixed else 0
        return (later.form.constant + moved - self.form.constant) % self.count

    def continues(self, path: Sequence[scf.ForOp]) -> bool:
        """
        Whether slots go on where they were when an inner loop starts again.

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
    """How often a loop runs, if that is known."""
    lower, upper, step = (constant_of(each) for each in (loop.lb, loop.ub, loop.step))
    if lower is None or upper is None or not step:
        return None
    return max(0, -((lower - upper) // step))


def slot_of(index: Index, slots: int) -> Slot | None:
    """
    The slot that an index chooses among `slots`, if it is known which.
    """
    if isinstance(index, int):
        return Slot(slots, Form(index % slots, {}))
    if (form := _form(index, slots)) is None:
        return None
    low, high = range_of(index)
    return Slot(slots, form) if low >= 0 and high < slots else None


def _form(value: Index, slots: int) -> Form | None:
    """The form of an index, where it is a linear one."""
    if (number := constant_of(value)) is not None:
        return Form(number % slots, {})
    assert isinstance(value, SSAValue)
    owner = value.owner
    if isinstance(owner, Block):
        return _counter(value, owner, slots)
    match owner:
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
        case arith.FloorDivSIOp():
            return _count(owner.lhs, constant_of(owner.rhs))
        case _:
            pass
    return None


def _sum(left: Index, right: Index, factor: int, slots: int) -> Form | None:
    first, second = _form(left, slots), _form(right, slots)
    if first is None or second is None:
        return None
    return first.plus(second, factor, slots)


def _counter(value: SSAValue, block: Block, slots: int) -> Form | None:
    """The form of a loop's counter."""
    loop = block.parent_op()
    if not isinstance(loop, scf.ForOp) or value is not block.args[0]:
        return None
    first, step = constant_of(loop.lb), constant_of(loop.step)
    if first is None or step is None:
        return None
    return Form(first % slots, {loop: step % slots} if step % slots else {})


def _count(value: Index, divisor: int | None) -> Form | None:
    """The form of a counter less its first value, divided by its step."""
    first = 0
    if isinstance(value, SSAValue) and isinstance(value.owner, arith.SubiOp):
        known = constant_of(value.owner.rhs)
        if known is None:
            return None
        value, first = value.owner.lhs, known
    if not isinstance(value, SSAValue) or not isinstance(value.owner, Block):
        return None
    loop = value.owner.parent_op()
    if not isinstance(loop, scf.ForOp) or value is not value.owner.args[0]:
        return None
    if (constant_of(loop.lb), constant_of(loop.step)) != (first, divisor):
        return None
    return Form(0, {loop: 1})
