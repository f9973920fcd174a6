"""Find out which buffers may be overwritten."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from tlf.analysis.tiling.group import Members, rules_of
from tlf.analysis.tiling.group_members import members_of_group
from tlf.analysis.tiling.model import GroupTiling, TilingError
from tlf.analysis.tiling.overwriting import is_read_in_place
from tlf.dialects import graph
from tlf.dialects.cuts import is_cut
from tlf.dialects.graph.in_place import ATTRIBUTE
from tlf.dialects.interfaces import (
    ConstantInterface,
    ElementwiseInterface,
    MovementInterface,
    TilingInterface,
    ViewInterface,
)
from tlf.dialects.joining import JoiningInterface
from tlf.dialects.target import Target
from tlf.planner.fusion.notes import Notes

GIVEN = "an argument, a constant or a part of a tensor keeps its elements"
NEEDED = "its operand is needed later"
TWICE = "it uses the buffer of its operand in two ways"
WAITS = "the moves of a tile would wait for those of the tile before"
JOINED = "it is made in its place among others"
ELSEWHERE = "it reads its operand where it does not write"


@dataclass
class Marker:
    """Decides for each result of one operation which operand it may overwrite."""

    op: Operation
    members: Members
    tiling: GroupTiling
    position: dict[Operation, int]
    """Positions of the operations of the block."""

    def operand_for(self, number: int, taken: set[int]) -> int | str | None:
        """
        The operand that a result may overwrite, or why none may be, or None where none
        has its type.
        """
        result, objections = self.op.results[number], list[str]()
        for position, operand in enumerate(self.op.operands):
            if operand.type != result.type or position in taken:
                continue
            objection = self._objection(number, position)
            if objection is None:
                return position
            objections.append(objection)
        telling = [each for each in objections if each != GIVEN]
        return next(iter((*telling, *objections)), None)

    def _objection(self, number: int, position: int) -> str | None:
        origin = _origin(self.op.operands[position])
        if not _is_computed(origin, self.op.parent):
            return GIVEN
        names = {origin, *_views(origin)}
        if sum(operand in names for operand in self.op.operands) > 1:
            return TWICE
        if _is_joined(self.op.results[number]):
            return JOINED
        if any(self._is_later(use.operation) for name in names for use in name.uses):
            return NEEDED
        if not self._reads_what_it_writes(number, position):
            return ELSEWHERE
        return WAITS if self._moves_tiles() else None

    def _is_later(self, user: Operation) -> bool:
        """Return `True` if an operation, or its ancestor in the block, comes later."""
        around: Operation | None = user
        while around is not None and around.parent is not self.op.parent:
            around = around.parent_op()
        return around is None or self.position[around] > self.position[self.op]

    def _reads_what_it_writes(self, number: int, position: int) -> bool:
        """
        Return `True` if the only part of an operand that is read for a tile of a result
        is the same tile.
        """
        value = self.op.operands[position]
        if isinstance(self.op, graph.GroupOp):
            value = self.op.body.block.args[position]
        return is_read_in_place(self.tiling, value, self.members.results[number])

    def _moves_tiles(self) -> bool:
        """
        Return `True` if engines move several tiles, known to them as one range of
        bytes.
        """
        loops = self.tiling.loops.values()
        return self.tiling.rules.views and any(loop.trips > 1 for loop in loops)


def _origin(value: SSAValue) -> SSAValue:
    """The tensor that a value is a view of."""
    while isinstance(owner := value.owner, ViewInterface):
        value = owner.operands[0]
    return value


def _views(value: SSAValue) -> Iterator[SSAValue]:
    """
    All views of a tensor, parts that stay where they are, and what it is part of; and
    views of them.
    """
    for use in value.uses:
        user = use.operation
        if isinstance(user, ViewInterface | JoiningInterface) or is_cut(user):
            yield user.results[0]
            yield from _views(user.results[0])


def _is_joined(value: SSAValue) -> bool:
    """
    Return `True` if a tensor, possibly under another shape, is concatenated into
    another one.
    """
    seen = (value, *_views(value))
    users = (use.operation for each in seen for use in each.uses)
    return any(isinstance(user, JoiningInterface) for user in users)


def _is_computed(value: SSAValue, block: Block | None) -> bool:
    """
    Return `True` if an operation of a block writes a value to a buffer of its own.
    """
    owner = value.owner
    if isinstance(owner, Block) or owner.parent is not block:
        return False
    if isinstance(owner, ConstantInterface | MovementInterface | JoiningInterface):
        return False
    return isinstance(owner, graph.GroupOp | TilingInterface)


@dataclass(frozen=True)
class GraphMarkInPlacePass(ModulePass):
    """
    Mark which operand's buffer each result of a group, or of an elementwise operation
    outside of groups, may be put in.

    The operand has the type of the result, is computed in the function, and is not
    needed later, under whatever shape; of it, the tile of each iteration reads what it
    writes and nothing else. Groups without a plan are looked at with the smallest
    tiles. The attribute `tlf.in_place` says what was found.
    """

    name = "graph-mark-in-place"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = Target.of(op)
        marking = _Marking(target)
        for block in dict.fromkeys(each.parent for each in op.walk()):
            if block is not None and not isinstance(block.parent_op(), graph.GroupOp):
                marking.mark(block)
        marking.notes.write()


@dataclass
class _Marking:
    target: Target
    notes: Notes = field(default_factory=lambda: Notes(GraphMarkInPlacePass.name))

    def mark(self, block: Block) -> None:
        """Mark the operations of a block."""
        position = {op: index for index, op in enumerate(block.ops)}
        for op in block.ops:
            if not isinstance(op, graph.GroupOp | ElementwiseInterface):
                continue
            if (found := self._tiling(op)) is not None:
                self._mark(Marker(op, *found, position))

    def _tiling(
        self, op: graph.GroupOp | ElementwiseInterface
    ) -> tuple[Members, GroupTiling] | None:
        """
        Return the members and the tiling of an operation; None if it does not tile.
        """
        rules = rules_of(self.target, self.target.tile_levels[0].name)
        try:
            if isinstance(op, ElementwiseInterface):
                members = Members((op,), tuple(op.results))
                return members, members.smallest(rules)
            members = members_of_group(op)
            if (plan := op.plan) is None:
                return members, members.smallest(rules)
            sizes = plan.tile_sizes, plan.reduce_sizes
            rules = rules_of(self.target, plan.level.data)
            return members, members.tiling(*sizes, rules)
        except TilingError:
            return None

    def _mark(self, marker: Marker) -> None:
        found: list[int | None] = []
        taken = set[int]()
        for number in range(len(marker.op.results)):
            operand = marker.operand_for(number, taken)
            if isinstance(operand, str):
                self.notes.add(marker.op, "missed", operand)
            found.append(operand if isinstance(operand, int) else None)
            taken.update(each for each in found if each is not None)
        if taken:
            marker.op.attributes[ATTRIBUTE] = graph.InPlaceAttr(found)
            self.notes.add(marker.op, "passed", "a result may overwrite an operand")
