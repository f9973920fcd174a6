"""Choose which groups run as one, and which tensors stay near in between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from tlf.dialects import graph
from tlf.dialects.block_order import sort_block
from tlf.dialects.prepared import is_preparation
from tlf.dialects.target import Level, Target
from tlf.dialects.target.levels import level_named
from tlf.planner.context import Memo, evaluator_of, memo_of
from tlf.planner.cost.npu.outer_plan import TRAFFIC, OuterPlan
from tlf.planner.cost.npu.timed import TimedTiles
from tlf.planner.freedom import Freedom
from tlf.planner.fusion.notes import Notes
from tlf.planner.layout.declared import free_values
from tlf.planner.partition.carried import carry_out
from tlf.planner.partition.costs import OPERATIONS, GroupCosts, WorkError
from tlf.planner.partition.cuts import join_cuts
from tlf.planner.partition.part_order import PartOrder
from tlf.planner.partition.problem import BlockProblem, problems_of
from tlf.planner.partition.refinement import (
    EFFORT,
    STEPS,
    Refinement,
    Rehearsed,
    tries_in,
)
from tlf.support.partition import (
    STRATEGIES,
    Limits,
    NoScheduleError,
    Objective,
    Result,
    Schedule,
    members,
    search,
)

CHOICES = 64
"""Sets of values that may stay after a group, before `dp` leaves it to `beam`."""

WORK = 300_000
"""Operations of all tilings that are analysed before fewer groups may become one."""

FEWER = 4
"""Of how many groups one may become one then."""


@dataclass(frozen=True)
class GraphPartitionPass(ModulePass):
    """
    Let groups that follow each other run as one group where that is faster.

    The groups of a block are cut into sets that run one after the other, so that the
    whole takes the least time by the model of the level. A set need not be contiguous
    in the block. Results stay in the level, whole, for groups that read them, where
    that pays. Each set becomes one group with a plan. Targets without a model, and
    groups that have a plan, stay as they are.
    """

    name = "graph-partition"

    level: str | None = None
    """The memory level that tiles are brought to; the outermost one unless given."""

    strategy: str = "dp"
    """`dp`, `beam`, `interval`, `greedy` or `unfused`."""

    max_group_size: int = 12
    """Maximum number of groups that may be fused into one."""

    max_contractions: int = 12
    """Maximum number of contractions in a group."""

    max_operations: int = OPERATIONS
    """Maximum number of operations in groups that may be fused into one."""

    max_states: int = 20_000
    """States that `dp` visits before it gives up and leaves it to `beam`."""

    max_analyzed_operations: int = WORK
    """
    Maximum number of operations, over all tilings, that are analysed to price groups,
    before only a quarter of as many groups may be fused, and so on.
    """

    traffic_weight: int = TRAFFIC
    """
    Of how many cycles that moves take the channel of the farther memory one counts,
    beside the time that all takes.
    """

    residency: bool = True
    """True if results may be resident in the level between groups."""

    sliding_window: bool = True
    """True if tiles may keep their overlap with the next one."""

    stages: int | None = None
    """The most iterations of loops over tiles in flight; unless given, what pays."""

    axes: tuple[int, ...] | None = None
    """The axes that tiles may cut, of the first result of a group; all unless given."""

    max_evaluations: int | None = None
    """
    Number of schedules and plans near the best that are compared by the event model, on
    the whole program; fewer in programs of many operations. Unless given, 16 in small
    programs.
    """

    max_evaluated_operations: int = EFFORT
    """Maximum number of operations, over all programs that are compared."""

    tile: tuple[int, ...] = ()
    """Tile sizes for `graph-select-tile-sizes`; if given, groups stay as they are."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.strategy not in STRATEGIES:
            known = ", ".join(STRATEGIES)
            raise PassFailedException(
                f"expected a strategy among {known}, got {self.strategy}"
            )
        if self.traffic_weight < 0:
            raise PassFailedException(
                "expected at least 0 cycles of traffic for one that counts, "
                f"got {self.traffic_weight}"
            )
        target = Target.of(op)
        level = level_named(target, self.level)
        timed = TimedTiles.of(target, level)
        if timed is None or timed.is_nearest or self.tile:
            return
        for _ in self.partitions(ctx, op, target, level):
            pass

    def partitions(
        self,
        context: Context,
        op: ModuleOp,
        target: Target,
        level: Level,
        alternatives: int = 0,
    ) -> Iterator[Partition]:
        """
        Yield each problem that is searched with its result, with so many alternatives
        to each step. A partition is carried out once the next one is asked for.
        """
        notes, memo = Notes(self.name), memo_of(context)
        for function in op.walk():
            if not isinstance(function, func.FuncOp) or is_preparation(function):
                continue
            free = frozenset(free_values(function))
            for block in function.body.blocks:
                join_cuts(block, level, target)
                for stated in list(problems_of(block, level, free)):
                    found = self.searched(stated, target, level, alternatives, memo)
                    if found is not None:
                        self._refine(context, found, target, level)
                        yield found
                        found.merged = _carried_out(found, level, notes)
                sort_block(block)
                self._order_parts(context, block, target, level)
        notes.write()

    def searched(
        self,
        stated: BlockProblem,
        target: Target,
        level: Level,
        alternatives: int = 0,
        memo: Memo | None = None,
    ) -> Partition | None:
        """The best schedule of a problem, or None where there is nothing to choose."""
        if not any(isinstance(op, graph.GroupOp) for op in stated.nodes):
            return None
        costs = self.costs(stated, target, level, memo)
        groups = self.max_group_size
        while True:
            costs.allow(self.max_analyzed_operations if groups > 1 else None)
            try:
                found = search(
                    stated.problem,
                    costs,
                    self.strategy,
                    self.objective(target, level),
                    replace(self.limits(self._tries_in(stated)), group=groups),
                    alternatives=alternatives,
                    retain=self.residency,
                )
                break
            except NoScheduleError:
                return None
            except WorkError:
                groups = max(1, groups // FEWER)
                costs.forget(groups)
        costs.allow(None)
        return Partition(stated, costs, found)

    def _refine(
        self, context: Context, found: Partition, target: Target, level: Level
    ) -> None:
        """Choose among the best schedules by the event model, where that is known."""
        tries = self._tries_in(found.stated)
        evaluator = evaluator_of(context, target, STEPS) if tries > 1 else None
        if evaluator is not None:
            refinement = Refinement(
                found.stated,
                found.costs,
                target,
                level,
                evaluator,
                self.objective(target, level),
                tries,
            )
            found.chosen = refinement.best(found.found.ways)
            found.rehearsed = refinement.told(found.chosen, found.found.ways[0])

    def _order_parts(
        self, context: Context, block: Block, target: Target, level: Level
    ) -> None:
        """Put what does not depend on each other in the order that is fastest."""
        parts = list(problems_of(block, level))
        tries = self._tries_in(parts[0]) if len(parts) > 1 else 0
        evaluator = evaluator_of(context, target, STEPS) if tries > 1 else None
        if evaluator is not None:
            nodes = [each.nodes for each in parts]
            PartOrder(block, nodes, target, evaluator, tries).apply()

    def _tries_in(self, stated: BlockProblem) -> int:
        """Return the number of programs that are compared for a problem."""
        return tries_in(stated, self.max_evaluations, self.max_evaluated_operations)

    def costs(
        self,
        stated: BlockProblem,
        target: Target,
        level: Level,
        memo: Memo | None = None,
    ) -> GroupCosts:
        """
        Return the costs of the groups of a problem, with the freedom that the options
        leave.
        """
        freedom = Freedom(self.sliding_window, self.stages, self.axes)
        args = stated.nodes, stated.values, target, level, self.max_contractions
        return GroupCosts(*args, freedom, stated.free, self.max_operations, memo)

    def objective(self, target: Target, level: Level) -> Objective:
        """Time, and a part of that of all moves from and to the farther memory."""
        names = list(target.levels)
        farther = target.levels[names[names.index(level.name) + 1]]
        return Objective(self.traffic_weight * farther.bandwidth, 1)

    def limits(self, tries: int = 0) -> Limits:
        """The limits of the search, where so many schedules are to be compared."""
        ways = max(1, (tries + 1) // 2)
        return Limits(
            states=self.max_states,
            moves=2 * self.max_states,
            choices=CHOICES,
            group=self.max_group_size,
            ways=ways,
        )


@dataclass
class Partition:
    """A problem, and the best schedule of it."""

    stated: BlockProblem
    costs: GroupCosts
    found: Result
    chosen: Schedule = field(init=False)
    """Schedule to carry out: the best by the model, unless another one was faster."""
    rehearsed: Rehearsed | None = None
    """Result of the event model for it."""
    merged: Sequence[graph.GroupOp | None] = ()
    """The group of each step, once the schedule is carried out; None for others."""

    def __post_init__(self) -> None:
        self.chosen = self.found.schedule


def _carried_out(
    partition: Partition, level: Level, notes: Notes
) -> list[graph.GroupOp | None]:
    """Carry out the schedule that was chosen, and say which groups run as one."""
    schedule = partition.chosen
    made = carry_out(partition.stated, schedule, level)
    for step, group in zip(schedule.steps, made, strict=True):
        plan = step.option.plan
        nodes = (partition.stated.nodes[number] for number in members(step.group))
        count = sum(isinstance(op, graph.GroupOp) for op in nodes)
        if group is not None and isinstance(plan, OuterPlan) and count > 1:
            text = (
                f"{count} groups run as one: {plan.cost.cycles:,} cycles, "
                f"{plan.cost.bytes:,} bytes by the model"
            )
            notes.add(group, "passed", text)
    return made
