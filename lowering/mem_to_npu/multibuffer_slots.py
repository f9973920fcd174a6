"""
Analysis in the NPU code generator: multi-buffer slots that loop iterations access, and
the distance between them.

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
from tlf.lowering.mem_to_npu.index_ranges import index_range_of
from tlf.support.affine.index_access import AffineSum


@dataclass(frozen=True, eq=False)
class BufferSlot:
    """Consecutive slots of a multi-buffer, selected by an affine form."""

    slot_count: int
    affine_form: AffineSum
    stride: int = 0
    """Bytes from one slot to the next; distinguishes axes."""
    extent: int = 1
    """Number of consecutive slots."""
    comparison_key: object = None
    """Additional key that comparable slots share."""

    def is_disjoint_from(
        self, later_slot: BufferSlot, common_loops: Sequence[scf.ForOp], iterations: int
    ) -> bool | None:
        """
        Return `True` if `later_slot`, `iterations` iterations of the last of the loops
        `common_loops` after this, shares no slot with this; `None` if unknown.
        """
        if (
            distance := self.slot_distance_to(later_slot, common_loops, iterations)
        ) is None:
            return None
        return self.extent <= distance <= self.slot_count - later_slot.extent

    def slot_distance_to(
        self, later_slot: BufferSlot, common_loops: Sequence[scf.ForOp], iterations: int
    ) -> int | None:
        """
        Return the distance in slots from this to `later_slot`, `iterations` iterations
        of the last of the loops `common_loops` after this, at the same iteration of the
        other loops; `None` if unknown.
        """
        if (self.slot_count, self.stride) != (later_slot.slot_count, later_slot.stride):
            return None
        if self.comparison_key != later_slot.comparison_key:
            return None
        shift = later_slot.affine_form - self.affine_form
        if shift.terms or any(
            loop not in common_loops for loop, _ in self.affine_form.terms
        ):
            return None
        moved = (
            self.affine_form.factor_of(common_loops[-1]) * iterations
            if common_loops
            else 0
        )
        return (shift.constant + moved) % self.slot_count

    def period_in_loop(self, loop: scf.ForOp) -> int:
        """Return the period of the slots, in iterations of a loop."""
        return self.slot_count // gcd(self.slot_count, self.affine_form.factor_of(loop))

    def is_continuous_across_restarts(self, loop_nest: Sequence[scf.ForOp]) -> bool:
        """
        Return `True` if the sequence of slots continues across restarts of an inner
        loop.

        `loop_nest` is a loop nest, outermost first. Accesses of the innermost loop then
        have the same distance across its executions as within one.
        """
        factor_of = self.affine_form.factor_of
        for outer, inner in pairwise(loop_nest):
            if (trips := loop_ranges_of(inner)[0].trips) is None:
                return False
            change = factor_of(inner) * trips - factor_of(outer)
            if change % self.slot_count:
                return False
        return True


def slot_selected_by(
    index: Index, slot_count: int, stride: int = 0, extent: int = 1
) -> BufferSlot | None:
    """
    Return the multi-buffer slot that `index` selects as an affine form of iteration
    numbers, or `None` if unknown.
    """
    if isinstance(index, int):
        return BufferSlot(slot_count, AffineSum(index % slot_count), stride, extent)
    if (form := _affine_form_modulo_slots(index, slot_count)) is None:
        return None
    low, high = index_range_of(index)
    return (
        BufferSlot(slot_count, form, stride, extent)
        if low >= 0 and high < slot_count
        else None
    )


def _affine_form_modulo_slots(value: Index, slot_count: int) -> AffineSum | None:
    """Return the affine form of an index modulo the slots, if it is linear."""
    if (exact := affine_sum_over(value, _form_of_induction_variable)) is not None:
        return exact.modulo(slot_count)
    assert isinstance(value, SSAValue)
    match owner := value.owner:
        case arith.AddiOp():
            return _form_of_scaled_sum(owner.lhs, owner.rhs, 1, slot_count)
        case arith.SubiOp():
            return _form_of_scaled_sum(owner.lhs, owner.rhs, -1, slot_count)
        case arith.MuliOp():
            for left, right in (owner.operands, owner.operands[::-1]):
                if (factor := constant_value_of(right)) is not None:
                    return _form_of_scaled_sum(0, left, factor, slot_count)
        case arith.RemSIOp():
            divisor = constant_value_of(owner.rhs)
            if (
                divisor
                and divisor % slot_count == 0
                and index_range_of(owner.lhs)[0] >= 0
            ):
                return _affine_form_modulo_slots(owner.lhs, slot_count)
        case _:
            pass
    return None


def _form_of_scaled_sum(
    addend: Index, scaled_term: Index, factor: int, slot_count: int
) -> AffineSum | None:
    """Return the form of `addend + scaled_term * factor` modulo slots, or `None`."""
    first, second = (
        _affine_form_modulo_slots(addend, slot_count),
        _affine_form_modulo_slots(scaled_term, slot_count),
    )
    if first is None or second is None:
        return None
    return (first + second * factor).modulo(slot_count)


def _form_of_induction_variable(value: SSAValue) -> AffineSum | None:
    """
    Return the affine form of an `scf.for` variable of constant start and step in its
    iteration number, or `None`.
    """
    loop = value.block.parent_op() if isinstance(value, BlockArgument) else None
    if not isinstance(loop, scf.ForOp) or value is not loop.body.block.args[0]:
        return None
    first, step = constant_value_of(loop.lb), constant_value_of(loop.step)
    if first is None or step is None:
        return None
    return AffineSum.of_symbol(loop) * step + first
