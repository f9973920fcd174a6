"""Partition the operations of a block into groups."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import Block, Operation, SSAValue

from tlf.analysis.operations.op_facts import OpFactsCache
from tlf.analysis.operations.op_kinds import OpKinds
from tlf.analysis.tiling.group_analysis import (
    GroupMembers,
    describe_overflow,
    group_members_of,
    group_objection,
)
from tlf.analysis.tiling.structural_keys import StructuralKeys
from tlf.analysis.tiling.uniform_groups import UniformGroups
from tlf.dialects.concat_like_interface import ConcatLikeInterface
from tlf.dialects.interfaces import (
    ConstantInterface,
    ContractionInterface,
    ElementwiseInterface,
    ReductionInterface,
    TilingInterface,
    ViewInterface,
)
from tlf.dialects.slice_views import is_stored_slice
from tlf.dialects.target import Level, LevelKind, TargetSpec
from tlf.dialects.tensor_copies import is_copy
from tlf.dialects.tile import level_of
from tlf.planner.fusion import epilogue, recompute_limit
from tlf.planner.fusion.cascade_fusion import CascadeFusion, collect_candidates
from tlf.planner.fusion.convexity import DependenceOrder
from tlf.planner.fusion.intermediate_traffic import (
    connected_components_of,
    has_wider_results,
    max_saved_bytes,
)
from tlf.planner.fusion.loop_objections import LoopObjections
from tlf.planner.fusion.producer_closure import Part
from tlf.planner.fusion.prologue import PrologueRule
from tlf.planner.fusion.remark_collector import (
    RemarkCollector,
    describe_operations,
    describe_other_groups,
    too_many_contractions,
    too_many_operations,
)
from tlf.planner.fusion.view_barriers import explain_view_barriers, is_unit_reshape

COPY = "a copy near the engines is made when it is needed, not before"
"""Reason why a copy is apart from the operation that computes its operand."""

Groups: TypeAlias = dict[Operation, list[TilingInterface]]
"""For each operation of a block, those that it runs with, in program order."""

Missed: TypeAlias = list[tuple[Operation, Operation, str]]
"""Operations and readers of their results that are apart, and why."""

CONTRACTIONS = 1
"""Maximum number of contractions in a group unless more are asked for."""

OPERATIONS = 64
"""Maximum number of operations in a group unless more are asked for."""


FEWER = "so that fewer bytes are handed on"
"""
Reason why an operation is apart from the producers of its operands, once it is moved to
its reader's group.
"""

SERIAL = "what one reduction computes side by side another one reduces"


@dataclass
class Grouping:
    """The groups of a program, while they are being chosen block by block."""

    level: Level
    target: TargetSpec
    contractions: int = CONTRACTIONS
    operations: int = OPERATIONS
    remarks: RemarkCollector = field(
        default_factory=lambda: RemarkCollector("graph-group")
    )
    reports: bool = True
    """True if `notes` are taken."""
    home: Level | None = None
    """The level of values that name none; the outermost one unless given."""
    uniform: UniformGroups = field(init=False)
    cascades: CascadeFusion | None = None
    """
    Prices of groups that may be joined because their reductions form one loop, if any.
    """
    prologues: PrologueRule = field(init=False)
    forms: OpFactsCache = field(default_factory=OpFactsCache)
    """Cached forms of operations."""
    _kinds: OpKinds = field(init=False)
    _structures: StructuralKeys = field(init=False)
    _no_loops: LoopObjections = field(init=False)
    _misfits: dict[Hashable, str | None] = field(
        init=False, default_factory=dict[Hashable, "str | None"]
    )
    _forbidden: dict[Hashable, str | None] = field(
        init=False, default_factory=dict[Hashable, "str | None"]
    )
    _unfit: dict[Hashable, str | None] = field(
        init=False, default_factory=dict[Hashable, "str | None"]
    )
    order: DependenceOrder = field(init=False)
    """The positions of the operations of the block, and their dependences."""

    def __post_init__(self) -> None:
        self._kinds = kinds = OpKinds()
        self._structures = StructuralKeys(kinds)
        self._no_loops = LoopObjections(self._structures)
        self.uniform = UniformGroups(self.level, kinds)
        self.prologues = PrologueRule(self.level, self.target, self.home)

    def partition_block(self, block: Block) -> list[list[TilingInterface]]:
        """
        Split the operations of a block into groups, each in program order.

        Every operation first stands alone; going down the block, it then joins the
        groups of its operands wherever the rules allow it. What hands on more bytes
        than it takes then goes over to the group that reads it. At last, what reads the
        same joins, where that is all that keeps it apart.
        """
        self.order = DependenceOrder(block, self._kinds)
        groups: Groups = {}
        missed: Missed = []
        for op in block.ops:
            if not self.is_groupable(op) or not isinstance(op, TilingInterface):
                continue
            groups[op] = [op]
            for producer in self._producer_groups(op, groups):
                if (reason := self._merge_groups(producer, op, groups)) is not None:
                    missed.append((producer, op, reason))
            missed += [
                (maker, op, why) for maker, why in explain_view_barriers(op, groups)
            ]
        self._sink_into_readers(groups, missed)
        self._merge_siblings(groups)
        self._merge_cascades(groups)
        parts = {id(members): members for members in groups.values()}.values()
        kept = [members for members in parts if not _is_views_only(members)]
        if self.reports:
            self._report_groups(kept, missed, groups)
        return kept

    def _merge_groups(
        self, first: Operation, second: Operation, groups: Groups
    ) -> str | None:
        """Let the groups of two operations become one, or say what stands against."""
        if groups[first] is groups[second]:
            return None
        if is_copy(second) and self._is_in_inner_level(second):
            return COPY
        joined = [*groups[first], *groups[second]]
        joined.sort(key=self.order.position.__getitem__)
        if (reason := self.objection(joined, groups)) is None:
            groups.update((member, joined) for member in joined)
        return reason

    def _is_in_inner_level(self, op: Operation) -> bool:
        """
        Return `True` if the result of an operation is not in the outermost memory.
        """
        return self.home is not None or level_of(op.results[0].type) is not None

    def _sink_into_readers(self, groups: Groups, missed: Missed) -> None:
        """
        Let an elementwise operation run with the only group that reads it, such as a
        cast to a wider type, where less is handed on so. A contraction would compute it
        again for each of its tiles, so that only what widens goes there.
        """
        for op in reversed(groups):
            if not isinstance(op, ElementwiseInterface):
                continue
            if (reader := self._find_only_reader(op, groups)) is None:
                continue
            saved, moved = max_saved_bytes(op, groups[op], groups[reader])
            if saved <= 0:
                continue
            if has_wider_results(op) or not any(map(_is_contraction, groups[reader])):
                self._move_operations(moved, reader, groups, missed)

    def _move_operations(
        self,
        moved: list[TilingInterface],
        reader: Operation,
        groups: Groups,
        missed: Missed,
    ) -> None:
        """
        Let operations leave their group for that of the reader of the last one, where
        they may join it, and what is left may do without them. Others are apart for the
        reason that this was.
        """
        *_, op = moved
        before, after = groups[op], groups[reader]
        rest = connected_components_of(
            [member for member in before if member not in moved]
        )
        groups.update((member, part) for part in rest for member in part)
        groups.update((member, moved) for member in moved)
        is_left = all(self.objection(part, groups) is None for part in rest)
        if not is_left or self._merge_groups(op, reader, groups) is not None:
            groups.update((member, before) for member in before)
            return
        why = next((why for a, b, why in missed if a is op and b in after), FEWER)
        missed += [
            (maker, member, why)
            for member in moved
            for maker in self._producer_groups(member, groups)
            if maker in before and maker not in moved
        ]

    @staticmethod
    def _find_only_reader(op: Operation, groups: Groups) -> Operation | None:
        """A reader of what a group ends with, if all are in one other group."""
        readers = [use.operation for result in op.results for use in result.uses]
        around = {id(groups.get(reader)) for reader in readers}
        if len(around) != 1 or readers[0] not in groups:
            return None
        return None if groups[readers[0]] is groups[op] else readers[0]

    def _merge_siblings(self, groups: Groups) -> None:
        """
        Let groups of elementwise operations on one shape run together where they read
        the same tensor of this shape, which is then read once.
        """
        readers: dict[SSAValue, TilingInterface] = {}
        for op in list(groups):
            if not isinstance(op, ElementwiseInterface):
                continue
            for operand in self.uniform.full_shape_operands(op):
                sibling = readers.get(operand)
                readers[operand] = op
                if sibling is None or operand.owner in groups[op]:
                    continue
                if self.uniform.can_fit([*groups[sibling], *groups[op]]):
                    self._merge_groups(sibling, op, groups)

    def _merge_cascades(self, groups: Groups) -> None:
        """Let groups run as one whose reductions are one loop, where this pays."""
        if self.cascades is None:
            self._report_no_loops(groups)
            return
        apart: dict[int, tuple[list[Part], str]] = {}
        failed, loops = list[GroupMembers](), list[GroupMembers]()
        for parts, members in self._find_fused_loops(groups, self.cascades.forms):
            why = self._tiling_objection(members)
            if why is None and self.cascades.is_profitable(members, parts):
                joined = list(members.operations)
                groups.update((member, joined) for member in joined)
                loops.append(members)
            elif self.reports:
                failed.append(members)
                if members.cascade is not None or members.only_contraction is not None:
                    why = why or self.cascades.cost_of(members, parts).describe
                    apart.setdefault(id(parts[0]), (parts, why))
        self._report_failed_loops(failed, loops)
        for parts, why in apart.values():
            *_, last = part = parts[0]
            if groups[last] is part:
                text = f"one loop with {describe_other_groups(parts)}: {why}"
                self.remarks.add_remark(last, "missed", text)

    def _find_fused_loops(
        self, groups: Groups, forms: OpFactsCache
    ) -> Iterator[tuple[list[Part], GroupMembers]]:
        """Groups whose reductions may be one loop, and what they are together."""
        for parts in collect_candidates(groups, forms):
            joined = [op for part in parts for op in part]
            joined.sort(key=self.order.position.__getitem__)
            if self.order.is_convex(joined, groups):
                yield parts, group_members_of(joined, forms)

    def _report_no_loops(self, groups: Groups) -> None:
        """Tell why reductions are no loop in tiles of any level, where none are."""
        if self.reports:
            found = [
                members for _, members in self._find_fused_loops(groups, self.forms)
            ]
            loops = filter(self._no_loops.is_loop, found)
            self._report_failed_loops(found, list(loops))

    def _report_failed_loops(
        self, found: Sequence[GroupMembers], loops: Sequence[GroupMembers]
    ) -> None:
        """Tell why reductions are no loop, if they are none and in none of others."""
        looped = [set[Operation](each.operations) for each in loops]
        for members in found:
            if (
                self._no_loops.is_loop(members)
                or len(members.accumulating_operations) < 2
            ):
                continue
            if any(each.issuperset(members.accumulating_operations) for each in looped):
                continue
            self._no_loops.report_objection(members, self.remarks)

    def _report_groups(
        self,
        groups: Sequence[Sequence[TilingInterface]],
        missed: Missed,
        group_of: Groups,
    ) -> None:
        """Tell what runs together, and why what follows each other does not."""
        for members in groups:
            if len(members) > 1:
                text = f"run together: {describe_operations(members)}"
                self.remarks.add_remark(members[-1], "passed", text)
        kept = {op for members in groups for op in members}
        for first, second, reason in missed:
            if {first, second} <= kept and group_of[first] is not group_of[second]:
                self.remarks.add_remark(
                    second, "missed", f"apart from its operand: {reason}"
                )

    def is_groupable(self, op: Operation) -> bool:
        """Return `True` if an operation is to be tiled for this level."""
        if not isinstance(op, TilingInterface) or isinstance(op, ConcatLikeInterface):
            return False
        if any(level_of(result.type) == self.level.name for result in op.results):
            return False
        if is_stored_slice(op):
            return False
        if isinstance(op, ConstantInterface):
            return op.splat_value() is not None and self._is_stored(op)
        return not isinstance(op, ViewInterface) or is_unit_reshape(op)

    def _is_stored(self, op: Operation) -> bool:
        """
        Return `True` if a constant has users outside of groups, which need it in
        memory.
        """
        return any(
            not self.is_groupable(use.operation)
            for result in op.results
            for use in result.uses
        )

    @staticmethod
    def _producer_groups(
        op: TilingInterface, groups: dict[Operation, list[TilingInterface]]
    ) -> list[Operation]:
        owners = [operand.owner for operand in op.operands]
        return [
            each for each in owners if isinstance(each, Operation) and each in groups
        ]

    def objection(
        self,
        operations: Sequence[TilingInterface],
        groups: Mapping[Operation, Sequence[TilingInterface]],
    ) -> str | None:
        """
        Return why operations, in program order, may not form a group beside others;
        None if they may.
        """
        if len(operations) > self.operations:
            return too_many_operations(self.operations)
        results = self.order.results_of(operations)
        key = self.order.structure_of(operations, results)
        if key not in self._forbidden:
            self._forbidden[key] = self._structural_objection(operations)
        if (reason := self._forbidden[key]) is not None:
            return reason
        if not self.order.is_convex(operations, groups):
            return "a value would leave the group and come back to it"
        if key not in self._unfit:
            self._unfit[key] = self._capacity_objection(operations)
        return self._unfit[key]

    def _capacity_objection(self, operations: Sequence[TilingInterface]) -> str | None:
        """
        Return why the smallest tiles of operations are too large; None if they fit.
        """
        if (needed := self.uniform.required_bytes(operations)) is None:
            return self._tiling_objection(group_members_of(operations, self.forms))
        fits = needed <= self.level.capacity
        return None if fits else describe_overflow(needed, self.level)

    def _structural_objection(
        self, operations: Sequence[TilingInterface]
    ) -> str | None:
        """
        Return why operations may not form a group, whatever is around it; None if they
        may.
        """
        contractions = sum(isinstance(op, ContractionInterface) for op in operations)
        if contractions > self.contractions:
            return too_many_contractions(self.contractions)
        if contractions and any(
            isinstance(op, ReductionInterface) for op in operations
        ):
            return "a contraction and a reduction share no loops"
        if self.cascades is not None and recompute_limit.is_serializing(
            operations, self.forms
        ):
            return SERIAL
        if self.contractions > 1:
            return None
        if contractions:
            if (reason := self.prologues.objection(operations)) is not None:
                return reason
            if self.level.kind is LevelKind.VALUE:
                if (reason := epilogue.objection(operations)) is not None:
                    return reason
        return recompute_limit.objection(operations, self.forms)

    def _tiling_objection(self, members: GroupMembers) -> str | None:
        """
        Return why operations cannot be tiled as a group, found once for each structure;
        None if they can.
        """
        key = self.order.structure_of(members.operations, members.results)
        if key not in self._misfits:
            self._misfits[key] = group_objection(members, self.level, self.target)
        return self._misfits[key]


def _is_views_only(operations: Sequence[TilingInterface]) -> bool:
    """
    Return `True` if operations move nothing: a buffer can be seen as their results.
    """
    return all(isinstance(op, ViewInterface) for op in operations)


def _is_contraction(op: Operation) -> bool:
    return isinstance(op, ContractionInterface)
