"""Reasons why the reductions of groups do not form one loop."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from xdsl.ir import Operation

from tlf.analysis.recurrence.anchors import why_no_cascade
from tlf.analysis.tiling.group import Members
from tlf.analysis.tiling.structure import Structures
from tlf.planner.fusion.notes import LOOPS, Notes


@dataclass
class NoLoops:
    """Tells whether groups are loops, and why not, once for all of a structure."""

    structures: Structures
    _loops: dict[Hashable, bool] = field(default_factory=dict[Hashable, bool])
    _faults: dict[Hashable, tuple[int, str] | None] = field(
        default_factory=dict[Hashable, "tuple[int, str] | None"]
    )
    """The place of an operation, and what is said of it."""

    def is_loop(self, members: Members) -> bool:
        """Return `True` if the reductions of a group may be one loop."""
        key = self._key(members)
        if key not in self._loops:
            self._loops[key] = members.cascade is not None
        return self._loops[key]

    def tell(self, members: Members, notes: Notes) -> None:
        """Say what stands in the way, if something does."""
        key = self._key(members)
        if key not in self._faults:
            self._faults[key] = _fault(members)
        if (fault := self._faults[key]) is not None:
            place, reason = fault
            text = f"no loop with other reductions: {reason}"
            notes.add(members.operations[place], "missed", text, LOOPS)

    def _key(self, members: Members) -> Hashable:
        return self.structures.of(members.operations, members.results)


def _fault(members: Members) -> tuple[int, str] | None:
    error = why_no_cascade(members.operations, members.forms, members.classes)
    if error is None:
        return None
    return list[Operation](members.operations).index(error.op), error.reason
