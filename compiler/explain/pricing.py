"""Cost of a group with a plan by the model of its level, and its lower bounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.utils.exceptions import DiagnosticException

from tlf.analysis.bounds.bounds import Bounds, bounds_of
from tlf.analysis.tiling.group import rules_of
from tlf.analysis.tiling.group_members import members_of_group
from tlf.analysis.tiling.model import GroupTiling
from tlf.analysis.tiling.planned import rolling_of
from tlf.dialects import graph
from tlf.dialects.graph.held import brings, holds, is_kept, is_read_near
from tlf.dialects.target import Level, Target
from tlf.dialects.target.levels import level_named
from tlf.machine.costs import Key
from tlf.planner.cost.npu.footprint import Footprint, TileBuffers
from tlf.planner.cost.npu.in_flight import InFlight
from tlf.planner.cost.npu.keeping import Keeping
from tlf.planner.cost.npu.nearest import Machinery
from tlf.planner.cost.npu.nests import Nests
from tlf.planner.cost.npu.outer import OuterModel
from tlf.planner.cost.npu.program import Item, Task, cycles_of
from tlf.planner.cost.npu.tiled_group import TiledGroup
from tlf.planner.cost.npu.timed import TimedTiles, nests_of


@dataclass(frozen=True)
class Spent:
    """Predicted cost of a group."""

    cycles: int
    bytes: int
    """Payload of the next farther level."""
    moves: int
    """Cycles that moves from and to that level take."""
    computation: int
    """Cycles that all else takes, were nothing to wait for."""
    footprint: Footprint


@dataclass(frozen=True)
class Price:
    """Cost of one group, with the inputs of its computation."""

    group: graph.GroupOp
    level: Level
    """The memory level of its tiles."""
    tiling: GroupTiling
    nests: Nests
    """The nests over nearer tiles; in the nearest level every operation is one."""
    keeping: Keeping
    spent: Spent
    bounds: Bounds
    """Of the group by itself, but for tensors that stay near."""


@dataclass
class Pricing:
    """Prices the groups of a program that is tiled for a target with a model."""

    target: Target

    def __post_init__(self) -> None:
        if not has_model(self.target):
            raise DiagnosticException(
                f"expected a target with a model of its time, of the backend npu, "
                f"got {self.target.name}"
            )

    def price(self, group: graph.GroupOp) -> Price | None:
        """Return the cost of a group, or `None` if it has no plan."""
        if (plan := group.plan) is None:
            return None
        level = level_named(self.target, plan.level.data)
        members = members_of_group(group)
        tiling = members.tiling(
            plan.tile_sizes,
            plan.reduce_sizes,
            rules_of(self.target, level.name),
            rolling_of(group, plan),
        )
        keeping = keeping_of(group)
        if level is next(iter(self.target.levels.values())):
            in_flight = InFlight(plan.stage_count, plan.reduce_stage_count)
            spent = self._nearest(level, tiling, in_flight)
            nests: Nests = {op: number for number, op in enumerate(tiling.tiles)}
        else:
            nests = nests_of(members, self.target)
            spent = self._outer(level, tiling, nests, plan.innermost_stages, keeping)
        near = keeping.resident | keeping.unstored
        bounds = bounds_of(group, self.target, near)
        return Price(group, level, tiling, nests, keeping, spent, bounds)

    def _outer(
        self,
        level: Level,
        tiling: GroupTiling,
        nests: Nests,
        stages: int,
        keeping: Keeping,
    ) -> Spent:
        tiled = TiledGroup(OuterModel(self.target, level), tiling, nests)
        cost = tiled.cost(stages, tiled.footprint(stages, keeping), keeping)
        moves = round(cost.loads.cycles + cost.stores.cycles)
        return Spent(
            cost.cycles, cost.bytes, moves, round(cost.compute), cost.footprint
        )

    def _nearest(self, level: Level, tiling: GroupTiling, in_flight: InFlight) -> Spent:
        machinery = Machinery(self.target, level)
        items, engines = machinery.program(tiling, in_flight), machinery.costs.queues
        moving = (machinery.moves.load, machinery.moves.store)
        totals = Counter[Key]()
        for key, amount in _tallies(items):
            totals[key] += amount
        worked = [totals["busy", name] for name in engines if name not in moving]
        return Spent(
            cycles_of(items, machinery.costs),
            totals["read", moving[0]] + totals["wrote", moving[1]],
            sum(totals["busy", name] for name in moving),
            max(worked, default=0),
            TileBuffers(tiling).footprint(in_flight),
        )


def has_model(target: Target) -> bool:
    """Return `True` if a target has a model of the time of groups."""
    return TimedTiles.of(target, level_named(target, None)) is not None


def _tallies(items: Sequence[Item], times: int = 1) -> Iterator[tuple[Key, int]]:
    """Yield the contributions of instructions to totals."""
    for item in items:
        if isinstance(item, Task):
            yield from ((key, amount * times) for key, amount in item.cost.tally)
        else:
            yield from _tallies(item.body, times * item.trips)


def keeping_of(group: graph.GroupOp) -> Keeping:
    """
    Return the residency of values in the level around a group according to plans, by
    their names inside the group.
    """
    arguments = group.body.block.args
    held = [number for number in range(len(group.inputs)) if holds(group, number)]
    there = [number for number in held if not brings(group, number)]
    kept = [number for number, each in enumerate(group.results) if is_kept(each)]
    unstored = [n for n in kept if is_read_near(group.results[n])]
    return Keeping(
        frozenset(arguments[number] for number in there),
        frozenset(group.yielded[number] for number in kept),
        frozenset(group.yielded[number] for number in unstored),
        frozenset(arguments[number] for number in held if number not in there),
    )
