"""
Remarks on decisions about many operations, combined before they are written to the
program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects import func
from xdsl.ir import Operation

from tlf.dialects.graph import remark_all
from tlf.dialects.graph.remark import Kind

LOOPS = "loops"
"""The topic of what algebra keeps out of a loop, in groups of whatever operations."""

Note: TypeAlias = "tuple[Operation | None, Kind, str, str]"
"""The function that a remark is about, its kind, its text, and its topic."""


@dataclass
class Notes:
    """The remarks of a pass, put together before they are written down."""

    source: str
    level: str = ""
    """The level of the groups that they are about, if it is a nearer one."""
    places: dict[Note, list[Operation]] = field(
        default_factory=dict[Note, list[Operation]]
    )

    def add(self, op: Operation, kind: Kind, text: str, topic: str = "") -> None:
        """Say what was done at an operation, or why it was not."""
        self.places.setdefault((_function_of(op), kind, text, topic), []).append(op)

    def write(self) -> None:
        """Leave the remarks on the functions that they are about."""
        for (_, kind, text, topic), operations in self.places.items():
            remark_all(operations, self.source, kind, text, topic, self.level)


def _function_of(op: Operation) -> Operation | None:
    parent: Operation | None = op
    while parent is not None and not isinstance(parent, func.FuncOp):
        parent = parent.parent_op()
    return parent


def listed(operations: Sequence[Operation]) -> str:
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


def role_of_others(parts: Sequence[Sequence[Operation]]) -> str:
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
