"""
Multi-buffer slots in the NPU code generator: slots that loop iterations access, and the
distance between them.

An index `(count + ...) mod slots` selects a slot. Its *form* is the index before the
remainder, modulo the slots: an affine sum whose symbols are the enclosing loops. Their
value is the index of an iteration: 0 in the first one, 1 in the next, and so on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import gcd

from xdsl.dialects import arith, scf
from xdsl.ir import BlockArgument, SSAValue

from tlf.analysis.buffers.normalized_loops import loop_ranges_of
from tlf.dialects.affine_values import affine_sum_over, constant_value_of
from tlf.dialects.mem import Index
from tlf.lowering.mem_to_npu.integer_ranges import range_of
from tlf.support.affine.index_access import AffineSum


@dataclass(frozen=True, eq=False)
class BufferSlot:
    """Consecutive slots of a multi-buffer, selected by an affine form."""

    count: int
    form: AffineSum
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
        shift = later.form - self.form
        if shift.terms or any(loop not in fixed for loop, _ in self.form.terms):
            return None
        moved = self.form.factor_of(fixed[-1]) * iterations if fixed else 0
        return (shift.constant + moved) % self.count

    def period(self, loop: scf.ForOp) -> int:
        """Return the period of the slots, in iterations of a loop."""
        return self.count // gcd(self.count, self.form.factor_of(loop))

    def is_continuous_across(self, path: Sequence[scf.ForOp]) -> bool:
        """
        Return `True` if the sequence of slots continues across restarts of an inner
        loop.

        `path` is a loop nest, outermost first. Accesses of the innermost loop then have
        the same distance across its executions as within one.
        """
        factor_of = self.form.factor_of
        for outer, inner in pairwise(path):
            if (trips := loop_ranges_of(inner)[0].trips) is None:
                return False
            change = factor_of(inner) * trips - factor_of(outer)
            if change % self.count:
                return False
        return True


def slot_of(
    index: Index, slots: int, stride: int = 0, extent: int = 1
) -> BufferSlot | None:
    """Return the slot that an index selects, if known."""
    if isinstance(index, int):
        return BufferSlot(slots, AffineSum(index % slots), stride, extent)
    if (form := _residue_form(index, slots)) is None:
        return None
    low, high = range_of(index)
    return (
        BufferSlot(slots, form, stride, extent) if low >= 0 and high < slots else None
    )


def _residue_form(value: Index, slots: int) -> AffineSum | None:
    """Return the affine form of an index modulo the slots, if it is linear."""
    if (exact := affine_sum_over(value, _symbol_form)) is not None:
        return exact.modulo(slots)
    assert isinstance(value, SSAValue)
    match owner := value.owner:
        case arith.AddiOp():
            return _sum_forms(owner.lhs, owner.rhs, 1, slots)
        case arith.SubiOp():
            return _sum_forms(owner.lhs, owner.rhs, -1, slots)
        case arith.MuliOp():
            for left, right in (owner.operands, owner.operands[::-1]):
                if (factor := constant_value_of(right)) is not None:
                    return _sum_forms(0, left, factor, slots)
        case arith.RemSIOp():
            divisor = constant_value_of(owner.rhs)
            if divisor and divisor % slots == 0 and range_of(owner.lhs)[0] >= 0:
                return _residue_form(owner.lhs, slots)
        case _:
            pass
    return None


def _sum_forms(left: Index, right: Index, factor: int, slots: int) -> AffineSum | None:
    first, second = _residue_form(left, slots), _residue_form(right, slots)
    if first is None or second is None:
        return None
    return (first + second * factor).modulo(slots)


def _symbol_form(value: SSAValue) -> AffineSum | None:
    """Return the form of a loop's induction variable."""
    loop = value.block.parent_op() if isinstance(value, BlockArgument) else None
    if not isinstance(loop, scf.ForOp) or value is not loop.body.block.args[0]:
        return None
    first, step = constant_value_of(loop.lb), constant_value_of(loop.step)
    if first is None or step is None:
        return None
    return AffineSum.of(loop) * step + first
