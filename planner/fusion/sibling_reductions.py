"""
Planning of fusion: groups of reductions that read the same tensor, and the division of
a group between two of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from tlf.analysis.operations.op_facts import OpFactsCache
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ContractionInterface,
    TilingInterface,
)
from tlf.dialects.types import element_count_of
from tlf.planner.fusion.group_convexity import DependenceOrder
from tlf.planner.fusion.producer_closure import Part
from tlf.planner.settings.search_budgets import PARTITION

DividedGroup: TypeAlias = (
    "tuple[list[TilingInterface], list[TilingInterface], list[TilingInterface]]"
)
"""A group, its operations that another group needs, and the others."""


def collect_sibling_reductions(
    groups: Mapping[Operation, Part], op_facts: OpFactsCache
) -> Iterator[list[Part]]:
    """
    Yield pairs of groups that reduce one axis of the same tensor, the last readers
    first. Groups may be merged between two pairs.
    """
    readers: dict[SSAValue, Operation] = {}
    for op in reversed(list(groups)):
        for value in op.operands:
            part = groups[op]
            if value.owner in part or not _reduces_axis_of(value, part, op_facts):
                continue
            other = groups[readers.setdefault(value, op)]
            if other is not part:
                yield [other, part]
                readers[value] = op


def _reduces_axis_of(value: SSAValue, part: Part, op_facts: OpFactsCache) -> bool:
    """
    Return `True` if a group without contractions has a reduction along one axis to far
    fewer elements than those of a value.
    """
    if any(isinstance(op, ContractionInterface) for op in part):
        return False
    reductions = [op for op in part if isinstance(op, AccumulatingInterface)]
    elements = element_count_of(value) // PARTITION.small_tensor_ratio
    return bool(reductions) and all(
        len(op_facts.facts_of(op).reduction_dims) == 1
        and element_count_of(op.results[0]) <= elements
        for op in reductions
    )


def divide_groups_between(
    operations: Sequence[TilingInterface],
    groups: Mapping[Operation, list[TilingInterface]],
    dependences: DependenceOrder,
) -> list[DividedGroup] | None:
    """
    Return the groups that both depend on operations and compute their operands, each
    with its operations that the operands need, and the others. Return None if an
    operation is needed, and depends on `operations`.
    """
    if not dependences.is_convex(operations, {}):
        return None
    needed = dependences.ancestors_of(operations)
    dependent = dependences.descendants_of(operations)
    parts = {id(groups[op]): groups[op] for op in needed if op in groups}
    return [
        (
            part,
            [op for op in part if op in needed],
            [op for op in part if op not in needed],
        )
        for part in parts.values()
        if not dependent.isdisjoint(part) and not set(operations).intersection(part)
    ]
