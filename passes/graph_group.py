"""Choose which operations run together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

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
    MovementInterface,
    ReductionInterface,
    TilingInterface,
    ViewInterface,
)
from tlf.dialects.target import Level, Target
from tlf.dialects.tile import level_of
from tlf.passes.block_order import sort_block
from tlf.passes.returned_values import copy_returned_values
from tlf.passes.tiling.group import Members, feasible, members_of, smallest
from tlf.passes.tiling.uniform import UniformGroups


@dataclass
class Grouping:
    """The groups of a program, while they are being chosen block by block."""

    level: Level
    target: Target
    contractions: int
    operations: int
    uniform: UniformGroups = field(init=False)
    position: dict[Operation, int] = field(
        init=False, default_factory=dict[Operation, int]
    )
    """Where the operations of the block are."""

    def __post_init__(self) -> None:
        self.uniform = UniformGroups(self.level)

    def partition(self, block: Block) -> list[list[TilingInterface]]:
        """
        Split the operations of a block into groups, each in program order.

        Every operation first stands alone; going down the block, it then joins the
        groups of its operands wherever the rules allow it.
        """
        self.position = {op: index for index, op in enumerate(block.ops)}
        group_of: dict[Operation, list[TilingInterface]] = {}
        for op in block.ops:
            if not self.groupable(op) or not isinstance(op, TilingInterface):
                continue
            group_of[op] = [op]
            for producer in self._producers(op, group_of):
                if group_of[producer] is group_of[op]:
                    continue
                joined = [*group_of[producer], *group_of[op]]
                joined.sort(key=self.position.__getitem__)
                if self.may_join(joined, group_of):
                    for member in joined:
                        group_of[member] = joined
        groups = {id(members): members for members in group_of.values()}.values()
        return [members for members in groups if not _are_views(members)]

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

    def may_join(
        self,
        operations: Sequence[TilingInterface],
        groups: Mapping[Operation, Sequence[TilingInterface]],
    ) -> bool:
        """Whether operations, in program order, may form a group beside others."""
        if len(operations) > self.operations:
            return False
        contractions = sum(isinstance(op, ContractionInterface) for op in operations)
        reductions = sum(isinstance(op, ReductionInterface) for op in operations)
        if contractions > self.contractions or (contractions and reductions):
            return False
        if contractions and not self._contractions_first(operations):
            return False
        if not is_convex(operations, self.position, groups):
            return False
        if (fits := self.uniform.fit(operations)) is not None:
            return fits
        return feasible(members_of(operations), self.level, self.target)

    def _contractions_first(self, operations: Sequence[TilingInterface]) -> bool:
        """
        Whether the group computes no operand of a contraction, unless by moving data
        where moves can do that.
        """
        if self.contractions > 1:
            return True
        inside = set[Operation](operations)
        producers = [
            operand.owner
            for op in operations
            if isinstance(op, ContractionInterface)
            for operand in op.operands
            if isinstance(operand.owner, Operation) and operand.owner in inside
        ]
        return all(self._is_gathered(op, inside) for op in producers)

    def _is_gathered(self, op: Operation, inside: set[Operation]) -> bool:
        """Whether the move of its operand does a movement that only the group needs."""
        if not isinstance(op, MovementInterface) or self.level.kind != "value":
            return False
        users = [use.operation for result in op.results for use in result.uses]
        from_outside = all(operand.owner not in inside for operand in op.operands)
        return from_outside and all(user in inside for user in users)


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


def is_convex(
    operations: Sequence[Operation],
    position: Mapping[Operation, int],
    groups: Mapping[Operation, Sequence[Operation]],
) -> bool:
    """
    Whether no value leaves the operations of one block, given in program order, and
    comes back to them, be it by way of another group. `position` says where the
    operations of the block are, `groups` with which others, in program order, each is.
    """
    inside = set(operations)
    block, first = operations[0].parent, position[operations[0]]
    pending = [op for member in operations for op in _operands(member, block)]
    pending = [op for op in pending if op not in inside]
    seen = set[Operation]()
    while pending:
        op = pending.pop()
        together = groups.get(op, (op,))
        # What comes before all of the group uses nothing of it.
        if op in seen or position[together[-1]] < first:
            continue
        seen.update(together)
        for producer in (p for each in together for p in _operands(each, block)):
            if producer in inside:
                return False
            pending.append(producer)
    return True


def _operands(op: Operation, block: Block | None) -> list[Operation]:
    """The operations of a block that an operation, or what is inside of it, uses."""
    found: list[Operation] = []
    for inner in op.walk():
        for operand in inner.operands:
            owner = operand.owner
            if (
                isinstance(owner, Operation)
                and owner.parent is block
                and owner is not op
            ):
                found.append(owner)
    return found


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
