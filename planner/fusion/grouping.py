"""Partition of the operations of a block into groups."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import Block, Operation, SSAValue

from tlf.analysis.operations.form import Forms
from tlf.analysis.operations.kinds import Kinds
from tlf.analysis.tiling.group import (
    Members,
    members_of,
    misfit,
    too_large,
)
from tlf.analysis.tiling.structure import Structures
from tlf.analysis.tiling.uniform import UniformGroups
from tlf.dialects.cuts import is_stored_cut
from tlf.dialects.identity import is_copy
from tlf.dialects.interfaces import (
    ConstantInterface,
    ContractionInterface,
    ElementwiseInterface,
    ReductionInterface,
    TilingInterface,
    ViewInterface,
)
from tlf.dialects.joining import JoiningInterface
from tlf.dialects.target import Level, LevelKind, Target
from tlf.dialects.tile import level_of
from tlf.planner.fusion import epilogue, growth
from tlf.planner.fusion.between import behind_views, is_squeeze
from tlf.planner.fusion.cascades import Cascades, candidates
from tlf.planner.fusion.handing import connected, most_saved, widens
from tlf.planner.fusion.leading import Part
from tlf.planner.fusion.no_loops import NoLoops
from tlf.planner.fusion.notes import (
    Notes,
    listed,
    role_of_others,
    too_many_contractions,
    too_many_operations,
)
from tlf.planner.fusion.order import Order
from tlf.planner.fusion.prologue import Prologues

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
    target: Target
    contractions: int = CONTRACTIONS
    operations: int = OPERATIONS
    notes: Notes = field(default_factory=lambda: Notes("graph-group"))
    tells: bool = True
    """True if `notes` are taken."""
    home: Level | None = None
    """The level of values that name none; the outermost one unless given."""
    uniform: UniformGroups = field(init=False)
    cascades: Cascades | None = None
    """
    Prices of groups that may be joined because their reductions form one loop, if any.
    """
    prologues: Prologues = field(init=False)
    forms: Forms = field(default_factory=Forms)
    """Cached forms of operations."""
    _kinds: Kinds = field(init=False)
    _structures: Structures = field(init=False)
    _no_loops: NoLoops = field(init=False)
    _misfits: dict[Hashable, str | None] = field(
        init=False, default_factory=dict[Hashable, "str | None"]
    )
    _forbidden: dict[Hashable, str | None] = field(
        init=False, default_factory=dict[Hashable, "str | None"]
    )
    _unfit: dict[Hashable, str | None] = field(
        init=False, default_factory=dict[Hashable, "str | None"]
    )
    order: Order = field(init=False)
    """The positions of the operations of the block, and their dependences."""

    def __post_init__(self) -> None:
        self._kinds = kinds = Kinds()
        self._structures = Structures(kinds)
        self._no_loops = NoLoops(self._structures)
        self.uniform = UniformGroups(self.level, kinds)
        self.prologues = Prologues(self.level, self.target, self.home)

    def partition(self, block: Block) -> list[list[TilingInterface]]:
        """
        Split the operations of a block into groups, each in program order.

        Every operation first stands alone; going down the block, it then joins the
        groups of its operands wherever the rules allow it. What hands on more bytes
        than it takes then goes over to the group that reads it. At last, what reads the
        same joins, where that is all that keeps it apart.
        """
        self.order = Order(block, self._kinds)
        groups: Groups = {}
        missed: Missed = []
        for op in block.ops:
            if not self.groupable(op) or not isinstance(op, TilingInterface):
                continue
            groups[op] = [op]
            for producer in self._producers(op, groups):
                if (reason := self._join(producer, op, groups)) is not None:
                    missed.append((producer, op, reason))
            missed += [(maker, op, why) for maker, why in behind_views(op, groups)]
        self._hand_on(groups, missed)
        self._join_siblings(groups)
        self._join_cascades(groups)
        parts = {id(members): members for members in groups.values()}.values()
        kept = [members for members in parts if not _are_views(members)]
        if self.tells:
            self._note(kept, missed, groups)
        return kept

    def _join(self, first: Operation, second: Operation, groups: Groups) -> str | None:
        """Let the groups of two operations become one, or say what stands against."""
        if groups[first] is groups[second]:
            return None
        if is_copy(second) and self._lies_near(second):
            return COPY
        joined = [*groups[first], *groups[second]]
        joined.sort(key=self.order.position.__getitem__)
        if (reason := self.objection(joined, groups)) is None:
            groups.update((member, joined) for member in joined)
        return reason

    def _lies_near(self, op: Operation) -> bool:
        """
        Return `True` if the result of an operation is not in the outermost memory.
        """
        return self.home is not None or level_of(op.results[0].type) is not None

    def _hand_on(self, groups: Groups, missed: Missed) -> None:
        """
        Let an elementwise operation run with the only group that reads it, such as a
        cast to a wider type, where less is handed on so. A contraction would compute it
        again for each of its tiles, so that only what widens goes there.
        """
        for op in reversed(groups):
            if not isinstance(op, ElementwiseInterface):
                continue
            if (reader := self._only_reader(op, groups)) is None:
                continue
            saved, moved = most_saved(op, groups[op], groups[reader])
            if saved <= 0:
                continue
            if widens(op) or not any(map(_is_contraction, groups[reader])):
                self._move(moved, reader, groups, missed)

    def _move(
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
        rest = connected([member for member in before if member not in moved])
        groups.update((member, part) for part in rest for member in part)
        groups.update((member, moved) for member in moved)
        is_left = all(self.objection(part, groups) is None for part in rest)
        if not is_left or self._join(op, reader, groups) is not None:
            groups.update((member, before) for member in before)
            return
        why = next((why for a, b, why in missed if a is op and b in after), FEWER)
        missed += [
            (maker, member, why)
            for member in moved
            for maker in self._producers(member, groups)
            if maker in before and maker not in moved
        ]

    @staticmethod
    def _only_reader(op: Operation, groups: Groups) -> Operation | None:
        """A reader of what a group ends with, if all are in one other group."""
        readers = [use.operation for result in op.results for use in result.uses]
        around = {id(groups.get(reader)) for reader in readers}
        if len(around) != 1 or readers[0] not in groups:
            return None
        return None if groups[readers[0]] is groups[op] else readers[0]

    def _join_siblings(self, groups: Groups) -> None:
        """
        Let groups of elementwise operations on one shape run together where they read
        the same tensor of this shape, which is then read once.
        """
        readers: dict[SSAValue, TilingInterface] = {}
        for op in list(groups):
            if not isinstance(op, ElementwiseInterface):
                continue
            for operand in self.uniform.read_whole(op):
                sibling = readers.get(operand)
                readers[operand] = op
                if sibling is None or operand.owner in groups[op]:
                    continue
                if self.uniform.fit([*groups[sibling], *groups[op]]):
                    self._join(sibling, op, groups)

    def _join_cascades(self, groups: Groups) -> None:
        """Let groups run as one whose reductions are one loop, where this pays."""
        if self.cascades is None:
            self._note_no_loops(groups)
            return
        apart: dict[int, tuple[list[Part], str]] = {}
        failed, loops = list[Members](), list[Members]()
        for parts, members in self._loops(groups, self.cascades.forms):
            why = self._misfit(members)
            if why is None and self.cascades.pay(members, parts):
                joined = list(members.operations)
                groups.update((member, joined) for member in joined)
                loops.append(members)
            elif self.tells:
                failed.append(members)
                if members.cascade is not None or members.product is not None:
                    why = why or self.cascades.price(members, parts).text
                    apart.setdefault(id(parts[0]), (parts, why))
        self._note_failed(failed, loops)
        for parts, why in apart.values():
            *_, last = part = parts[0]
            if groups[last] is part:
                text = f"one loop with {role_of_others(parts)}: {why}"
                self.notes.add(last, "missed", text)

    def _loops(
        self, groups: Groups, forms: Forms
    ) -> Iterator[tuple[list[Part], Members]]:
        """Groups whose reductions may be one loop, and what they are together."""
        for parts in candidates(groups, forms):
            joined = [op for part in parts for op in part]
            joined.sort(key=self.order.position.__getitem__)
            if self.order.is_convex(joined, groups):
                yield parts, members_of(joined, forms)

    def _note_no_loops(self, groups: Groups) -> None:
        """Tell why reductions are no loop in tiles of any level, where none are."""
        if self.tells:
            found = [members for _, members in self._loops(groups, self.forms)]
            loops = filter(self._no_loops.is_loop, found)
            self._note_failed(found, list(loops))

    def _note_failed(self, found: Sequence[Members], loops: Sequence[Members]) -> None:
        """Tell why reductions are no loop, if they are none and in none of others."""
        looped = [set[Operation](each.operations) for each in loops]
        for members in found:
            if self._no_loops.is_loop(members) or len(members.accumulating) < 2:
                continue
            if any(each.issuperset(members.accumulating) for each in looped):
                continue
            self._no_loops.tell(members, self.notes)

    def _note(
        self,
        groups: Sequence[Sequence[TilingInterface]],
        missed: Missed,
        group_of: Groups,
    ) -> None:
        """Tell what runs together, and why what follows each other does not."""
        for members in groups:
            if len(members) > 1:
                text = f"run together: {listed(members)}"
                self.notes.add(members[-1], "passed", text)
        kept = {op for members in groups for op in members}
        for first, second, reason in missed:
            if {first, second} <= kept and group_of[first] is not group_of[second]:
                self.notes.add(second, "missed", f"apart from its operand: {reason}")

    def groupable(self, op: Operation) -> bool:
        """Return `True` if an operation is to be tiled for this level."""
        if not isinstance(op, TilingInterface) or isinstance(op, JoiningInterface):
            return False
        if any(level_of(result.type) == self.level.name for result in op.results):
            return False
        if is_stored_cut(op):
            return False
        if isinstance(op, ConstantInterface):
            return op.splat() is not None and self._is_stored(op)
        return not isinstance(op, ViewInterface) or is_squeeze(op)

    def _is_stored(self, op: Operation) -> bool:
        """
        Return `True` if a constant has users outside of groups, which need it in
        memory.
        """
        return any(
            not self.groupable(use.operation)
            for result in op.results
            for use in result.uses
        )

    @staticmethod
    def _producers(
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
            self._forbidden[key] = self._forbids(operations)
        if (reason := self._forbidden[key]) is not None:
            return reason
        if not self.order.is_convex(operations, groups):
            return "a value would leave the group and come back to it"
        if key not in self._unfit:
            self._unfit[key] = self._does_not_fit(operations)
        return self._unfit[key]

    def _does_not_fit(self, operations: Sequence[TilingInterface]) -> str | None:
        """
        Return why the smallest tiles of operations are too large; None if they fit.
        """
        if (needed := self.uniform.needed(operations)) is None:
            return self._misfit(members_of(operations, self.forms))
        fits = needed <= self.level.capacity
        return None if fits else too_large(needed, self.level)

    def _forbids(self, operations: Sequence[TilingInterface]) -> str | None:
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
        if self.cascades is not None and growth.is_serial(operations, self.forms):
            return SERIAL
        if self.contractions > 1:
            return None
        if contractions:
            if (reason := self.prologues.objection(operations)) is not None:
                return reason
            if self.level.kind is LevelKind.VALUE:
                if (reason := epilogue.objection(operations)) is not None:
                    return reason
        return growth.objection(operations, self.forms)

    def _misfit(self, members: Members) -> str | None:
        """
        Return why operations cannot be tiled as a group, found once for each structure;
        None if they can.
        """
        key = self.order.structure_of(members.operations, members.results)
        if key not in self._misfits:
            self._misfits[key] = misfit(members, self.level, self.target)
        return self._misfits[key]


def _are_views(operations: Sequence[TilingInterface]) -> bool:
    """
    Return `True` if operations move nothing: a buffer can be seen as their results.
    """
    return all(isinstance(op, ViewInterface) for op in operations)


def _is_contraction(op: Operation) -> bool:
    return isinstance(op, ContractionInterface)
