"""
Planning of fusion: reductions of different groups that read the same tensor, and the
division of the groups around them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from tlf.analysis.operations.op_facts import OpFactsCache
from tlf.analysis.work.flops_and_bytes import size_in_bytes
from tlf.dialects.interfaces import (
    ContractionInterface,
    ElementwiseInterface,
    ReductionInterface,
    TilingInterface,
)
from tlf.dialects.types import element_count_of
from tlf.planner.fusion.group_convexity import DependenceOrder
from tlf.planner.fusion.producer_closure import Part
from tlf.planner.settings.search_budgets import PARTITION


@dataclass(frozen=True)
class SiblingReductions:
    """Operations of groups that reduce the same tensor, and what is left of groups."""

    operations: list[TilingInterface]
    """Operations that may run in one loop, in program order."""
    others: list[list[TilingInterface]]
    """Other operations of the groups, by group; those that the loop needs are apart."""
    replaced: Sequence[Part]
    """The groups."""


def collect_sibling_reductions(
    groups: Mapping[Operation, list[TilingInterface]],
    dependences: DependenceOrder,
    op_facts: OpFactsCache,
    cached_bytes: int,
) -> Iterator[SiblingReductions]:
    """
    Yield pairs of groups with reductions along one axis of the same tensor of more than
    `cached_bytes`, the last readers first. A smaller tensor is in the cache when it is
    read again. Groups may be merged between two pairs.
    """
    readers: dict[SSAValue, Operation] = {}
    for op in reversed(list(groups)):
        for value in op.operands:
            if size_in_bytes([value]) <= cached_bytes:
                continue
            part, other = groups[op], groups[readers.get(value, op)]
            if value.owner in part or not _reducing_operations(value, part, op_facts):
                continue
            readers[value] = op
            if other is part:
                continue
            operations = [
                each
                for group in (part, other)
                for each in _reducing_operations(value, group, op_facts)
            ]
            operations.sort(key=dependences.position.__getitem__)
            siblings = _divide_groups_around(operations, groups, dependences)
            if siblings is not None:
                yield siblings


def _reducing_operations(
    value: SSAValue, part: Part, op_facts: OpFactsCache
) -> list[TilingInterface]:
    """
    Return the reductions of a group along one axis to far fewer elements than those of
    a value that it reads, and the operations of the group that compute their operands;
    none if these include a product.
    """
    elements = element_count_of(value) // PARTITION.small_tensor_ratio
    computing = list[TilingInterface]()
    needed, dependent = set[Operation](), {value}
    for op in part:
        if dependent.isdisjoint(op.operands):
            continue
        if isinstance(op, ElementwiseInterface):
            dependent.update(op.results)
        if (
            isinstance(op, ReductionInterface)
            and len(op_facts.facts_of(op).reduction_dims) == 1
            and element_count_of(op.results[0]) <= elements
        ):
            needed.add(op)
    for op in reversed(part):
        users = {use.operation for result in op.results for use in result.uses}
        if op in needed or not users.isdisjoint(needed):
            needed.add(op)
            computing.append(op)
    if any(isinstance(op, ContractionInterface) for op in computing):
        return []
    return computing


def _divide_groups_around(
    operations: list[TilingInterface],
    groups: Mapping[Operation, list[TilingInterface]],
    dependences: DependenceOrder,
) -> SiblingReductions | None:
    """
    Divide the groups that operations belong to, and those that both depend on them and
    compute their operands. Return None if an operation does both.
    """
    if not dependences.is_convex(operations, {}):
        return None
    needed = dependences.ancestors_of(operations)
    dependent = dependences.descendants_of(operations)
    around = {op for op in (*needed, *operations) if op in groups}
    parts = [*{id(groups[op]): groups[op] for op in around}.values()]
    inside = set[Operation](operations)
    replaced = [
        part
        for part in parts
        if not inside.isdisjoint(part)
        or not (dependent.isdisjoint(part) or needed.isdisjoint(part))
    ]
    halves = [
        half
        for part in replaced
        for half in (
            [op for op in part if op in needed and op not in inside],
            [op for op in part if op not in needed and op not in inside],
        )
    ]
    return SiblingReductions(operations, [each for each in halves if each], replaced)
