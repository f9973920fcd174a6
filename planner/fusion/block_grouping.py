"""Planning of fusion: partition of the operations of a block into groups."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import Block, Operation, SSAValue

from tlf.analysis.operations.op_facts import OpFactsCache
from tlf.analysis.operations.op_kinds import OpKinds
from tlf.analysis.tiling.elementwise_footprints import ElementwiseFootprints
from tlf.analysis.tiling.group_analysis import (
    GroupMembers,
    describe_capacity_overflow,
    find_group_objection,
    group_members_of,
)
from tlf.analysis.tiling.structural_keys import StructuralKeys
from tlf.analysis.work.flops_and_bytes import size_in_bytes
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
from tlf.dialects.storage_attributes import is_loaded_by_copy
from tlf.dialects.target import Level, LevelKind, TargetSpec
from tlf.dialects.tensor_copies import is_tensor_copy
from tlf.dialects.tile import level_of
from tlf.planner.context import Memo
from tlf.planner.fusion import epilogue_rule as epilogue
from tlf.planner.fusion import recompute_limit
from tlf.planner.fusion.cascade_fusion import (
    CascadeFusion,
    collect_alternative_fusions,
    collect_fusion_candidates,
)
from tlf.planner.fusion.group_convexity import DependenceOrder
from tlf.planner.fusion.intermediate_traffic import (
    connected_components_of,
    has_wider_results,
    max_bytes_saved_by_moving,
)
from tlf.planner.fusion.live_range_rule import LiveRangeRule
from tlf.planner.fusion.loop_objections import LoopObjections
from tlf.planner.fusion.producer_closure import Part
from tlf.planner.fusion.prologue_rule import (
    PrologueRule,
)
from tlf.planner.fusion.remark_collector import (
    RemarkCollector,
    contraction_limit_remark,
    describe_operations,
    describe_other_groups,
    operation_limit_remark,
)
from tlf.planner.fusion.sibling_reductions import collect_sibling_reductions
from tlf.planner.fusion.view_barriers import explain_view_barriers, is_unit_reshape
from tlf.planner.settings.search_budgets import PARTITION

COPY = "a copy in an inner level runs where its result is used"
"""Reason why a copy is in another group than the producer of its operand."""

Groups: TypeAlias = dict[Operation, list[TilingInterface]]
"""By operation of a block, the operations of its group, in program order."""

Missed: TypeAlias = list[tuple[Operation, Operation, str]]
"""Producers and readers in different groups, and the reason."""


FEWER = "this reduces the intermediate traffic"
"""
Reason why an operation is in another group than the producers of its operands, once it
is moved to its reader's group.
"""

SERIAL = "a reduction runs along a parallel axis of another one"
SPREAD = "a larger result would wait for the tiles of a scan"


@dataclass
class BlockGrouping:
    """Choice of a program's groups for one level, block by block; changes no IR."""

    level: Level
    target: TargetSpec
    max_contractions: int = PARTITION.max_contractions
    max_operations: int = PARTITION.max_operations
    remarks: RemarkCollector = field(
        default_factory=lambda: RemarkCollector("graph-group")
    )
    collects_remarks: bool = True
    """True if `remarks` are collected."""
    default_level: Level | None = None
    """Level of values whose type names none; the outermost level by default."""
    uniform: ElementwiseFootprints = field(init=False)
    cascade_fusion: CascadeFusion | None = None
    """Cost of fusing groups whose reductions form one loop, if available."""
    prologue_rule: PrologueRule = field(init=False)
    op_facts: OpFactsCache = field(default_factory=OpFactsCache)
    """Cached facts of operations."""
    memo: Memo = field(default_factory=Memo)
    """Results of other choices of groups in the same compilation."""
    _kinds: OpKinds = field(init=False)
    _structures: StructuralKeys = field(init=False)
    _loop_objections: LoopObjections = field(init=False)
    _capacity_objections: dict[Hashable, str | None] = field(init=False)
    _structural_objections: dict[Hashable, str | None] = field(init=False)
    _tiling_objections: dict[Hashable, str | None] = field(init=False)
    dependences: DependenceOrder = field(init=False)
    """Positions of the operations of the block, and their dependences."""

    def __post_init__(self) -> None:
        table = self.memo.results_table_for
        self._kinds = kinds = OpKinds(table("operation kinds"))
        rules = self._describe_rules()
        self._capacity_objections = table("capacity", rules)
        self._structural_objections = table("structure", rules)
        self._tiling_objections = table("tiling", rules)
        self._structures = StructuralKeys(kinds)
        self._loop_objections = LoopObjections(self._structures)
        self.uniform = ElementwiseFootprints(self.level, kinds)
        self.prologue_rule = PrologueRule(self.level, self.target, self.default_level)

    def _describe_rules(self) -> str:
        """Return a description of all that decides which operations form groups."""
        limits = self.max_contractions, self.max_operations
        levels = self.level.name, self.default_level and self.default_level.name
        return repr((self.target.data, levels, limits, self.cascade_fusion is None))

    def partition_block(self, block: Block) -> list[list[TilingInterface]]:
        """
        Split the operations of a block into groups, each in program order.

        Every operation starts as its own group; going down the block, it joins the
        groups of its producers if the rules allow it. Operations that produce more
        bytes than they consume are then moved to the group of their reader. Finally,
        groups that read the same tensor are merged, and groups whose reductions form
        one loop.
        """
        self.dependences = DependenceOrder(block, self._kinds)
        groups: Groups = {}
        missed: Missed = []
        for op in block.ops:
            if not self.is_groupable(op) or not isinstance(op, TilingInterface):
                continue
            groups[op] = [op]
            for producer in self._producer_groups(op, groups):
                if (
                    reason := self._merge_groups_of_operations(producer, op, groups)
                ) is not None:
                    missed.append((producer, op, reason))
            missed += [
                (producer_op, op, why)
                for producer_op, why in explain_view_barriers(op, groups)
            ]
        self._sink_elementwise_into_readers(groups, missed)
        self._merge_elementwise_siblings(groups)
        live_ranges = LiveRangeRule(block, self.dependences.position)
        self._merge_reductions_into_loops(groups, live_ranges)
        self._merge_sibling_reductions(groups)
        parts = {id(members): members for members in groups.values()}.values()
        computing = [members for members in parts if not _has_only_views(members)]
        if self.collects_remarks:
            self._report_groups_and_missed_fusions(computing, missed, groups)
        return computing

    def _merge_groups_of_operations(
        self, first: Operation, second: Operation, groups: Groups
    ) -> str | None:
        """
        Merge the groups of two operations, or return the reason why they may not be
        merged.
        """
        if groups[first] is groups[second]:
            return None
        if is_tensor_copy(second) and self._has_result_in_inner_level(second):
            return COPY
        merged = [*groups[first], *groups[second]]
        merged.sort(key=self.dependences.position.__getitem__)
        if (reason := self.group_objection(merged, groups)) is None:
            groups.update((member, merged) for member in merged)
        return reason

    def _has_result_in_inner_level(self, op: Operation) -> bool:
        """Return `True` if the result of an operation is not in the outermost level."""
        return (
            self.default_level is not None or level_of(op.results[0].type) is not None
        )

    def _sink_elementwise_into_readers(
        self, groups: Groups, missed_fusions: Missed
    ) -> None:
        """
        Move an elementwise operation, such as a cast to a wider type, to the only group
        that reads it, if that reduces the intermediate traffic. In the group of a
        contraction it would be recomputed for each tile, so that only widening
        operations are moved there.
        """
        for op in reversed(groups):
            if not isinstance(op, ElementwiseInterface):
                continue
            if (reader := self._find_reader_in_only_group(op, groups)) is None:
                continue
            bytes_saved, operations = max_bytes_saved_by_moving(
                op, groups[op], groups[reader]
            )
            if bytes_saved <= 0:
                continue
            if has_wider_results(op) or not any(map(_is_contraction, groups[reader])):
                self._move_to_reader_group(operations, reader, groups, missed_fusions)

    def _move_to_reader_group(
        self,
        operations: list[TilingInterface],
        reader: Operation,
        groups: Groups,
        missed_fusions: Missed,
    ) -> None:
        """
        Move operations from their group to that of the reader of the last one, if they
        may join it and the remaining operations form legal groups. Missed remarks of
        the last operation are reused for the others.
        """
        *_, op = operations
        before, after = groups[op], groups[reader]
        rest = connected_components_of(
            [member for member in before if member not in operations]
        )
        groups.update((member, part) for part in rest for member in part)
        groups.update((member, operations) for member in operations)
        is_legal = all(self.group_objection(part, groups) is None for part in rest)
        if (
            not is_legal
            or self._merge_groups_of_operations(op, reader, groups) is not None
        ):
            groups.update((member, before) for member in before)
            return
        why = next(
            (why for a, b, why in missed_fusions if a is op and b in after), FEWER
        )
        missed_fusions += [
            (producer, member, why)
            for member in operations
            for producer in self._producer_groups(member, groups)
            if producer in before and producer not in operations
        ]

    @staticmethod
    def _find_reader_in_only_group(op: Operation, groups: Groups) -> Operation | None:
        """
        Return a reader of the results of an operation if all readers are in one other
        group, else None.
        """
        readers = [use.operation for result in op.results for use in result.uses]
        reader_groups = {id(groups.get(reader)) for reader in readers}
        if len(reader_groups) != 1 or readers[0] not in groups:
            return None
        return None if groups[readers[0]] is groups[op] else readers[0]

    def _merge_elementwise_siblings(self, groups: Groups) -> None:
        """
        Merge groups of elementwise operations of one shape that read the same tensor of
        this shape, so that it is read once.
        """
        readers: dict[SSAValue, TilingInterface] = {}
        for op in list(groups):
            if not isinstance(op, ElementwiseInterface):
                continue
            for operand in self.uniform.operands_of_result_shape(op):
                sibling = readers.get(operand)
                readers[operand] = op
                if sibling is None or operand.owner in groups[op]:
                    continue
                if self.uniform.can_group_fit([*groups[sibling], *groups[op]]):
                    self._merge_groups_of_operations(sibling, op, groups)

    def _merge_reductions_into_loops(
        self, groups: Groups, live_ranges: LiveRangeRule
    ) -> None:
        """Merge groups whose reductions form one loop, if that is profitable."""
        if self.cascade_fusion is None:
            self._report_unfused_reductions(groups)
            return
        separate: dict[int, tuple[list[Part], str]] = {}
        failed, loops = list[GroupMembers](), list[GroupMembers]()
        for parts, members in self._find_fusible_reductions(
            groups, self.cascade_fusion.op_facts
        ):
            why = live_ranges.live_range_objection(parts, groups)
            why = why or self._tiling_objection(members)
            if why is None and self.cascade_fusion.is_fusion_profitable(members, parts):
                members = self._find_best_fusion(parts, members, groups, live_ranges)
                operations = list(members.operations)
                groups.update((member, operations) for member in operations)
                loops.append(members)
            elif self.collects_remarks:
                failed.append(members)
                if self._loop_objections.can_run_in_loop(members):
                    why = (
                        why
                        or self.cascade_fusion.fusion_cost_of(
                            members, parts
                        ).reason_against_fusion
                    )
                    separate.setdefault(id(parts[0]), (parts, why))
        self._report_reductions_outside_loops(failed, loops)
        for parts, why in separate.values():
            *_, last = part = parts[0]
            if groups[last] is part:
                text = f"one loop with {describe_other_groups(parts)}: {why}"
                self.remarks.add_remark(last, "missed", text)

    def _find_best_fusion(
        self,
        parts: Sequence[Part],
        members: GroupMembers,
        groups: Groups,
        live_ranges: LiveRangeRule,
    ) -> GroupMembers:
        """
        Return the members of a profitable fusion of groups, or those of the fusion of
        the first of them with another producer that saves more cycles.
        """
        fusion = self.cascade_fusion
        assert fusion is not None
        best, most = members, fusion.fusion_cost_of(members, parts).cycles_saved
        alternatives = collect_alternative_fusions(parts, groups)
        for others, joined in self._select_fusible(
            alternatives, groups, fusion.op_facts
        ):
            if live_ranges.live_range_objection(others, groups) is not None:
                continue
            if self._tiling_objection(joined) is not None:
                continue
            saved = fusion.fusion_cost_of(joined, others).cycles_saved
            if saved > most and fusion.is_fusion_profitable(joined, others):
                best, most = joined, saved
        return best

    def _find_fusible_reductions(
        self, groups: Groups, op_facts: OpFactsCache
    ) -> Iterator[tuple[list[Part], GroupMembers]]:
        """
        Yield groups whose reductions may form one loop, and the members of the fused
        group.
        """
        candidates = collect_fusion_candidates(groups, op_facts)
        return self._select_fusible(candidates, groups, op_facts)

    def _select_fusible(
        self,
        candidates: Iterable[list[Part]],
        groups: Groups,
        op_facts: OpFactsCache,
    ) -> Iterator[tuple[list[Part], GroupMembers]]:
        """
        Yield the candidates that do not depend on themselves, and the members of the
        fused group.
        """
        for parts in candidates:
            operations = [op for part in parts for op in part]
            operations.sort(key=self.dependences.position.__getitem__)
            if self.dependences.is_convex(
                operations, groups
            ) and not self.prologue_rule.moves_factors_of_slow_reads(operations):
                yield parts, group_members_of(operations, op_facts)

    def _merge_sibling_reductions(self, groups: Groups) -> None:
        """
        Let the reductions of two groups that read the same tensor run in one loop, if
        that is profitable. Other operations of these groups, and of groups between
        them, form groups of their own.
        """
        if self.cascade_fusion is None:
            return
        caches = [each for each in self.target.levels.values() if each.kind == "cache"]
        cached = max(each.capacity for each in (self.level, *caches))
        for siblings in collect_sibling_reductions(
            groups, self.dependences, self.op_facts, cached
        ):
            operations, others = siblings.operations, siblings.others
            trial: Groups = dict(groups)
            for part in (operations, *others):
                trial.update((op, part) for op in part)
            if not self.dependences.is_convex(operations, trial) or any(
                self.group_objection(part, trial) is not None for part in others
            ):
                continue
            members = group_members_of(operations, self.op_facts)
            if self._tiling_objection(
                members
            ) is None and self.cascade_fusion.is_regrouping_profitable(
                members, others, siblings.replaced
            ):
                groups.update(trial)

    def _report_unfused_reductions(self, groups: Groups) -> None:
        """Add remarks on reductions that form no loop in tiles of any level."""
        if self.collects_remarks:
            candidates = [
                members
                for _, members in self._find_fusible_reductions(groups, self.op_facts)
            ]
            loops = filter(self._loop_objections.can_form_loop, candidates)
            self._report_reductions_outside_loops(candidates, list(loops))

    def _report_reductions_outside_loops(
        self,
        reduction_groups: Sequence[GroupMembers],
        loop_groups: Sequence[GroupMembers],
    ) -> None:
        """
        Add remarks on reductions that form no loop, unless they are part of another
        loop.
        """
        fused: dict[Operation, list[set[Operation]]] = {}
        for loop in loop_groups:
            inside = set[Operation](loop.operations)
            for op in loop.accumulating_operations:
                fused.setdefault(op, []).append(inside)
        for members in reduction_groups:
            reductions = members.accumulating_operations
            if len(reductions) < 2 or self._loop_objections.can_form_loop(members):
                continue
            loops = fused.get(reductions[0], ())
            if any(each.issuperset(reductions) for each in loops):
                continue
            self._loop_objections.report_loop_objection(members, self.remarks)

    def _report_groups_and_missed_fusions(
        self,
        groups: Sequence[Sequence[TilingInterface]],
        missed_fusions: Missed,
        group_of: Groups,
    ) -> None:
        """
        Add remarks on the operations of each group, and on the reasons why a reader is
        in another group than its producer.
        """
        for members in groups:
            if len(members) > 1:
                text = f"run together: {describe_operations(members)}"
                self.remarks.add_remark(members[-1], "passed", text)
        grouped = {op for members in groups for op in members}
        for first, second, reason in missed_fusions:
            if {first, second} <= grouped and group_of[first] is not group_of[second]:
                self.remarks.add_remark(
                    second, "missed", f"not fused with its operand: {reason}"
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
            return (
                op.splat_attribute() is not None
                and self._is_constant_needed_in_memory(op)
            )
        return not isinstance(op, ViewInterface) or is_unit_reshape(op)

    def _is_constant_needed_in_memory(self, op: Operation) -> bool:
        """
        Return `True` if a constant has users outside of groups, which need it in
        memory.
        """
        return any(
            not self.is_groupable(use.operation)
            for result in op.results
            for use in result.uses
        )

    def _producer_groups(
        self, op: TilingInterface, groups: dict[Operation, list[TilingInterface]]
    ) -> list[Operation]:
        """
        Return the operations in `groups` that compute the operands of `op`, in operand
        order, but the last computed first if one is a sum of products of several
        groups: each further product is added to the sum of those before, instead of
        reading all in the group of the first. A copy of an operation for its reader
        loads what others compute.
        """
        values = [each for each in op.operands if not is_loaded_by_copy(each, op)]
        owners = [
            each.owner
            for each in values
            if isinstance(each.owner, Operation) and each.owner in groups
        ]
        if all(any(map(_is_contraction, groups[each])) for each in owners) and any(
            _reads_other_product(each, groups) for each in owners
        ):
            owners.sort(key=self.dependences.position.__getitem__, reverse=True)
        return owners

    def group_objection(
        self,
        operations: Sequence[TilingInterface],
        groups: Mapping[Operation, Sequence[TilingInterface]],
    ) -> str | None:
        """
        Return the reason why operations, in program order, may not form a group beside
        others, or None if they may.
        """
        if len(operations) > self.max_operations:
            return operation_limit_remark(self.max_operations)
        results = self.dependences.externally_used_results_of(operations)
        key = self.dependences.structural_key_of(operations, results)
        if key not in self._structural_objections:
            self._structural_objections[key] = self._structural_objection(operations)
        if (reason := self._structural_objections[key]) is not None:
            return reason
        if not self.dependences.is_convex(operations, groups):
            return "a value would leave the group and come back to it"
        if key not in self._tiling_objections:
            self._tiling_objections[key] = self._capacity_objection(operations)
        return self._tiling_objections[key]

    def _capacity_objection(self, operations: Sequence[TilingInterface]) -> str | None:
        """
        Return the reason why the smallest tiles of operations do not fit, or None if
        they do.
        """
        if (needed := self.uniform.min_bytes_of_group(operations)) is None:
            return self._tiling_objection(group_members_of(operations, self.op_facts))
        fits = needed <= self.level.capacity
        return None if fits else describe_capacity_overflow(needed, self.level)

    def _structural_objection(
        self, operations: Sequence[TilingInterface]
    ) -> str | None:
        """
        Return the reason why operations may not form a group, regardless of other
        groups, or None if they may.
        """
        contractions = sum(isinstance(op, ContractionInterface) for op in operations)
        if contractions > self.max_contractions:
            return contraction_limit_remark(self.max_contractions)
        if contractions and any(
            isinstance(op, ReductionInterface) for op in operations
        ):
            return "a contraction and a reduction share no loops"
        if self.cascade_fusion is not None and recompute_limit.has_serialized_reduction(
            operations, self.op_facts
        ):
            return SERIAL
        if recompute_limit.has_spread_scan(operations):
            return SPREAD
        if self.max_contractions > 1:
            return None
        if contractions:
            if (
                reason := self.prologue_rule.prologue_objection(operations)
            ) is not None:
                return reason
            if self.level.kind is LevelKind.VALUE:
                if (reason := epilogue.epilogue_objection(operations)) is not None:
                    return reason
        return recompute_limit.recompute_objection(operations, self.op_facts)

    def _tiling_objection(self, members: GroupMembers) -> str | None:
        """
        Return the reason why operations cannot be tiled as a group, or None if they
        can. Memoized by structure.
        """
        key = self.dependences.structural_key_of(members.operations, members.results)
        if key not in self._capacity_objections:
            self._capacity_objections[key] = find_group_objection(
                members, self.level, self.target
            )
        return self._capacity_objections[key]


def _has_only_views(operations: Sequence[TilingInterface]) -> bool:
    """Return `True` if operations are views only, which move no data."""
    return all(isinstance(op, ViewInterface) for op in operations)


def _reads_other_product(op: Operation, groups: Groups) -> bool:
    """
    Return `True` if elementwise operations of the group of `op` read a result, as large
    as its own, of another group with a contraction.
    """
    group, size = groups[op], size_in_bytes(op.results)
    others = [
        value
        for each in group
        if isinstance(each, ElementwiseInterface)
        for value in each.operands
        if isinstance(value.owner, Operation) and value.owner in groups
    ]
    return any(
        size_in_bytes([value]) == size
        and groups[value.owner] is not group
        and any(map(_is_contraction, groups[value.owner]))
        for value in others
        if isinstance(value.owner, Operation)
    )


def _is_contraction(op: Operation) -> bool:
    return isinstance(op, ContractionInterface)
