"""
Profitability check of `graph-expose-cascaded-reductions`, `graph-split-k-reductions`
and `graph-transpose-weights`: cycles of clones of groups before and after a rewrite;
the program is only read.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from math import ceil, inf, prod
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tlf.analysis.operations.op_kinds import text_of_attribute
from tlf.analysis.tiling.group_analysis import (
    GroupMembers,
    group_members_of,
    tile_rules_of,
)
from tlf.analysis.tiling.group_results import results_used_outside
from tlf.analysis.tiling.group_tiling import TilingError
from tlf.analysis.tiling.structural_keys import structural_key_of
from tlf.dialects.call_invariants import CallInvariantAnalysis, call_invariant_values_of
from tlf.dialects.dead_operations import erase_dead_operations
from tlf.dialects.graph import PlanAttr
from tlf.dialects.interfaces import (
    ConstantInterface,
    ScanInterface,
    TilingInterface,
)
from tlf.dialects.located_canonicalization import LocatedCanonicalizePass
from tlf.dialects.numerics_attribute import NUMERICS_ATTRIBUTE
from tlf.dialects.parameter_attribute import mark_parameters
from tlf.dialects.target import Level, TargetSpec
from tlf.passes.graph.cse import CsePass
from tlf.passes.graph.graph_outline_prepare import outline_preparation
from tlf.planner.context import memo_of
from tlf.planner.estimator import Estimator
from tlf.planner.estimator_selection import select_estimator
from tlf.planner.fusion.block_grouping import BlockGrouping, Groups
from tlf.planner.fusion.cascade_fusion import CascadeFusion
from tlf.planner.fusion.producer_closure import Part, operations_with_reshapes
from tlf.planner.settings.search_budgets import PARTITION, REASSOCIATION
from tlf.planner.split_bound import extra_cycles_of_partial_results

BlockChange: TypeAlias = Callable[[Sequence[TilingInterface]], bool]
"""
A rewrite of operations in program order that returns `True` if it applied. Equal
changes must have equal effects, because results are cached by change.
"""


@dataclass
class ChangeEvaluator:
    """
    Estimation of the cycles that graph rewrites save, on clones of groups of a block.
    """

    context: Context
    target: TargetSpec
    level: Level
    estimator: Estimator
    min_gain: float = 0.0
    """Fraction of the cycles that a change has to save which adds no groups."""
    min_gain_of_groups: float = REASSOCIATION.min_split_gain
    """Fraction of the cycles that a change has to save which adds groups."""
    _known: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    _costs_after: dict[Hashable, tuple[int, int | None]] = field(
        default_factory=dict[Hashable, tuple[int, int | None]]
    )
    """Number of groups and total cycles of changed operations, by their structure."""
    _operations_after: dict[Hashable, list[TilingInterface] | None] = field(
        default_factory=dict[Hashable, "list[TilingInterface] | None"]
    )
    """Simplified clones of changed operations, by the structure before."""
    _invariants: CallInvariantAnalysis = field(default_factory=CallInvariantAnalysis)

    @staticmethod
    def create_for_target(
        context: Context,
        target: TargetSpec,
        min_gain: float = 0.0,
        min_gain_of_groups: float = REASSOCIATION.min_split_gain,
    ) -> ChangeEvaluator | None:
        """
        Return an evaluator for the innermost level that has a cost model of cascades,
        or None.
        """
        for level in reversed(target.tile_levels):
            estimator = select_estimator(target, level, memo=memo_of(context))
            if estimator is not None and estimator.can_estimate_cascades:
                gains = min_gain, min_gain_of_groups
                return ChangeEvaluator(context, target, level, estimator, *gains)
        return None

    def groups_of_block(self, block: Block) -> Groups:
        """
        Return the group of each operation of a block, without call-invariant groups.
        """
        grouping = BlockGrouping(
            self.level,
            self.target,
            collects_remarks=False,
            cascade_fusion=CascadeFusion(self.target, self.estimator),
            memo=memo_of(self.context),
        )
        parts, known = grouping.partition_block(block), call_invariant_values_of(block)
        return {
            op: part
            for part in parts
            for op in part
            if not known.issuperset(results_used_outside(part))
        }

    def tile_count_of_group(self, group: Part) -> int:
        """
        Return the number of tiles of a group that can be computed in parallel under its
        best plan; 1 without a plan.
        """
        members = group_members_of(group)
        try:
            plan = self.estimator.find_plan(members)
        except TilingError:
            return 1
        if plan is None:
            return 1
        extents = members.op_facts.facts_of(members.root).parallel_extents
        pairs = zip(extents, plan.tile_sizes, strict=True)
        tiles = prod(ceil(extent / size) for extent, size in pairs)
        return tiles // self._sequential_tile_count(members, plan)

    def _sequential_tile_count(self, members: GroupMembers, plan: PlanAttr) -> int:
        """Return the number of tiles that a loop over the tiles of scans computes."""
        if not any(isinstance(op, ScanInterface) for op in members.operations):
            return 1
        rules = tile_rules_of(self.target, self.level.name)
        tiling = members.analyze_tiles_of_sizes(
            plan.tile_sizes, plan.reduce_sizes, rules
        )
        return 1 if tiling.scan_loop is None else tiling.scan_loop.trips

    def cycles_saved_by_change(
        self, groups: Sequence[Part], change: BlockChange
    ) -> int:
        """
        Return the cycles that a change saves, plus a bonus if it removes groups or
        minus a penalty if it adds groups; at most 0 if the change does not pay.
        """
        operations = operations_with_reshapes(groups)
        key = change, structural_key_of(operations, results_used_outside(operations))
        if key not in self._known:
            self._known[key] = self._estimate_cycles_saved_by_change(
                groups, operations, change
            )
        return self._known[key]

    def max_cycles_saved_by_split(
        self,
        groups: Sequence[Part],
        split_groups: Sequence[Part],
        part_count: int,
        moving_cycles: float = 0.0,
    ) -> float:
        """
        Return a bound on the cycles that groups save if the reductions of some of them
        run in `part_count` parallel parts, and one more group combines their partial
        results, which move in `moving_cycles`. All others may join these two. Infinite
        if the model has no bound.
        """
        bounds = [
            self.estimator.find_split_bound(group_members_of(part))
            for part in split_groups
        ]
        known = [each for each in bounds if each is not None]
        if not known or len(known) < len(bounds):
            return inf
        removed_groups = len(groups) - 2
        return (
            sum(each.max_cycles_saved(part_count) for each in known)
            - extra_cycles_of_partial_results(known, part_count, moving_cycles)
            + removed_groups * known[0].fixed_cycles
            + self._tolerated_loss_of_cycles(-removed_groups)
            * (self.total_cycles_of_groups(groups) or 0)
        )

    def max_cycles_saved_by_operations(
        self,
        groups: Sequence[Part],
        operations: Sequence[TilingInterface],
        moving_cycles: float,
    ) -> float:
        """
        Return a bound on the cycles that groups save if groups of other operations
        replace them, of which one stores partial results while it computes, in at least
        `moving_cycles`, and another one waits for their loads. Infinite if the model
        has no bound.
        """
        members = group_members_of(operations)
        if (least := self.estimator.min_cycles_of_two_groups(members)) is None:
            return inf
        before = self.total_cycles_of_groups(groups) or 0
        return (1 + PARTITION.cascade_slowdown) * before - least - moving_cycles

    def max_cycles_saved_by_copy(self, group: Part) -> float:
        """
        Return a bound on the cycles that a group saves if one more group copies an
        operand of it into another order. Infinite if the model has no bound.
        """
        bound = self.estimator.find_split_bound(group_members_of(group))
        if bound is None:
            return inf
        saved = max(0.0, bound.divided_cycles - bound.busy_cycles)
        cycles = bound.fixed_cycles + bound.divided_cycles
        loss = self._tolerated_loss_of_cycles(1) * cycles
        return saved - bound.fixed_cycles + loss

    def _estimate_cycles_saved_by_change(
        self,
        original_groups: Sequence[Part],
        operations: Sequence[TilingInterface],
        change: BlockChange,
    ) -> int:
        """Return cycles before minus after `change` on clones, plus tolerated loss."""
        if (before := self.total_cycles_of_groups(original_groups)) is None:
            return 0
        if (module := self._changed_module_of(operations, change)) is None:
            return 0
        count, after = self._known_cost_of_module(module)
        if after is None:
            return 0
        loss = self._tolerated_loss_of_cycles(count - len(original_groups))
        return before + int(before * loss) - after

    def _changed_module_of(
        self, operations: Sequence[TilingInterface], change: BlockChange
    ) -> ModuleOp | None:
        """Return a module with changed clones of operations; None if none changed."""
        module = self._clone_into_module(operations)
        *body, _ = _function_of(module).body.block.ops
        copies = body[len(body) - len(operations) :]
        tiled = [op for op in copies if isinstance(op, TilingInterface)]
        return module if change(tiled) else None

    def operations_after_change(
        self, groups: Sequence[Part], change: BlockChange
    ) -> list[TilingInterface] | None:
        """
        Return clones of the operations of groups after a change, simplified and without
        those that run once for all calls; None if the change does not apply.
        """
        operations = operations_with_reshapes(groups)
        key = change, structural_key_of(operations, results_used_outside(operations))
        if key not in self._operations_after:
            self._operations_after[key] = self._find_operations_after_change(
                operations, change
            )
        return self._operations_after[key]

    def _find_operations_after_change(
        self, operations: Sequence[TilingInterface], change: BlockChange
    ) -> list[TilingInterface] | None:
        if (module := self._changed_module_of(operations, change)) is None:
            return None
        block = self._simplify_module(module).body.block
        known = call_invariant_values_of(block)
        return [
            op
            for op in block.ops
            if isinstance(op, TilingInterface)
            and not isinstance(op, ConstantInterface)
            and not known.issuperset(op.results)
        ]

    def _known_cost_of_module(self, module: ModuleOp) -> tuple[int, int | None]:
        """
        Return the number and the total cycles of the groups of a module with one
        function; different changes may lead to equal modules.
        """
        function = _function_of(module)
        key = (
            structural_key_of(list(function.body.block.ops), function.body.block.args),
            text_of_attribute(function.arg_attrs) if function.arg_attrs else "",
        )
        if key not in self._costs_after:
            groups = self._groups_of_module(module)
            self._costs_after[key] = len(groups), self.total_cycles_of_groups(groups)
        return self._costs_after[key]

    def _clone_into_module(self, operations: Sequence[TilingInterface]) -> ModuleOp:
        """Clone operations into a module, with arguments for the values they read."""
        internal = {result for op in operations for result in op.results}
        external = dict.fromkeys(
            operand
            for op in operations
            for operand in op.operands
            if operand not in internal
        )
        constants = [
            e.owner for e in external if isinstance(e.owner, ConstantInterface)
        ]
        arguments = [e for e in external if not isinstance(e.owner, ConstantInterface)]
        body = Block(arg_types=[value.type for value in arguments])
        copies: dict[SSAValue, SSAValue] = dict(zip(arguments, body.args, strict=True))
        for op in (*constants, *operations):
            body.add_op(op.clone(copies))
        results = results_used_outside(operations)
        body.add_op(func.ReturnOp(*(copies[value] for value in results)))
        types = [value.type for value in arguments], [value.type for value in results]
        function = func.FuncOp("part", types, Region(body))
        are_invariant = map(self._invariants.is_call_invariant, arguments)
        mark_parameters(function, [n for n, each in enumerate(are_invariant) if each])
        return ModuleOp([function], _numerics_attributes_of(operations[0]))

    def _simplify_module(self, module: ModuleOp) -> func.FuncOp:
        """Simplify a module, and return its function that runs at each call."""
        for each in LocatedCanonicalizePass(), CsePass():
            each.apply(self.context, module)
        function = _function_of(module)
        outline_preparation(function, self.target)
        erase_dead_operations(module.body)
        return function

    def _groups_of_module(self, module: ModuleOp) -> list[Part]:
        """Simplify a module, and return the groups that run at each call."""
        function = self._simplify_module(module)
        parts = {id(p): p for p in self.groups_of_block(function.body.block).values()}
        return list(parts.values())

    def _tolerated_loss_of_cycles(self, added_groups: int) -> float:
        """
        Return the fraction of the cycles that a change which adds `added_groups` groups
        may lose; negative if it has to save this fraction.
        """
        if not added_groups:
            return -self.min_gain
        return (
            PARTITION.cascade_slowdown if added_groups < 0 else -self.min_gain_of_groups
        )

    def total_cycles_of_groups(self, groups: Sequence[Part]) -> int | None:
        """
        Return the total cycles of groups that run in sequence; None if one has no plan.
        """
        estimates = [
            self.estimator.estimate_cycles(group_members_of(part)) for part in groups
        ]
        cycles = [each for each in estimates if each is not None]
        return sum(cycles) if len(cycles) == len(estimates) else None


def _function_of(module: ModuleOp) -> func.FuncOp:
    """Return the only function of a module."""
    function = module.body.block.last_op
    assert isinstance(function, func.FuncOp)
    return function


def _numerics_attributes_of(op: Operation) -> dict[str, Attribute]:
    """
    Return the numerics attribute of an operation's module, if it has one.
    """
    module = op.get_toplevel_object()
    numerics = (
        module.attributes.get(NUMERICS_ATTRIBUTE)
        if isinstance(module, ModuleOp)
        else None
    )
    return {} if numerics is None else {NUMERICS_ATTRIBUTE: numerics}
