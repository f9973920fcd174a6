"""
Trial evaluation: time of programs before and after a change, by the model of their
target.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from math import ceil, prod
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.transforms.canonicalize import CanonicalizePass
from xdsl.transforms.dead_code_elimination import DeadCodeElimination

from tlf.analysis.tiling.group import members_of
from tlf.analysis.tiling.model import TilingError
from tlf.analysis.tiling.results import results_of
from tlf.analysis.tiling.structure import structure_of
from tlf.dialects.interfaces import ConstantInterface, TilingInterface
from tlf.dialects.invariants import Invariants, invariant_values
from tlf.dialects.numerics import ATTRIBUTE
from tlf.dialects.parameters import mark_parameters
from tlf.dialects.target import Level, Target
from tlf.passes.graph.cse import CsePass
from tlf.passes.graph.graph_outline_prepare import outline
from tlf.planner.context import memo_of
from tlf.planner.estimator import Estimator
from tlf.planner.estimators import estimator_of
from tlf.planner.fusion.cascades import ALIKE, Cascades
from tlf.planner.fusion.grouping import Grouping, Groups
from tlf.planner.fusion.leading import Part, operations_of

Change: TypeAlias = Callable[[Sequence[TilingInterface]], bool]
"""
Rewrites operations, given in program order, or says that there is no way to. Those that
are equal do the same.
"""


APART = 0.1
"""The part of the time that a change has to save if it makes more groups."""


@dataclass
class Trial:
    """Tries changes on copies of parts of a block."""

    context: Context
    target: Target
    level: Level
    estimator: Estimator
    _known: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    _invariants: Invariants = field(default_factory=Invariants)

    @staticmethod
    def of(context: Context, target: Target) -> Trial | None:
        """A trial near the engines, or None where nothing prices loops there."""
        for level in reversed(target.tile_levels):
            estimator = estimator_of(target, level, memo=memo_of(context))
            if estimator is not None and estimator.prices_cascades:
                return Trial(context, target, level, estimator)
        return None

    def groups(self, block: Block) -> Groups:
        """
        Return the groups of operations of a block that run together at every call.
        """
        grouping = Grouping(self.level, self.target, tells=False)
        grouping.cascades = Cascades(self.target, self.estimator)
        parts, known = grouping.partition(block), invariant_values(block)
        return {
            op: part
            for part in parts
            for op in part
            if not known.issuperset(results_of(part))
        }

    def programs(self, part: Part) -> int:
        """
        Return the number of tiles of a group under its best plan; 1 if it has none.
        """
        members = members_of(part)
        try:
            plan = self.estimator.plan(members)
        except TilingError:
            return 1
        if plan is None:
            return 1
        extents = members.forms.of(members.root).parallel_extents
        pairs = zip(extents, plan.tile_sizes, strict=True)
        return prod(ceil(extent / size) for extent, size in pairs)

    def saved(self, parts: Sequence[Part], change: Change) -> int:
        """
        The cycles that a change saves, counted as more where groups become fewer, and
        as less where they become more; not above 0 where it does not pay.
        """
        operations = operations_of(parts)
        key = change, structure_of(operations, results_of(operations))
        if key not in self._known:
            self._known[key] = self._saved(parts, operations, change)
        return self._known[key]

    def _saved(
        self,
        parts: Sequence[Part],
        operations: Sequence[TilingInterface],
        change: Change,
    ) -> int:
        if (before := self.cycles(parts)) is None:
            return 0
        module = self._extracted(operations)
        *inside, _ = _function(module).body.block.ops
        copies = inside[len(inside) - len(operations) :]
        if not change([op for op in copies if isinstance(op, TilingInterface)]):
            return 0
        groups = self._groups_of(module)
        if (after := self.cycles(groups)) is None:
            return 0
        return before + int(before * _leaning(len(groups) - len(parts))) - after

    def _extracted(self, operations: Sequence[TilingInterface]) -> ModuleOp:
        """A program of copies of operations, with arguments for what they read."""
        inside = {result for op in operations for result in op.results}
        read = dict.fromkeys(
            operand
            for op in operations
            for operand in op.operands
            if operand not in inside
        )
        constants = [e.owner for e in read if isinstance(e.owner, ConstantInterface)]
        taken = [e for e in read if not isinstance(e.owner, ConstantInterface)]
        body = Block(arg_types=[value.type for value in taken])
        copies: dict[SSAValue, SSAValue] = dict(zip(taken, body.args, strict=True))
        for op in (*constants, *operations):
            body.add_op(op.clone(copies))
        results = results_of(operations)
        body.add_op(func.ReturnOp(*(copies[value] for value in results)))
        types = [value.type for value in taken], [value.type for value in results]
        function = func.FuncOp("part", types, Region(body))
        known = map(self._invariants.holds, taken)
        mark_parameters(function, [n for n, each in enumerate(known) if each])
        return ModuleOp([function], _numerics(operations[0]))

    def _groups_of(self, module: ModuleOp) -> list[Part]:
        """The groups of what runs at each call of a program with one function."""
        for each in CanonicalizePass(), CsePass():
            each.apply(self.context, module)
        function = _function(module)
        outline(function, self.target)
        DeadCodeElimination().apply(self.context, module)
        parts = {id(p): p for p in self.groups(function.body.block).values()}
        return list(parts.values())

    def cycles(self, parts: Sequence[Part]) -> int | None:
        """The cycles of groups, one after the other; None where one has no tiles."""
        found = [self.estimator.fastest(members_of(part)) for part in parts]
        cycles = [each for each in found if each is not None]
        return sum(cycles) if len(cycles) == len(found) else None


def _leaning(more: int) -> float:
    """By what part of the time of groups a change may cost more, if it makes `more`."""
    if not more:
        return 0.0
    return ALIKE if more < 0 else -APART


def _function(module: ModuleOp) -> func.FuncOp:
    """The function of a program that has one."""
    function = module.body.block.last_op
    assert isinstance(function, func.FuncOp)
    return function


def _numerics(op: Operation) -> dict[str, Attribute]:
    """
    Return the attribute of an operation's module that states how far results may
    change.
    """
    module = op.get_toplevel_object()
    found = module.attributes.get(ATTRIBUTE) if isinstance(module, ModuleOp) else None
    return {} if found is None else {ATTRIBUTE: found}
