"""Planning of fusion: reasons why the reductions of groups do not form one loop."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from xdsl.ir import Operation

from tlf.analysis.recurrence.cascade_anchor import explain_no_cascade
from tlf.analysis.tiling.group_analysis import GroupMembers
from tlf.analysis.tiling.structural_keys import StructuralKeys
from tlf.planner.fusion.remark_collector import LOOPS, RemarkCollector


@dataclass
class LoopObjections:
    """
    Groups whose reductions form one loop, and the reasons why others do not, memoized
    by structure.
    """

    structures: StructuralKeys
    _loops: dict[Hashable, bool] = field(default_factory=dict[Hashable, bool])
    _objections: dict[Hashable, tuple[int, str] | None] = field(
        default_factory=dict[Hashable, "tuple[int, str] | None"]
    )
    """Index of an operation of the group, and the reason."""

    def can_form_loop(self, members: GroupMembers) -> bool:
        """Return `True` if analysis finds one loop for the reductions of a group."""
        key = self._structural_key_of(members)
        if key not in self._loops:
            self._loops[key] = members.cascade is not None
        return self._loops[key]

    def can_run_in_loop(self, members: GroupMembers) -> bool:
        """
        Return `True` if a group may run in a loop over a reduction axis: that of its
        only contraction, or one for all of its reductions.
        """
        return members.only_contraction is not None or self.can_form_loop(members)

    def report_loop_objection(
        self, members: GroupMembers, remarks: RemarkCollector
    ) -> None:
        """Add a remark on the reason why the reductions form no loop, if any."""
        key = self._structural_key_of(members)
        if key not in self._objections:
            self._objections[key] = _find_loop_objection(members)
        if (fault := self._objections[key]) is not None:
            index, reason = fault
            text = f"no loop with other reductions: {reason}"
            remarks.add_remark(members.operations[index], "missed", text, LOOPS)

    def _structural_key_of(self, members: GroupMembers) -> Hashable:
        return self.structures.structural_key_of(members.operations, members.results)


def _find_loop_objection(members: GroupMembers) -> tuple[int, str] | None:
    """
    Return the index of the operation that prevents a cascade of the reductions, and the
    reason; None if nothing does.
    """
    error = explain_no_cascade(
        members.operations, members.op_facts, members.axis_classes
    )
    if error is None:
        return None
    return list[Operation](members.operations).index(error.op), error.reason
