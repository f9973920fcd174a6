"""Collect remarks on decisions and combine them before they are attached."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects import func
from xdsl.ir import Operation

from tlf.dialects.graph import add_shared_remark
from tlf.dialects.graph.remark import RemarkKind

LOOPS = "loops"
"""The topic of what algebra keeps out of a loop, in groups of whatever operations."""

RemarkKey: TypeAlias = "tuple[Operation | None, RemarkKind, str, str]"
"""The function that a remark is about, its kind, its text, and its topic."""


@dataclass
class RemarkCollector:
    """Remarks of a pass, combined before they are attached."""

    source: str
    level: str = ""
    """The level of the groups that they are about, if it is a nearer one."""
    operations: dict[RemarkKey, list[Operation]] = field(
        default_factory=dict[RemarkKey, list[Operation]]
    )

    def add_remark(
        self, op: Operation, kind: RemarkKind, text: str, topic: str = ""
    ) -> None:
        """Say what was done at an operation, or why it was not."""
        self.operations.setdefault((_function_of(op), kind, text, topic), []).append(op)

    def attach_remarks(self) -> None:
        """Leave the remarks on the functions that they are about."""
        for (_, kind, text, topic), operations in self.operations.items():
            add_shared_remark(operations, self.source, kind, text, topic, self.level)


def _function_of(op: Operation) -> Operation | None:
    parent: Operation | None = op
    while parent is not None and not isinstance(parent, func.FuncOp):
        parent = parent.parent_op()
    return parent


def describe_operations(operations: Sequence[Operation]) -> str:
    """The operations of a group, those of a kind counted."""
    counts = Counter(op.name.partition(".")[2] for op in operations)
    return ", ".join(
        name if count == 1 else f"{count} x {name}" for name, count in counts.items()
    )


def too_many_contractions(most: int) -> str:
    """Return the remark on a group with more contractions than it may have."""
    return f"a group holds {most} contraction{'s' if most != 1 else ''} at most"


def too_many_operations(most: int) -> str:
    """Return the remark on a group with more operations than it may have."""
    return f"a group holds {most} operations at most"


def describe_other_groups(parts: Sequence[Sequence[Operation]]) -> str:
    """Return a description of the other groups in relation to the first one."""
    first, *rest = parts
    inside = {op for part in rest for op in part}
    pending, seen = list[Operation](first), set[Operation]()
    while pending:
        op = pending.pop()
        if op in inside:
            return "what makes its operands"
        if op not in seen:
            seen.add(op)
            owners = (operand.owner for operand in op.operands)
            pending += [each for each in owners if isinstance(each, Operation)]
    return "what reads its results"
