"""
Collector of the planner's remarks on decisions, which are combined before they are
attached.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import Operation

from tlf.dialects.graph.remark_attribute import RemarkKind, enclosing_function

LOOPS = "loops"
"""Topic of remarks on algebraic reasons against a loop, independent of the grouping."""

RemarkKey: TypeAlias = "tuple[Operation | None, RemarkKind, str, str]"
"""Function that a remark is about, its kind, its text, and its topic."""


@dataclass
class RemarkCollector:
    """Remarks of a pass, combined before they are attached."""

    pass_name: str
    level: str = ""
    """Level of the groups that the remarks are about, if it is an inner one."""
    operations: dict[RemarkKey, list[Operation]] = field(
        default_factory=dict[RemarkKey, list[Operation]]
    )

    def add_remark(
        self, op: Operation, kind: RemarkKind, text: str, topic: str = ""
    ) -> None:
        """Record a decision at an operation, passed or missed."""
        self.operations.setdefault(
            (enclosing_function(op), kind, text, topic), []
        ).append(op)


def describe_operations(operations: Sequence[Operation]) -> str:
    """Return a list of the operations of a group, with a count per kind."""
    counts = Counter(op.name.partition(".")[2] for op in operations)
    return ", ".join(
        name if count == 1 else f"{count} x {name}" for name, count in counts.items()
    )


def contraction_limit_remark(limit: int) -> str:
    """Return the remark on a group with too many contractions."""
    return f"a group has at most {limit} contraction{'s' if limit != 1 else ''}"


def operation_limit_remark(limit: int) -> str:
    """Return the remark on a group with too many operations."""
    return f"a group has at most {limit} operations"


def describe_other_groups(groups: Sequence[Sequence[Operation]]) -> str:
    """Return a description of the other groups in relation to the first one."""
    first, *rest = groups
    inside = {op for part in rest for op in part}
    pending, visited = list[Operation](first), set[Operation]()
    while pending:
        op = pending.pop()
        if op in inside:
            return "the producers of its operands"
        if op not in visited:
            visited.add(op)
            owners = (operand.owner for operand in op.operands)
            pending += [each for each in owners if isinstance(each, Operation)]
    return "the readers of its results"
