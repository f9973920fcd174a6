"""
Planned groups of a block that are equal: same operations, types, plans and views of
their operands, so that one function can stand for all of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.in_place_attribute import (
    in_place_operands_of,
)
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ConstantInterface,
    ViewInterface,
)
from tlf.dialects.slice_views import is_stored_slice
from tlf.passes.graph.cse import structural_key_of_regions


@dataclass
class OperandViews:
    """Views through which a group reads tensors, each seen once."""

    sources: dict[SSAValue, None] = field(default_factory=dict[SSAValue, None])
    """Tensors that are read, in order of their first use."""
    views: dict[Operation, None] = field(default_factory=dict[Operation, None])
    """Views of these tensors and of other views, sources first."""
    key: list[Hashable] = field(default_factory=list[Hashable])
    """Wiring of views and sources; equal if only the sources differ."""
    _numbers: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])

    def trace(self, value: SSAValue) -> None:
        """Add an operand, and all views between it and its source."""
        if (number := self._numbers.get(value)) is not None:
            self.key.append(number)
            return
        self._numbers[value] = len(self._numbers)
        owner = value.owner
        if not isinstance(owner, Operation) or not _is_view(owner):
            self.sources[value] = None
            self.key.append(value.type)
            return
        self.key += (owner.name, _attributes_of(owner), value.type)
        for operand in owner.operands:
            self.trace(operand)
        self.views[owner] = None


def equal_groups_of(block: Block) -> Iterable[list[graph.GroupOp]]:
    """
    Return lists of several equal groups of a block, in program order, whose operands
    and results are buffers of their own.
    """
    groups: dict[Hashable, list[graph.GroupOp]] = {}
    for op in block.ops:
        if not isinstance(op, graph.GroupOp) or not _is_independent(op):
            continue
        views = views_of_operands(op)
        if not all(map(_has_own_buffer, (*views.sources, *op.results))):
            continue
        key = (
            tuple(views.key),
            _attributes_of(op),
            op.result_types,
            structural_key_of_regions(op),
        )
        groups.setdefault(key, []).append(op)
    return [each for each in groups.values() if len(each) > 1]


def views_of_operands(group: graph.GroupOp) -> OperandViews:
    """Return the views through which a group reads its operands."""
    views = OperandViews()
    for operand in group.operands:
        views.trace(operand)
    return views


def _attributes_of(op: Operation) -> Hashable:
    return frozenset(op.properties.items()), frozenset(op.attributes.items())


def _is_independent(group: graph.GroupOp) -> bool:
    """
    Return `True` if a group shares neither buffers nor tiles in an inner level with
    others.
    """
    if (plan := group.plan) is None or not plan.loop_mapping.is_grid:
        return False
    if plan.resident_operands or plan.retained_results:
        return False
    overwritten = (each for each in in_place_operands_of(group) if each is not None)
    if not all(_has_own_buffer(group.operands[each]) for each in overwritten):
        return False
    return not any(map(_adds_to_argument, group.yielded_values))


def _adds_to_argument(value: SSAValue) -> bool:
    """
    Return `True` if a result of a group accumulates into an operand, which it may
    overwrite unless the operand has other users.
    """
    owner = value.owner
    if not isinstance(owner, AccumulatingInterface):
        return False
    return isinstance(owner.init_value, BlockArgument)


def _is_view(op: Operation) -> bool:
    """Return `True` if a result is a part or a view of the buffer of the operand."""
    return isinstance(op, ViewInterface) or is_stored_slice(op)


def _has_own_buffer(value: SSAValue) -> bool:
    """
    Return `True` if the buffer of a tensor is an argument, a constant, or one that
    groups allocate, and no part or view of another.
    """
    owner = value.owner
    if isinstance(owner, ConstantInterface):
        return owner.splat_attribute() is None
    if not isinstance(owner, graph.GroupOp):
        return isinstance(value, BlockArgument)
    overwritten = in_place_operands_of(owner)[
        list[SSAValue](owner.results).index(value)
    ]
    if overwritten is not None and not _has_own_buffer(owner.operands[overwritten]):
        return False
    return _has_own_uses(value, is_viewed=False)


def _has_own_uses(value: SSAValue, is_viewed: bool) -> bool:
    """
    Return `True` if only groups use a tensor, or views of it, and if it is returned as
    it is, if at all, also by groups that overwrite it.
    """
    for use in value.uses:
        match user := use.operation:
            case graph.GroupOp():
                overwriting = zip(in_place_operands_of(user), user.results, strict=True)
                if not all(
                    _has_own_uses(result, is_viewed)
                    for index, result in overwriting
                    if index == use.index
                ):
                    return False
            case func.ReturnOp():
                if is_viewed:
                    return False
            case _:
                if not _is_view(user) or not _has_own_uses(user.results[0], True):
                    return False
    return True
