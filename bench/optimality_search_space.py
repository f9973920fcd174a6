"""
The search space of a grouped program: every partition and every plan.

This knows nothing of the search of the compiler: it goes through everything.
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
"""The sets of operations that run as one, that with the first operation first."""

STAGES = (1, 2)


@dataclass(frozen=True)
class ProgramNodes:
    """The operations of the block of a program, and which of them others wait for."""

    module: ModuleOp

    @cached_property
    def block(self) -> Block:
        """The only block of the only function."""
        (function,) = functions_of(self.module)
        return function.body.block

    @cached_property
    def operations(self) -> Sequence[Operation]:
        """The operations that compute tensors, in program order."""
        return [
            op
            for op in self.block.ops
            if not isinstance(op, ConstantInterface)
            and any(isinstance(each.type, TensorType) for each in op.results)
        ]

    @cached_property
    def before(self) -> Sequence[Part]:
        """For each operation those whose results it reads."""
        number = {op: n for n, op in enumerate(self.operations)}
        return [
            frozenset(
                number[owner]
                for operand in op.operands
                if isinstance(owner := operand.owner, Operation) and owner in number
            )
            for op in self.operations
        ]

    def is_group(self, number: int) -> bool:
        """Return `True` if an operation is a group, which may run with others."""
        return isinstance(self.operations[number], graph.GroupOp)

    def intermediate_values(self, partition: Partition) -> list[SSAValue]:
        """The results that one part hands to another, and that could stay near."""
        where = {n: part for part in partition for n in part}
        number = {op: n for n, op in enumerate(self.operations)}
        return [
            result
            for n, op in enumerate(self.operations)
            if self.is_group(n)
            for result in op.results
            if any(
                user in number
                and where[number[user]] is not where[n]
                and self.is_group(number[user])
                for user in (use.operation for use in result.uses)
            )
        ]


def enumerate_partitions(nodes: ProgramNodes) -> Iterator[Partition]:
    """
    All ways to cut a program into connected sets that can run one after the other.
    Operations that are no groups stay alone.
    """

    def extend(number: int, parts: tuple[Part, ...]) -> Iterator[Partition]:
        if number == len(nodes.operations):
            if all(_is_connected(nodes, part) for part in parts):
                yield parts
            return
        alone = frozenset({number})
        yield from extend(number + 1, (*parts, alone))
        if not nodes.is_group(number):
            return
        for at, part in enumerate(parts):
            if all(map(nodes.is_group, part)):
                yield from extend(
                    number + 1, (*parts[:at], part | alone, *parts[at + 1 :])
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
    """Return `True` if there is no cyclic dependence between parts."""
    done = frozenset[int]()
    left = list(partition)
    while left:
        ready = [
            part
            for part in left
            if all(nodes.before[number] <= done | part for number in part)
        ]
        if not ready:
            return False
        done = done.union(*ready)
        left = [part for part in left if part not in ready]
    return True


@dataclass(frozen=True)
class TilePlan:
    """
    Tiles of a group, along which axis they roll, iterations in flight, and whether what
    is computed for windows leads.
    """

    tile: tuple[int, ...]
    roll: int | None = None
    stages: int = 1
    has_prefetch: bool = False

    def to_attribute(self, level: str, keep: Sequence[int] = ()) -> graph.PlanAttr:
        """The plan of a group of which some results stay in the level."""
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
    """The extents of the loops of a group."""
    root = members_of_group_op(group).root
    return tuple(
        iterator.extent
        for iterator in root.iteration_domain()
        if iterator.kind is IteratorType.PARALLEL
    )


def enumerate_plans(group: graph.GroupOp) -> Iterator[tuple[int, TilePlan]]:
    """All plans of a group that could be legal, each with its number of tiles."""
    extents = extents_of(group)
    for sizes in product(*(range(1, extent + 1) for extent in extents)):
        trips = [ceil(n / size) for n, size in zip(extents, sizes, strict=True)]
        axes = [axis for axis, count in enumerate(trips) if count > 1]
        rolls = [(None, False), *product(axes, (False, True))]
        for stages in STAGES[: min(prod(trips), len(STAGES))]:
            for roll, leads in rolls:
                yield prod(trips), TilePlan(sizes, roll, stages, leads)


def is_legal(members: GroupMembers, plan: TilePlan, rules: TileRules) -> bool:
    """Return `True` if such tiles are legal, with windows if they are to roll."""
    try:
        rolling = (
            None
            if plan.roll is None
            else RollingPolicy(plan.roll, has_prefetch=plan.has_prefetch)
        )
        tiling = members.tiling_with(plan.tile, (), rules, rolling)
    except TilingError:
        return False
    needed = tiling.prefetch_distances if plan.has_prefetch else tiling.windows
    return plan.roll is None or bool(needed)


def build_merged_program(
    groups: Sequence[graph.GroupOp], program: ModuleOp
) -> ModuleOp:
    """A program that does what some groups do, run as one."""
    merged = MergedGroup(groups)
    block = Block(arg_types=[value.type for value in merged.inputs])
    group = merged.to_operation()
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
    """A copy of a program, its parts groups with plans, and some values near."""
    made = ProgramNodes(nodes.module.clone())
    operations = list(made.operations)
    kept = [_counterpart(nodes, made, value) for value in near]
    for part in partition:
        picked = [operations[number] for number in sorted(part)]
        groups = [op for op in picked if isinstance(op, graph.GroupOp)]
        if groups:
            group, results = _merge_groups(groups)
            numbers = [n for n, each in enumerate(results) if each in kept]
            kept = [
                group.results[results.index(each)] if each in results else each
                for each in kept
            ]
            group.plan = chosen[part].to_attribute(level, numbers)
    sort_topologically(made.block)
    return made.module


def _counterpart(nodes: ProgramNodes, made: ProgramNodes, value: SSAValue) -> SSAValue:
    owner = value.owner
    assert isinstance(owner, Operation)
    at = list(nodes.operations).index(owner)
    results: list[SSAValue] = list(owner.results)
    return made.operations[at].results[results.index(value)]


def _merge_groups(
    groups: Sequence[graph.GroupOp],
) -> tuple[graph.GroupOp, list[SSAValue]]:
    """One group in place of several, and the results that its own stand for."""
    if len(groups) == 1:
        return groups[0], list(groups[0].results)
    merged = MergedGroup(groups)
    one = merged.to_operation()
    Rewriter.insert_op(one, InsertPoint.after(groups[-1]))
    for old, new in zip(merged.results, one.results, strict=True):
        old.replace_all_uses_with(new)
    for group in reversed(groups):
        Rewriter.erase_op(group)
    return one, list(merged.results)
