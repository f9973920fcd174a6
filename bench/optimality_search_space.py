"""
Search space of a grouped program: every partition and every plan.

The enumeration is exhaustive and independent of the search of the compiler.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import ceil, prod
from typing import TypeAlias

from optimality_chip import functions_of
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.analysis.tiling.group_analysis import GroupMembers
from tlf.analysis.tiling.group_members import members_of_group_op
from tlf.analysis.tiling.group_tiling import TilingError
from tlf.analysis.tiling.rolling_windows import RollingPolicy
from tlf.analysis.tiling.tile_rules import TileRules
from tlf.dialects import graph
from tlf.dialects.interfaces import ConstantInterface, IteratorType
from tlf.dialects.topological_order import sort_topologically
from tlf.planner.partition.merged_group import MergedGroup

Part: TypeAlias = frozenset[int]
Partition: TypeAlias = tuple[Part, ...]
"""Sets of operations that run as one group, ordered by their first operation."""

STAGES = (1, 2)


@dataclass(frozen=True)
class ProgramNodes:
    """Operations of the block of a program, and their dependences."""

    module: ModuleOp

    @cached_property
    def block(self) -> Block:
        """Only block of the only function."""
        (function,) = functions_of(self.module)
        return function.body.block

    @cached_property
    def operations(self) -> Sequence[Operation]:
        """Operations that compute tensors, in program order."""
        return [
            op
            for op in self.block.ops
            if not isinstance(op, ConstantInterface)
            and any(isinstance(each.type, TensorType) for each in op.results)
        ]

    @cached_property
    def before(self) -> Sequence[Part]:
        """Indices of the producers of the operands of each operation."""
        index = {op: n for n, op in enumerate(self.operations)}
        return [
            frozenset(
                index[owner]
                for operand in op.operands
                if isinstance(owner := operand.owner, Operation) and owner in index
            )
            for op in self.operations
        ]

    def is_group(self, number: int) -> bool:
        """Return `True` if an operation is a group and may merge with other groups."""
        return isinstance(self.operations[number], graph.GroupOp)

    def intermediate_values(self, partition: Partition) -> list[SSAValue]:
        """
        Return the results passed between blocks of a partition, which may be resident.
        """
        part_of = {n: part for part in partition for n in part}
        index = {op: n for n, op in enumerate(self.operations)}
        return [
            result
            for n, op in enumerate(self.operations)
            if self.is_group(n)
            for result in op.results
            if any(
                user in index
                and part_of[index[user]] is not part_of[n]
                and self.is_group(index[user])
                for user in (use.operation for use in result.uses)
            )
        ]


def enumerate_partitions(nodes: ProgramNodes) -> Iterator[Partition]:
    """
    Yield all partitions of a program into connected, acyclic sets of operations.

    Operations that are not groups are sets of their own.
    """

    def extend(index: int, blocks: tuple[Part, ...]) -> Iterator[Partition]:
        if index == len(nodes.operations):
            if all(_is_connected(nodes, part) for part in blocks):
                yield blocks
            return
        single = frozenset({index})
        yield from extend(index + 1, (*blocks, single))
        if not nodes.is_group(index):
            return
        for position, part in enumerate(blocks):
            if all(map(nodes.is_group, part)):
                yield from extend(
                    index + 1,
                    (*blocks[:position], part | single, *blocks[position + 1 :]),
                )

    return (each for each in extend(0, ()) if _is_acyclic(nodes, each))


def _is_connected(nodes: ProgramNodes, part: Part) -> bool:
    reached = {min(part)}
    while more := {
        n
        for n in part - reached
        if nodes.before[n] & reached or any(n in nodes.before[m] for m in reached)
    }:
        reached |= more
    return len(reached) == len(part)


def _is_acyclic(nodes: ProgramNodes, partition: Partition) -> bool:
    """
    Return `True` if there is no cyclic dependence between blocks of the partition.
    """
    done = frozenset[int]()
    remaining = list(partition)
    while remaining:
        ready = [
            part
            for part in remaining
            if all(nodes.before[index] <= done | part for index in part)
        ]
        if not ready:
            return False
        done = done.union(*ready)
        remaining = [part for part in remaining if part not in ready]
    return True


@dataclass(frozen=True)
class TilePlan:
    """
    Tile sizes of a group, rolling axis, stage count, and whether producers of windows
    are prefetched.
    """

    tile: tuple[int, ...]
    roll: int | None = None
    stages: int = 1
    has_prefetch: bool = False

    def to_attribute(self, level: str, keep: Sequence[int] = ()) -> graph.PlanAttr:
        """
        Return the plan attribute of a group that retains the results `keep` in the
        level.
        """
        roll = () if self.roll is None else (self.roll,)
        return graph.PlanAttr(
            level,
            self.tile,
            stages=self.stages,
            sliding=roll,
            retain=keep,
            prefetch_distance=int(self.has_prefetch),
        )


def extents_of(group: graph.GroupOp) -> tuple[int, ...]:
    """Return the extents of the parallel loops of a group."""
    root = members_of_group_op(group).root
    return tuple(
        iterator.extent
        for iterator in root.iteration_domain()
        if iterator.kind is IteratorType.PARALLEL
    )


def enumerate_plans(group: graph.GroupOp) -> Iterator[tuple[int, TilePlan]]:
    """Yield all plans of a group that could be legal, each with its number of tiles."""
    extents = extents_of(group)
    for sizes in product(*(range(1, extent + 1) for extent in extents)):
        trips = [ceil(n / size) for n, size in zip(extents, sizes, strict=True)]
        axes = [axis for axis, count in enumerate(trips) if count > 1]
        rolls = [(None, False), *product(axes, (False, True))]
        for stages in STAGES[: min(prod(trips), len(STAGES))]:
            for roll, has_prefetch in rolls:
                yield prod(trips), TilePlan(sizes, roll, stages, has_prefetch)


def is_legal(members: GroupMembers, plan: TilePlan, rules: TileRules) -> bool:
    """
    Return `True` if a plan is legal, and has rolling windows if it has a rolling axis.
    """
    try:
        rolling = (
            None
            if plan.roll is None
            else RollingPolicy(plan.roll, has_prefetch=plan.has_prefetch)
        )
        tiling = members.analyze_tiles_of_sizes(plan.tile, (), rules, rolling)
    except TilingError:
        return False
    needed = tiling.prefetch_distances if plan.has_prefetch else tiling.windows
    return plan.roll is None or bool(needed)


def build_merged_program(
    groups: Sequence[graph.GroupOp], program: ModuleOp
) -> ModuleOp:
    """Return a program that computes some groups merged into one."""
    merged = MergedGroup(groups)
    block = Block(arg_types=[value.type for value in merged.inputs])
    group = merged.to_group_operation()
    group.operands = block.args
    block.add_ops([group, func.ReturnOp(*group.results)])
    for op in block.walk():
        for value in (*op.results, *(arg for r in op.regions for arg in r.block.args)):
            value.name_hint = None
    for argument in block.args:
        argument.name_hint = None
    types = [value.type for value in merged.results]
    kinds = [value.type for value in merged.inputs]
    function = func.FuncOp("apart", (kinds, types), Region(block))
    return ModuleOp([function], dict(program.attributes))


def apply_plans(
    nodes: ProgramNodes,
    partition: Partition,
    chosen: Mapping[Part, TilePlan],
    level: str,
    near: Sequence[SSAValue] = (),
) -> ModuleOp:
    """
    Return a copy of a program with merged groups, their plans and resident values.
    """
    copy = ProgramNodes(nodes.module.clone())
    operations = list(copy.operations)
    retained = [_counterpart(nodes, copy, value) for value in near]
    for part in partition:
        selected = [operations[index] for index in sorted(part)]
        groups = [op for op in selected if isinstance(op, graph.GroupOp)]
        if groups:
            group, results = _merge_groups(groups)
            indices = [n for n, each in enumerate(results) if each in retained]
            retained = [
                group.results[results.index(each)] if each in results else each
                for each in retained
            ]
            group.plan = chosen[part].to_attribute(level, indices)
    sort_topologically(copy.block)
    return copy.module


def _counterpart(nodes: ProgramNodes, made: ProgramNodes, value: SSAValue) -> SSAValue:
    owner = value.owner
    assert isinstance(owner, Operation)
    index = list(nodes.operations).index(owner)
    results: list[SSAValue] = list(owner.results)
    return made.operations[index].results[results.index(value)]


def _merge_groups(
    groups: Sequence[graph.GroupOp],
) -> tuple[graph.GroupOp, list[SSAValue]]:
    """Replace groups by one merged group; return it and the original results."""
    if len(groups) == 1:
        return groups[0], list(groups[0].results)
    merged = MergedGroup(groups)
    group_op = merged.to_group_operation()
    Rewriter.insert_op(group_op, InsertPoint.after(groups[-1]))
    for old, new in zip(merged.results, group_op.results, strict=True):
        old.replace_all_uses_with(new)
    for group in reversed(groups):
        Rewriter.erase_op(group)
    return group_op, list(merged.results)
