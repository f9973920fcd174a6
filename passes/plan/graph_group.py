"""Pass `graph-group`: fuses operations into groups that run in the same loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.analysis.tiling.group_analysis import (
    GroupMembers,
    group_members_of,
    smallest_tiling_of,
    tile_rules_of,
)
from tlf.dialects import graph
from tlf.dialects.interfaces import (
    ConstantInterface,
    TilingInterface,
)
from tlf.dialects.returned_values import copy_returned_values
from tlf.dialects.storage_attributes import unmark_operation
from tlf.dialects.target import TargetSpec
from tlf.dialects.target.level_lookup import find_tile_level
from tlf.dialects.topological_order import sort_topologically
from tlf.passes.plan.cascade_step_attributes import CascadeStepAttributes
from tlf.passes.plan.widened_results import copy_widened_results
from tlf.passes.remark_attributes import attach_remarks
from tlf.planner.context import memo_of
from tlf.planner.estimator_selection import select_estimator
from tlf.planner.fusion.block_grouping import BlockGrouping
from tlf.planner.fusion.cascade_fusion import CascadeFusion
from tlf.planner.settings.search_budgets import PARTITION


def move_operations_into_group(
    members: GroupMembers, excluded_constants: Sequence[Operation] = ()
) -> graph.GroupOp:
    """
    Move operations of one block into a group, with clones of their splat constants
    except those in `excluded_constants`.
    """
    moved_ops = set[Operation](members.operations)
    constants = [
        op
        for op in _splat_constants_of(members.operations)
        if op not in excluded_constants
    ]
    inputs = _find_inputs(members.operations, constants)
    root = members.root
    body = Block(arg_types=[value.type for value in inputs])
    for value, argument in zip(inputs, body.args, strict=True):
        argument.name_hint = value.name_hint
    group = graph.GroupOp(inputs, [value.type for value in members.results], body)
    group.location = root.location
    Rewriter.insert_op(group, InsertPoint.after(root))
    for value, result in zip(members.results, group.results, strict=True):
        result.name_hint = value.name_hint
        value.replace_uses_with_if(result, lambda use: use.operation not in moved_ops)
    replacements = dict[SSAValue, SSAValue](zip(inputs, body.args, strict=True))
    for constant in constants:
        copy = constant.clone()
        body.add_op(copy)
        replacements[constant.results[0]] = copy.results[0]
    for op in members.operations:
        op.detach()
        body.add_op(op)
        unmark_operation(op)
        op.operands = [replacements.get(operand, operand) for operand in op.operands]
    body.add_op(graph.YieldOp(*members.results))
    return group


def _find_inputs(
    operations: Sequence[TilingInterface], constants: Sequence[Operation]
) -> list[SSAValue]:
    """Return the operands of operations that neither these nor `constants` define."""
    moved_ops = set[Operation](operations)
    return list(
        dict.fromkeys(
            operand
            for op in operations
            for operand in op.operands
            if operand.owner not in moved_ops and operand.owner not in constants
        )
    )


def _untileable_splat_constants(
    groups: Sequence[Sequence[TilingInterface]], grouping: BlockGrouping
) -> list[TilingInterface]:
    """Return the splat constants that a group cannot tile with its operations."""
    apart: list[TilingInterface] = []
    for operations in groups:
        members = group_members_of(operations)
        constants = _splat_constants_of(operations)
        tiled = [op for op in constants if isinstance(op, TilingInterface)]
        if not tiled or not members.results:
            continue
        with_constants = GroupMembers((*tiled, *members.operations), members.results)
        if smallest_tiling_of(with_constants, grouping.level, grouping.target) is None:
            apart.extend(tiled)
    return list(dict.fromkeys(apart))


def _splat_constants_of(operations: Sequence[TilingInterface]) -> list[Operation]:
    """Return the splat constants outside of `operations` that these use."""
    owners = [operand.owner for op in operations for operand in op.operands]
    return list(
        dict.fromkeys(
            owner
            for owner in owners
            if isinstance(owner, ConstantInterface)
            and owner.splat_attribute() is not None
            and owner not in operations
        )
    )


def _partition_block(
    block: Block, grouping: BlockGrouping
) -> list[list[TilingInterface]]:
    """
    Split the operations of a block into groups. On targets that compute in registers,
    groups store results before these are widened for several others.
    """
    remarks = {key: [*ops] for key, ops in grouping.remarks.operations.items()}
    groups = grouping.partition_block(block)
    if not grouping.target.computes_in_registers or not copy_widened_results(groups):
        return groups
    grouping.remarks.operations = remarks
    return grouping.partition_block(block)


def group_operations_of_block(block: Block, grouping: BlockGrouping) -> None:
    """Move the operations of a block into new groups, as `grouping` partitions them."""
    copy_returned_values(block)
    groups = _partition_block(block, grouping)
    apart = _untileable_splat_constants(groups, grouping)
    grouped = {op for operations in groups for op in operations}
    groups += [[op] for op in apart if op not in grouped]
    steps = CascadeStepAttributes(tile_rules_of(grouping.target, grouping.level.name))
    for operations in groups:
        members = group_members_of(operations)
        if members.results:
            move_operations_into_group(members, apart)
            if grouping.cascade_fusion is not None:
                steps.attach_to(members)
    if groups:
        sort_topologically(block)


@dataclass(frozen=True)
class GraphGroupPass(ModulePass):
    """
    Fuse operations that run in the same loops into `graph.group`s.

    A group is a chain of elementwise operations, a contraction with its elementwise
    epilogue, or row reductions with adjacent elementwise operations; or several of
    these whose reductions run in one loop (a cascade), if that takes less time. An
    operation is added to a group if no dependence path leaves and reenters the group,
    and the smallest tiles of all its values fit into the memory level.
    """

    name = "graph-group"

    level: str | None = None
    """Memory level of the tiles; the outermost tile level by default."""

    max_contractions: int = PARTITION.max_contractions
    """Maximum number of contractions in a group."""

    max_operations: int = PARTITION.max_operations
    """Maximum number of operations in a group."""

    cascades: bool = True
    """
    True if groups whose reductions can run in one loop are fused where that pays.
    Requires a cost model of cascades for the target.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = TargetSpec.read_from_module(op)
        level = find_tile_level(target, self.level)
        memo = memo_of(ctx)
        estimator = select_estimator(target, level, memo=memo)
        grouping = BlockGrouping(
            level,
            target,
            self.max_contractions,
            self.max_operations,
            cascade_fusion=CascadeFusion(target, estimator)
            if self.cascades
            and estimator is not None
            and estimator.can_estimate_cascades
            else None,
            memo=memo,
        )
        if level is not target.tile_levels[0]:
            grouping.remarks.level = level.name
        blocks = dict.fromkeys(
            inner.parent
            for inner in op.walk()
            if isinstance(inner, TilingInterface | func.ReturnOp)
            and not _is_in_group(inner)
        )
        for block in blocks:
            if block is not None:
                group_operations_of_block(block, grouping)
        attach_remarks(grouping.remarks)


def _is_in_group(op: Operation) -> bool:
    return isinstance(op.parent_op(), graph.GroupOp)
