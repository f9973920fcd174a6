"""Explanation of plans: cost estimates and lower bounds of groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.utils.exceptions import DiagnosticException

from tlf.analysis.bounds.lower_bounds import LowerBounds, lower_bounds_of
from tlf.analysis.tiling.group_analysis import tile_rules_of
from tlf.analysis.tiling.group_members import members_of_group_op
from tlf.analysis.tiling.group_tiling import GroupTiling
from tlf.analysis.tiling.planned_halo_policy import rolling_policy_of_plan
from tlf.dialects import graph
from tlf.dialects.graph.residency import (
    is_operand_resident,
    is_read_only_in_inner_level,
    is_retained,
    needs_load,
)
from tlf.dialects.target import Level, TargetSpec
from tlf.dialects.target.level_lookup import find_tile_level
from tlf.machine.instruction_costs import Key
from tlf.planner.cost.npu.event_program import Item, Task
from tlf.planner.cost.npu.event_simulation import simulate_cycles
from tlf.planner.cost.npu.inner_cost_model import InnerCostModel
from tlf.planner.cost.npu.iterations_in_flight import IterationsInFlight
from tlf.planner.cost.npu.level_residency import Residency
from tlf.planner.cost.npu.nest_prediction import Nests
from tlf.planner.cost.npu.npu_estimator import NpuEstimator, predict_nests_of
from tlf.planner.cost.npu.outer_model import OuterCostModel
from tlf.planner.cost.npu.tile_footprint import Footprint, TileBuffers
from tlf.planner.cost.npu.tiled_group import TiledGroup


@dataclass(frozen=True)
class PredictedCost:
    """
    Cost of one planned group by the cost model: cycles, bytes moved, and footprint.
    """

    cycles: int
    bytes: int
    """Bytes moved from and to the next outer level."""
    move_cycles: int
    """Cycles of the moves from and to that level."""
    compute_cycles: int
    """Cycles of all other work, without stalls."""
    footprint: Footprint


@dataclass(frozen=True)
class GroupEstimate:
    """
    Predicted cost and lower bounds of one planned group, with the inputs of their
    computation.
    """

    group: graph.GroupOp
    level: Level
    """The memory level of its tiles."""
    tiling: GroupTiling
    nests: Nests
    """Nests over inner tiles; in the innermost level each operation is a nest."""
    residency: Residency
    predicted: PredictedCost
    bounds: LowerBounds
    """Lower bounds of the group, without traffic of resident tensors."""


@dataclass
class GroupEstimator:
    """Estimator of the cost of groups, for a target with a cost model."""

    target: TargetSpec

    def __post_init__(self) -> None:
        if not has_cost_model(self.target):
            raise DiagnosticException(
                f"expected a target with a model of its time, of the backend npu, "
                f"got {self.target.name}"
            )

    def estimate_group(self, group: graph.GroupOp) -> GroupEstimate | None:
        """
        Predict the cost of `group` under its attached plan; return `None` if it has no
        plan.
        """
        if (plan := group.plan) is None:
            return None
        level = find_tile_level(self.target, plan.level.data)
        members = members_of_group_op(group)
        tiling = members.analyze_tiles_of_sizes(
            plan.tile_sizes,
            plan.reduce_sizes,
            tile_rules_of(self.target, level.name),
            rolling_policy_of_plan(group, plan),
        )
        residency = residency_of(group)
        if level is next(iter(self.target.levels.values())):
            in_flight = IterationsInFlight(plan.stage_count, plan.reduce_stage_count)
            cost = self._estimate_innermost(level, tiling, in_flight)
            nests: Nests = {op: number for number, op in enumerate(tiling.tiles)}
        else:
            nests = predict_nests_of(members, self.target)
            cost = self._estimate_outer(
                level, tiling, nests, plan.innermost_stage_count, residency
            )
        untransferred = residency.resident_inputs | residency.unstored_results
        bounds = lower_bounds_of(group, self.target, untransferred)
        return GroupEstimate(group, level, tiling, nests, residency, cost, bounds)

    def _estimate_outer(
        self,
        level: Level,
        tiling: GroupTiling,
        nests: Nests,
        stages: int,
        residency: Residency,
    ) -> PredictedCost:
        """
        Return the analytic cost of tiles in an outer level, with inner tiles as
        `nests`.
        """
        tiled = TiledGroup(OuterCostModel(self.target, level), tiling, nests)
        cost = tiled.cost_of(stages, tiled.footprint_of(stages, residency), residency)
        moves = round(cost.loads.cycles + cost.stores.cycles)
        return PredictedCost(
            cost.total_cycles,
            cost.payload_bytes,
            moves,
            round(cost.compute_cycles),
            cost.footprint,
        )

    def _estimate_innermost(
        self, level: Level, tiling: GroupTiling, in_flight: IterationsInFlight
    ) -> PredictedCost:
        """
        Return the cost of innermost tiles, from a simulation of their instructions.
        """
        model = InnerCostModel(self.target, level)
        items, engines = (
            model.build_program(tiling, in_flight),
            model.costs.queues,
        )
        moving = (model.moves.load, model.moves.store)
        totals = Counter[Key]()
        for key, amount in _tally_contributions(items):
            totals[key] += amount
        worked = [totals["busy", name] for name in engines if name not in moving]
        return PredictedCost(
            simulate_cycles(items, model.costs),
            totals["read", moving[0]] + totals["wrote", moving[1]],
            sum(totals["busy", name] for name in moving),
            max(worked, default=0),
            TileBuffers(tiling).footprint_of(in_flight),
        )


def has_cost_model(target: TargetSpec) -> bool:
    """Return `True` if a target has a cost model of groups."""
    return (
        NpuEstimator.create_for_level(target, find_tile_level(target, None)) is not None
    )


def _tally_contributions(
    items: Sequence[Item], repetitions: int = 1
) -> Iterator[tuple[Key, int]]:
    """
    Yield the counter and amount of each increment by an instruction in `items`, times
    the trips of enclosing loops.
    """
    for item in items:
        if isinstance(item, Task):
            yield from (
                (key, amount * repetitions)
                for key, amount in item.cost.counter_increments
            )
        else:
            yield from _tally_contributions(item.body, repetitions * item.trips)


def residency_of(group: graph.GroupOp) -> Residency:
    """
    Return the planned residency of values in the level around a group, by the values
    inside of the group.
    """
    arguments = group.body.block.args
    resident_inputs = [
        index for index in range(len(group.inputs)) if is_operand_resident(group, index)
    ]
    unloaded = [index for index in resident_inputs if not needs_load(group, index)]
    retained = [index for index, each in enumerate(group.results) if is_retained(each)]
    unstored = [n for n in retained if is_read_only_in_inner_level(group.results[n])]
    return Residency(
        frozenset(arguments[index] for index in unloaded),
        frozenset(group.yielded_values[index] for index in retained),
        frozenset(group.yielded_values[index] for index in unstored),
        frozenset(
            arguments[index] for index in resident_inputs if index not in unloaded
        ),
    )
