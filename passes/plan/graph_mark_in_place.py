"""Pass `graph-mark-in-place`: marks results that may overwrite an operand's buffer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from tlf.analysis.tiling.group_analysis import GroupMembers, tile_rules_of
from tlf.analysis.tiling.group_members import members_of_group_op
from tlf.analysis.tiling.group_tiling import GroupTiling, TilingError
from tlf.analysis.tiling.in_place_results import is_input_overwritable_by_result
from tlf.dialects import graph
from tlf.dialects.concat_like_interface import ConcatLikeInterface
from tlf.dialects.graph.in_place_attribute import IN_PLACE_ATTRIBUTE
from tlf.dialects.interfaces import (
    ConstantInterface,
    ElementwiseInterface,
    MovementInterface,
    TilingInterface,
    ViewInterface,
)
from tlf.dialects.slice_views import is_strided_slice
from tlf.dialects.target import TargetSpec
from tlf.passes.remark_attributes import attach_remarks
from tlf.planner.fusion.remark_collector import RemarkCollector

READ_ONLY = "arguments, constants and slices are not overwritten"
NEEDED_LATER = "its operand is needed later"
BUFFER_USED_TWICE = "it uses the buffer of its operand twice"
WAITS_FOR_MOVES = "the moves of consecutive tiles would be serialized"
CONCAT_OPERAND = "it is a concat operand that is computed in place"
READS_ELSEWHERE = "it reads elements of its operand that it does not write"


@dataclass
class InPlaceMarker:
    """Selection of the operand that each result of an operation may overwrite."""

    op: Operation
    members: GroupMembers
    tiling: GroupTiling
    block_positions: dict[Operation, int]
    """Position of each operation in the block."""

    def find_overwritable_operand(
        self, result_index: int, excluded_operands: set[int]
    ) -> int | str | None:
        """
        Return the index of the operand that a result may overwrite, or else the reason
        why it may not overwrite any; None if no operand has the type of the result.
        """
        result, objections = self.op.results[result_index], list[str]()
        for position, operand in enumerate(self.op.operands):
            if operand.type != result.type or position in excluded_operands:
                continue
            objection = self._reason_not_overwritable(result_index, position)
            if objection is None:
                return position
            objections.append(objection)
        specific = [each for each in objections if each != READ_ONLY]
        return next(iter((*specific, *objections)), None)

    def _reason_not_overwritable(
        self, result_index: int, operand_index: int
    ) -> str | None:
        """Return the reason why a result may not overwrite an operand, or `None`."""
        base = _source_tensor_of_views(self.op.operands[operand_index])
        if not _is_computed_in_block(base, self.op.parent):
            return READ_ONLY
        aliases = {base, *_views_and_concats_of(base)}
        if sum(operand in aliases for operand in self.op.operands) > 1:
            return BUFFER_USED_TWICE
        if _is_concat_operand(self.op.results[result_index]):
            return CONCAT_OPERAND
        if any(
            self._is_after_operation(use.operation)
            for alias in aliases
            for use in alias.uses
        ):
            return NEEDED_LATER
        if not self._is_operand_read_in_place(result_index, operand_index):
            return READS_ELSEWHERE
        return WAITS_FOR_MOVES if self._has_moves_of_several_tiles() else None

    def _is_after_operation(self, user: Operation) -> bool:
        """Return `True` if an operation, or its ancestor in the block, is later."""
        ancestor: Operation | None = user
        while ancestor is not None and ancestor.parent is not self.op.parent:
            ancestor = ancestor.parent_op()
        return (
            ancestor is None
            or self.block_positions[ancestor] > self.block_positions[self.op]
        )

    def _is_operand_read_in_place(self, result_index: int, operand_index: int) -> bool:
        """
        Return `True` if each tile of a result reads only the same tile of an operand.
        """
        value = self.op.operands[operand_index]
        if isinstance(self.op, graph.GroupOp):
            value = self.op.body.block.args[operand_index]
        return is_input_overwritable_by_result(
            self.tiling, value, self.members.results[result_index]
        )

    def _has_moves_of_several_tiles(self) -> bool:
        """
        Return `True` if moves transfer several tiles: dependences are tracked per
        buffer, so the moves of consecutive tiles would be serialized.
        """
        loops = self.tiling.loops.values()
        return self.tiling.rules.has_views and any(loop.trips > 1 for loop in loops)


def _source_tensor_of_views(value: SSAValue) -> SSAValue:
    """Return the tensor that a value is a view of."""
    while isinstance(owner := value.owner, ViewInterface):
        value = owner.operands[0]
    return value


def _views_and_concats_of(value: SSAValue) -> Iterator[SSAValue]:
    """
    Yield all views, slice views and concatenations of a tensor, transitively.
    """
    for use in value.uses:
        user = use.operation
        if isinstance(user, ViewInterface | ConcatLikeInterface) or is_strided_slice(
            user
        ):
            yield user.results[0]
            yield from _views_and_concats_of(user.results[0])


def _is_concat_operand(value: SSAValue) -> bool:
    """Return `True` if a tensor, possibly through views, is a concat operand."""
    aliases = (value, *_views_and_concats_of(value))
    users = (use.operation for each in aliases for use in each.uses)
    return any(isinstance(user, ConcatLikeInterface) for user in users)


def _is_computed_in_block(value: SSAValue, block: Block | None) -> bool:
    """
    Return `True` if an operation of the block computes a value into a new buffer.
    """
    owner = value.owner
    if isinstance(owner, Block) or owner.parent is not block:
        return False
    if isinstance(owner, ConstantInterface | MovementInterface | ConcatLikeInterface):
        return False
    return isinstance(owner, graph.GroupOp | TilingInterface)


@dataclass(frozen=True)
class GraphMarkInPlacePass(ModulePass):
    """
    Mark the operand whose buffer each result of a group, or of an elementwise operation
    outside of groups, may overwrite.

    The operand must have the type of the result, be computed in the same block, and
    have no later uses, including those of its views. Each iteration must read only the
    tile of the operand that it writes. Groups without a plan are analyzed with the
    smallest tiles. The attribute `tlf.in_place` lists the operands.
    """

    name = "graph-mark-in-place"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = TargetSpec.read_from_module(op)
        block_marking = _BlockMarking(target)
        for block in dict.fromkeys(each.parent for each in op.walk()):
            if block is not None and not isinstance(block.parent_op(), graph.GroupOp):
                block_marking.mark_operations_of_block(block)
        attach_remarks(block_marking.remark_collector)


@dataclass
class _BlockMarking:
    target: TargetSpec
    remark_collector: RemarkCollector = field(
        default_factory=lambda: RemarkCollector(GraphMarkInPlacePass.name)
    )

    def mark_operations_of_block(self, block: Block) -> None:
        """
        Set `tlf.in_place` on groups and elementwise operations of a block with a result
        that may overwrite an operand.
        """
        position = {op: index for index, op in enumerate(block.ops)}
        for op in block.ops:
            if not isinstance(op, graph.GroupOp | ElementwiseInterface):
                continue
            if (tiled := self._members_and_tiling_of(op)) is not None:
                self._mark_overwritable_operands(InPlaceMarker(op, *tiled, position))

    def _members_and_tiling_of(
        self, op: graph.GroupOp | ElementwiseInterface
    ) -> tuple[GroupMembers, GroupTiling] | None:
        """
        Return the members and the tiling of an operation; None if it does not tile.
        """
        rules = tile_rules_of(self.target, self.target.tile_levels[0].name)
        try:
            if isinstance(op, ElementwiseInterface):
                members = GroupMembers((op,), tuple(op.results))
                return members, members.min_tiling(rules)
            members = members_of_group_op(op)
            if (plan := op.plan) is None:
                return members, members.min_tiling(rules)
            sizes = plan.tile_sizes, plan.reduce_sizes
            rules = tile_rules_of(self.target, plan.level.data)
            return members, members.analyze_tiles_of_sizes(*sizes, rules)
        except TilingError:
            return None

    def _mark_overwritable_operands(self, marker: InPlaceMarker) -> None:
        """Set the in-place attribute of the marker's operation, and add remarks."""
        operands: list[int | None] = []
        overwritten = set[int]()
        for index in range(len(marker.op.results)):
            operand = marker.find_overwritable_operand(index, overwritten)
            if isinstance(operand, str):
                self.remark_collector.add_remark(marker.op, "missed", operand)
            operands.append(operand if isinstance(operand, int) else None)
            overwritten.update(each for each in operands if each is not None)
        if overwritten:
            marker.op.attributes[IN_PLACE_ATTRIBUTE] = graph.InPlaceAttr(operands)
            self.remark_collector.add_remark(
                marker.op, "passed", "a result may overwrite an operand"
            )
