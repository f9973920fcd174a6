"""
Reductions of terms that are neutral unless an element attains a running extreme.

Such are the places of the greatest elements of a row, of which the first one is the
least: `min(select(x == max(x), place, greatest))`. Once a greater element comes, no
element before attains the maximum any more. So what has been reduced so far counts for
as long as the maximum stays what it was, and else the reduction starts again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from tlf.analysis.recurrence.axis_classes import AxisMatch
from tlf.dialects import graph, tile
from tlf.dialects.graph.reduction import ReduceKind
from tlf.dialects.graph.splat_tensors import splat_of
from tlf.dialects.interfaces import AccumulatingInterface
from tlf.dialects.types import scalar_value

ATTAINING_RELATIONS: Mapping[ReduceKind, Collection[graph.Relation]] = {
    ReduceKind.MAX: (graph.Relation.EQ, graph.Relation.GE),
    ReduceKind.MIN: (graph.Relation.EQ, graph.Relation.LE),
}
"""Relations of an element to an extreme that hold only where it attains the extreme."""

MIRRORED_RELATIONS: Mapping[graph.Relation, graph.Relation] = {
    graph.Relation.GE: graph.Relation.LE,
    graph.Relation.LE: graph.Relation.GE,
}
"""Relations of two values as those of the second one and the first."""


@dataclass(frozen=True)
class Restart:
    """Restart of a reduction where a running extreme changes."""

    extreme: SSAValue
    axis_matches: Mapping[SSAValue, AxisMatch] = field(
        default_factory=dict[SSAValue, AxisMatch]
    )
    """Axes of the reduction that those of the extreme run along."""


def restart_of(
    op: AccumulatingInterface,
    operations: Collection[Operation],
    steps: Collection[Operation],
    dependent: Collection[Operation],
) -> Restart | None:
    """
    The extreme, of those that steps accumulate, that all terms of a reduction attain
    which are not neutral, as operations of a group tell; None where there is none. What
    the terms are where they are not neutral needs no step.
    """
    if len(op.inputs) != 1 or not isinstance(op, graph.ReduceOp):
        return None
    mask = _mask_of(op)
    term = (op.inputs[0] if mask is None else mask.source).owner
    if term not in operations or not isinstance(term, graph.SelectOp):
        return None
    if term.lhs.owner in dependent:
        return None
    if (number := splat_of(term.rhs)) is None or number != op.neutral_element():
        return None
    extreme = _ExtremeFinder(operations, steps, mask).find_extreme(term.condition)
    return None if extreme is None else Restart(extreme)


def _mask_of(op: graph.ReduceOp) -> tile.MaskOp | None:
    """
    Return the mask by which elements outside of a tile are neutral for a reduction, if
    there is one.
    """
    mask = op.inputs[0].owner
    if (
        not isinstance(mask, tile.MaskOp)
        or scalar_value(mask.fill) != op.neutral_element()
    ):
        return None
    return mask


def _is_same_mask(mask: tile.MaskOp | None, other: tile.MaskOp) -> bool:
    """Return `True` if two masks keep the same elements."""
    return (
        mask is not None
        and list(mask.operands[1:]) == list(other.operands[1:])
        and mask.static_offsets == other.static_offsets
        and mask.bounds == other.bounds
        and mask.valid == other.valid
    )


@dataclass(frozen=True)
class _ExtremeFinder:
    """Finds extremes that an element attains wherever a condition holds."""

    operations: Collection[Operation]
    steps: Collection[Operation]
    mask: tile.MaskOp | None
    """Mask of the elements that count; None for all."""

    def find_extreme(self, condition: SSAValue) -> SSAValue | None:
        """The extreme, if there is one."""
        if condition.owner not in self.operations:
            return None
        match condition.owner:
            case graph.CompareOp() as compare:
                return self._extreme_of_comparison(compare)
            case graph.OrOp() as either:
                left, right = map(self.find_extreme, either.operands)
                return left if left is right else None
            case graph.AndOp() as both:
                found = [each for each in map(self.find_extreme, both.operands) if each]
                return found[0] if found else None
            case _:
                return None

    def _extreme_of_comparison(self, op: graph.CompareOp) -> SSAValue | None:
        left, right = op.operands
        relation = op.relation.data
        if left is right and relation is graph.Relation.NE:
            # An element that is no number makes the extreme none.
            return self._extreme_of(left)
        turned = MIRRORED_RELATIONS.get(relation, relation)
        return self._match_extreme(left, right, relation) or self._match_extreme(
            right, left, turned
        )

    def _match_extreme(
        self, element: SSAValue, extreme: SSAValue, relation: graph.Relation
    ) -> SSAValue | None:
        """An extreme that an element attains where it has a relation to it."""
        while isinstance(owner := extreme.owner, graph.ReshapeOp):
            extreme = owner.operand
        if owner not in self.steps or not isinstance(owner, graph.ReduceOp):
            return None
        if relation not in ATTAINING_RELATIONS.get(owner.combination, ()):
            return None
        return extreme if self._element_of(owner) is element else None

    def _element_of(self, op: graph.ReduceOp) -> SSAValue:
        """
        Return the operand whose extreme is reduced, before the mask if that is the
        same.
        """
        mask = _mask_of(op)
        return mask.source if mask and _is_same_mask(self.mask, mask) else op.inputs[0]

    def _extreme_of(self, element: SSAValue) -> SSAValue | None:
        """The only extreme of an element among the steps."""
        found = [
            op.results[0]
            for op in self.steps
            if isinstance(op, graph.ReduceOp)
            and op.combination in ATTAINING_RELATIONS
            and self._element_of(op) is element
        ]
        return found[0] if len(found) == 1 else None


def is_used_arithmetically(
    value: SSAValue, steps: Collection[Operation], dependent: Collection[Operation]
) -> bool:
    """
    Return `True` if a step needs a value that is computed from this one other than by
    comparing.
    """
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
