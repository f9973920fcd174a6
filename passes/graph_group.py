"""Choose which operations run together."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from tlf.dialects import graph
from tlf.dialects.cuts import is_stored_cut
from tlf.dialects.interfaces import (
    ConstantInterface,
    ContractionInterface,
    ElementwiseInterface,
    ReductionInterface,
    TilingInterface,
    ViewInterface,
)
from tlf.dialects.target import Level, Target
from tlf.dialects.tile import level_of
from tlf.passes.block_order import sort_block
from tlf.passes.cost.structure import Structures
from tlf.passes.fusion import growth
from tlf.passes.fusion.notes import Notes, listed
from tlf.passes.fusion.order import is_convex
from tlf.passes.fusion.prologue import Prologues
from tlf.passes.returned_values import copy_returned_values
from tlf.passes.tiling.form import Forms
from tlf.passes.tiling.group import Members, members_of, misfit, smallest, too_large
from tlf.passes.tiling.kinds import Kinds
from tlf.passes.tiling.uniform import UniformGroups

Groups: TypeAlias = dict[Operation, list[TilingInterface]]
"""For each operation of a block, those that it runs with, in program order."""


@dataclass
class Grouping:
    """The groups of a program, while they are being chosen block by block."""

    level: Level
    target: Target
    contractions: int
    operations: int
    notes: Notes = field(default_factory=lambda: Notes(GraphGroupPass.name))
    tells: bool = True
    """Whether `notes` are taken."""
    home: Level | None = None
    """Where values lie that name no level; the outermost one unless given."""
    uniform: UniformGroups = field(init=False)
    prologues: Prologues = field(init=False)
    forms: Forms = field(default_factory=Forms)
    """What operations answer, while they are put into groups."""
    _structures: Structures = field(init=False)
    _misfits: dict[Hashable, str | None] = field(
        init=False, default_factory=dict[Hashable, "str | None"]
    )
    position: dict[Operation, int] = field(
        init=False, default_factory=dict[Operation, int]
    )
    """Where the operations of the block are."""

    def __post_init__(self) -> None:
        kinds = Kinds()
        self._structures = Structures(kinds)
        self.uniform = UniformGroups(self.level, kinds)
        self.prologues = Prologues(self.level, self.target, self.home)

    def partition(self, block: Block) -> list[list[TilingInterface]]:
        """
        Split the operations of a block into groups, each in program order.

        Every operation first stands alone; going down the block, it then joins the
        groups of its operands wherever the rules allow it. At last, what reads the same
        joins, where that is all that keeps it apart.
        """
        self.position = {op: index for index, op in enumerate(block.ops)}
        groups: Groups = {}
        missed: list[tuple[Operation, Operation, str]] = []
        for op in block.ops:
            if not self.groupable(op) or not isinstance(op, TilingInterface):
                continue
            groups[op] = [op]
            for producer in self._producers(op, groups):
                if (reason := self._join(producer, op, groups)) is not None:
                    missed.append((producer, op, reason))
        self._join_siblings(groups)
        parts = {id(members): members for members in groups.values()}.values()
        kept = [members for members in parts if not _are_views(members)]
        if self.tells:
            self._note(kept, missed, groups)
        return kept

    def _join(self, first: Operation, second: Operation, groups: Groups) -> str | None:
        """Let the groups of two operations become one, or say what stands against."""
        if groups[first] is groups[second]:
            return None
        joined = [*groups[first], *groups[second]]
        joined.sort(key=self.position.__getitem__)
        if (reason := self.objection(joined, groups)) is None:
            groups.update((member, joined) for member in joined)
        return reason

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

    def _note(
        self,
        groups: Sequence[Sequence[TilingInterface]],
        missed: Sequence[tuple[Operation, Operation, str]],
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
        """Whether an operation is to be tiled for this level."""
        if not isinstance(op, TilingInterface):
            return False
        if any(level_of(result.type) == self.level.name for result in op.results):
            return False
        if is_stored_cut(op):
            return False
        if isinstance(op, ConstantInterface):
            return op.splat() is not None and self._is_stored(op)
        return not isinstance(op, ViewInterface) or _is_squeeze(op)

    def _is_stored(self, op: Operation) -> bool:
        """Whether a constant is needed in memory, not only by operations of groups."""
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
        Why operations, in program order, may not form a group beside others, or None
        where they may.
        """
        if len(operations) > self.operations:
            return f"a group holds {self.operations} operations at most"
        contractions = sum(isinstance(op, ContractionInterface) for op in operations)
        if contractions > self.contractions:
            return f"a group holds {self.contractions} contractions at most"
        if contractions and any(
            isinstance(op, ReductionInterface) for op in operations
        ):
            return "a contraction and a reduction share no loops"
        if contractions and self.contractions == 1:
            if (reason := self.prologues.objection(operations)) is not None:
                return reason
        if self.contractions == 1:
            if (reason := growth.objection(operations, self.forms)) is not None:
                return reason
        if not is_convex(operations, self.position, groups):
            return "a value would leave the group and come back to it"
        if (fits := self.uniform.fit(operations)) is None:
            return self._misfit(members_of(operations, self.forms))
        return None if fits else too_large(self.level)

    def _misfit(self, members: Members) -> str | None:
        """Why operations are no group, which those of one structure share."""
        key = self._structures.of(members.operations, members.results)
        if key not in self._misfits:
            self._misfits[key] = misfit(members, self.level, self.target)
        return self._misfits[key]


def _are_views(operations: Sequence[TilingInterface]) -> bool:
    """Whether operations move nothing: a buffer can be seen as their results."""
    return all(isinstance(op, ViewInterface) for op in operations)


def _is_squeeze(op: TilingInterface) -> bool:
    """Whether a view only adds and drops axes of extent 1."""
    accesses = [*op.operand_accesses(), *op.result_accesses()]
    return all(
        access.width == 1 and all(factor == 1 for _, factor in access.terms)
        for each in accesses
        if each is not None
        for access in each
    )


def build_group(members: Members, apart: Sequence[Operation] = ()) -> graph.GroupOp:
    """
    Put operations of one block into a group in their place, with constants of its own
    but for those that stay apart.
    """
    inside = set[Operation](members.operations)
    constants = [op for op in _constants(members.operations) if op not in apart]
    inputs = list(
        dict.fromkeys(
            operand
            for op in members.operations
            for operand in op.operands
            if operand.owner not in inside and operand.owner not in constants
        )
    )
    root = members.root
    body = Block(arg_types=[value.type for value in inputs])
    for value, argument in zip(inputs, body.args, strict=True):
        argument.name_hint = value.name_hint
    group = graph.GroupOp(inputs, [value.type for value in members.results], body)
    group.location = root.location
    Rewriter.insert_op(group, InsertPoint.after(root))
    for value, result in zip(members.results, group.results, strict=True):
        result.name_hint = value.name_hint
        value.replace_uses_with_if(result, lambda use: use.operation not in inside)
    replaced = dict[SSAValue, SSAValue](zip(inputs, body.args, strict=True))
    for constant in constants:
        copy = constant.clone()
        body.add_op(copy)
        replaced[constant.results[0]] = copy.results[0]
    for op in members.operations:
        op.detach()
        body.add_op(op)
        op.operands = [replaced.get(operand, operand) for operand in op.operands]
    body.add_op(graph.YieldOp(*members.results))
    return group


def _apart(
    groups: Sequence[Sequence[TilingInterface]], grouping: Grouping
) -> list[TilingInterface]:
    """The constants that some group cannot compute, tile by tile, with the rest."""
    apart: list[TilingInterface] = []
    for operations in groups:
        members = members_of(operations)
        constants = _constants(operations)
        tiled = [op for op in constants if isinstance(op, TilingInterface)]
        if not tiled or not members.results:
            continue
        everything = Members((*tiled, *operations), members.results)
        if smallest(everything, grouping.level, grouping.target) is None:
            apart.extend(tiled)
    return list(dict.fromkeys(apart))


def _constants(operations: Sequence[TilingInterface]) -> list[Operation]:
    """The constants of one value that operations use; every group has its own."""
    owners = [operand.owner for op in operations for operand in op.operands]
    return list(
        dict.fromkeys(
            owner
            for owner in owners
            if isinstance(owner, ConstantInterface)
            and owner.splat() is not None
            and owner not in operations
        )
    )


def group_block(block: Block, grouping: Grouping) -> None:
    """Group the operations of a block."""
    copy_returned_values(block)
    groups = grouping.partition(block)
    apart = _apart(groups, grouping)
    known = {op for operations in groups for op in operations}
    groups += [[op] for op in apart if op not in known]
    for operations in groups:
        members = members_of(operations)
        if members.results:
            build_group(members, apart)
    if groups:
        sort_block(block)


@dataclass(frozen=True)
class GraphGroupPass(ModulePass):
    """
    Put operations that are to run together into `graph.group`s.

    A group is a chain of elementwise operations, a contraction with what follows it
    element by element, or row reductions with their elementwise neighbours. An
    operation joins where the group stays connected without detours, and where the
    smallest tiles of all its values fit into the memory level together.
    """

    name = "graph-group"

    level: str | None = None
    """The memory level that tiles are brought to; the outermost one unless given."""

    contractions: int = 1
    """How many contractions a group may hold."""

    operations: int = 64
    """How many operations a group may hold."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = Target.of(op)
        level = level_named(target, self.level)
        grouping = Grouping(level, target, self.contractions, self.operations)
        blocks = dict.fromkeys(
            inner.parent
            for inner in op.walk()
            if isinstance(inner, TilingInterface | func.ReturnOp)
            and not _in_group(inner)
        )
        for block in blocks:
            if block is not None:
                group_block(block, grouping)
        grouping.notes.write()


def _in_group(op: Operation) -> bool:
    return isinstance(op.parent_op(), graph.GroupOp)


def level_named(target: Target, name: str | None) -> Level:
    """A memory level that tiles can be brought to, the outermost unless named."""
    levels = {level.name: level for level in target.tile_levels}
    if name is None:
        return target.tile_levels[0]
    if name not in levels:
        known = ", ".join(levels)
        raise PassFailedException(f"expected one of the levels {known}, got {name}")
    return levels[name]
