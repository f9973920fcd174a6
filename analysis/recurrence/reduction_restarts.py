"""
Analysis of reductions whose terms are neutral unless an element attains a running
extreme.

An example is the argmax of a row, the smallest index of a maximum element:
`min(select(x == max(x), index, greatest))`. When a larger element is found, no earlier
element attains the maximum any more. The running total is therefore valid as long as
the maximum does not change; otherwise the reduction restarts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from tlf.analysis.recurrence.axis_classes import AxisMatch
from tlf.dialects import graph, tile
from tlf.dialects.graph.reduction import ReduceKind
from tlf.dialects.graph.splat_tensors import splat_scalar_of
from tlf.dialects.interfaces import AccumulatingInterface
from tlf.dialects.types import scalar_value

ATTAINING_RELATIONS: Mapping[ReduceKind, Collection[graph.Relation]] = {
    ReduceKind.MAX: (graph.Relation.EQ, graph.Relation.GE),
    ReduceKind.MIN: (graph.Relation.EQ, graph.Relation.LE),
}
"""Relations of an element to an extreme that hold only if it attains the extreme."""

MIRRORED_RELATIONS: Mapping[graph.Relation, graph.Relation] = {
    graph.Relation.GE: graph.Relation.LE,
    graph.Relation.LE: graph.Relation.GE,
}
"""Relations after a swap of the two operands."""


@dataclass(frozen=True)
class Restart:
    """Condition under which a reduction restarts: a change of a running extreme."""

    extreme: SSAValue
    axis_matches: Mapping[SSAValue, AxisMatch] = field(
        default_factory=dict[SSAValue, AxisMatch]
    )
    """Axes of the reduction that the axes of the extreme run along."""


def find_restart_of_reduction(
    op: AccumulatingInterface,
    operations: Collection[Operation],
    steps: Collection[Operation],
    dependent: Collection[Operation],
) -> Restart | None:
    """
    Return the restart of a reduction: the extreme, computed by one of `steps`, that
    elements attain wherever a term is not neutral. None if there is none, or if the
    other terms depend on a step.
    """
    if len(op.inputs) != 1 or not isinstance(op, graph.ReduceOp):
        return None
    mask = _mask_of(op)
    term = (op.inputs[0] if mask is None else mask.source).owner
    if term not in operations or not isinstance(term, graph.SelectOp):
        return None
    if term.lhs.owner in dependent:
        return None
    if (fill := splat_scalar_of(term.rhs)) is None or fill != op.neutral_element():
        return None
    extreme = _ExtremeFinder(operations, steps, mask).find_extreme_attained_if(
        term.condition
    )
    return None if extreme is None else Restart(extreme)


def _mask_of(op: graph.ReduceOp) -> tile.MaskOp | None:
    """
    Return the mask that makes elements outside of a tile neutral for a reduction; None
    if there is none.
    """
    mask = op.inputs[0].owner
    if (
        not isinstance(mask, tile.MaskOp)
        or scalar_value(mask.fill) != op.neutral_element()
    ):
        return None
    return mask


def _is_same_mask(mask: tile.MaskOp | None, other: tile.MaskOp) -> bool:
    """
    Return `True` if two `tile.mask` select the same elements; False if `mask` is None.
    """
    return (
        mask is not None
        and list(mask.operands[1:]) == list(other.operands[1:])
        and mask.static_offsets == other.static_offsets
        and mask.bounds == other.bounds
        and mask.valid == other.valid
    )


@dataclass(frozen=True)
class _ExtremeFinder:
    """Finder of extremes that an element attains wherever a condition holds."""

    operations: Collection[Operation]
    steps: Collection[Operation]
    mask: tile.MaskOp | None
    """Mask of the elements that are reduced; None for all."""

    def find_extreme_attained_if(self, condition: SSAValue) -> SSAValue | None:
        """
        Return the extreme that an element attains if `condition` holds; None if there
        is none.
        """
        if condition.owner not in self.operations:
            return None
        match condition.owner:
            case graph.CompareOp() as compare:
                return self._extreme_of_comparison(compare)
            case graph.OrOp() as either:
                left, right = map(self.find_extreme_attained_if, either.operands)
                return left if left is right else None
            case graph.AndOp() as both:
                found = [
                    each
                    for each in map(self.find_extreme_attained_if, both.operands)
                    if each
                ]
                return found[0] if found else None
            case _:
                return None

    def _extreme_of_comparison(self, op: graph.CompareOp) -> SSAValue | None:
        """
        Return the extreme that an operand attains if the comparison, or the NaN test `x
        != x`, holds; None if there is none.
        """
        left, right = op.operands
        relation = op.relation.data
        if left is right and relation is graph.Relation.NE:
            # A NaN element makes the extreme NaN.
            return self._find_extreme_of_element(left)
        mirrored = MIRRORED_RELATIONS.get(relation, relation)
        return self._find_extreme_in_relation(
            left, right, relation
        ) or self._find_extreme_in_relation(right, left, mirrored)

    def _find_extreme_in_relation(
        self, element: SSAValue, extreme: SSAValue, relation: graph.Relation
    ) -> SSAValue | None:
        """
        Return the extreme that `element` attains if `relation` holds between them; None
        if it is not one.
        """
        while isinstance(owner := extreme.owner, graph.ReshapeOp):
            extreme = owner.operand
        if owner not in self.steps or not isinstance(owner, graph.ReduceOp):
            return None
        if relation not in ATTAINING_RELATIONS.get(owner.reduce_kind, ()):
            return None
        return extreme if self._reduced_element_of(owner) is element else None

    def _reduced_element_of(self, op: graph.ReduceOp) -> SSAValue:
        """
        Return the operand whose extreme is reduced, without its mask if it is the same
        mask.
        """
        mask = _mask_of(op)
        return mask.source if mask and _is_same_mask(self.mask, mask) else op.inputs[0]

    def _find_extreme_of_element(self, element: SSAValue) -> SSAValue | None:
        """Return the extreme of an element among the steps, if there is exactly one."""
        found = [
            op.results[0]
            for op in self.steps
            if isinstance(op, graph.ReduceOp)
            and op.reduce_kind in ATTAINING_RELATIONS
            and self._reduced_element_of(op) is element
        ]
        return found[0] if len(found) == 1 else None


def is_used_arithmetically(
    value: SSAValue, steps: Collection[Operation], dependent: Collection[Operation]
) -> bool:
    """Return `True` if a step depends on a value other than through comparisons."""
    pending = [use.operation for use in value.uses]
    while pending:
        op = pending.pop()
        if isinstance(op, graph.CompareOp):
            continue
        if op in steps:
            return True
        if op in dependent:
            pending += [use.operation for each in op.results for use in each.uses]
    return False
