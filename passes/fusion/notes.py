"""What was decided about many operations, told in the program once it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.ir import Operation

from tlf.dialects.graph import remark_all
from tlf.dialects.graph.remark import Kind

NO_LOOP = "no loop with other reductions"
"""What begins the remark on a reduction that algebra keeps out of a loop."""


@dataclass
class Notes:
    """The remarks of a pass, put together before they are written down."""

    source: str
    places: dict[tuple[Operation | None, Kind, str], list[Operation]] = field(
        default_factory=dict[tuple[Operation | None, Kind, str], list[Operation]]
    )

    def add(self, op: Operation, kind: Kind, text: str) -> None:
        """Say what was done at an operation, or why it was not."""
        self.places.setdefault((_function_of(op), kind, text), []).append(op)

    def write(self) -> None:
        """Leave the remarks on the functions that they are about."""
        for (_, kind, text), operations in self.places.items():
            remark_all(operations, self.source, kind, text)


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
    """What is said of a group with more contractions than it may have."""
    return f"a group holds {most} contraction{'s' if most != 1 else ''} at most"


def role_of_others(parts: Sequence[Sequence[Operation]]) -> str:
    """What the groups behind the first one are to it."""
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
