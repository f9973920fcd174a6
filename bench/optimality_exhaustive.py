"""Exhaustive search for the best plan of a small program in simulated cycles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from optimality_chip import Chip
from optimality_search_space import (
    Part,
    Partition,
    ProgramNodes,
    TilePlan,
    apply_plans,
    build_merged_program,
    enumerate_partitions,
    enumerate_plans,
    is_legal,
)
from xdsl.dialects.builtin import ModuleOp

from tlf.analysis.tiling.group_analysis import tile_rules_of
from tlf.analysis.tiling.group_members import members_of_group_op
from tlf.dialects import graph
from tlf.dialects.types import byte_count, tensor_type

MAX_PARTITIONS = 12
"""Number of partitions simulated as whole programs: those with the least total time."""

MAX_CLIMBS = 2
"""Number of the best simulated partitions that hill climbing starts from."""

MAX_SIMULATIONS = 6
"""Number of plans of a group that are simulated: the fastest by the event model."""

RUNNERS_UP = 2
"""
Number of plans of a group used in hill climbing, besides the best and the largest.
"""


@dataclass(frozen=True)
class ProgramPlan:
    """Partition of a program with the plans of its groups and resident values."""

    cycles: int
    partition: Partition
    plans: Mapping[Part, TilePlan]
    resident: frozenset[int] = frozenset()
    """Indices of the intermediate values that are resident in the inner level."""


@dataclass
class PlanCache:
    """Plans of groups ranked by time, shared by all graphs."""

    ranked: dict[str, list[tuple[int, TilePlan]]] = field(
        default_factory=dict[str, list[tuple[int, TilePlan]]]
    )


@dataclass
class ExhaustiveSearch:
    """
    Exhaustive search over all partitions of a program.

    Every group of every partition is timed on its own: the event model estimates every
    plan that could be the fastest, and the fastest plans are simulated. Whole programs
    are simulated in order of the sums of these times. Hill climbing from the best ones
    then toggles the residency of single values and varies plans, as long as the program
    gets faster.
    """

    chip: Chip
    known: PlanCache

    def find_best(self, grouped: ModuleOp) -> ProgramPlan:
        """Return the fastest of all simulated programs."""
        nodes = ProgramNodes(grouped)
        candidates: list[tuple[int, ProgramPlan]] = []
        for partition in enumerate_partitions(nodes):
            ranked = [
                (part, self._rank_plans(nodes, part))
                for part in partition
                if all(map(nodes.is_group, part))
            ]
            if all(each for _, each in ranked):
                total = sum(each[0][0] for _, each in ranked)
                plans = {part: each[0][1] for part, each in ranked}
                candidates.append((total, ProgramPlan(0, partition, plans)))
        candidates.sort(key=lambda each: (each[0], len(each[1].partition)))
        simulated = [
            self._simulate_plan(nodes, best) for _, best in candidates[:MAX_PARTITIONS]
        ]
        ordered = sorted(filter(None, simulated), key=lambda each: each.cycles)
        results = [self._hill_climb(nodes, each) for each in ordered[:MAX_CLIMBS]]
        return min(results, key=lambda each: each.cycles)

    def _simulate_plan(
        self, nodes: ProgramNodes, way: ProgramPlan
    ) -> ProgramPlan | None:
        """Return a plan with its simulated cycles, or `None` if it is refused."""
        values = nodes.intermediate_values(way.partition)
        resident = [values[index] for index in sorted(way.resident)]
        level = self.chip.level.name
        module = apply_plans(nodes, way.partition, way.plans, level, resident)
        if (figures := self.chip.simulate_cached(module)) is None:
            return None
        return replace(way, cycles=figures.cycles)

    def _hill_climb(self, nodes: ProgramNodes, best: ProgramPlan) -> ProgramPlan:
        """Move to the best neighbour as long as it is faster."""
        while True:
            candidates = [
                self._simulate_plan(nodes, each)
                for each in self._neighbours(nodes, best)
            ]
            fastest = min(
                (each for each in candidates if each is not None),
                key=lambda each: each.cycles,
                default=best,
            )
            if fastest.cycles >= best.cycles:
                return best
            best = fastest

    def _neighbours(
        self, nodes: ProgramNodes, way: ProgramPlan
    ) -> Iterator[ProgramPlan]:
        """Yield plans with other resident values, or another plan for one block."""
        count = len(nodes.intermediate_values(way.partition))
        for index in range(count):
            yield replace(way, resident=way.resident ^ {index})
        if count > 1:
            everything = frozenset(range(count))
            yield replace(way, resident=everything - way.resident)
        for part, plan in way.plans.items():
            for _, other in _select_plans(self._rank_plans(nodes, part)):
                if other != plan:
                    yield replace(way, plans={**way.plans, part: other})

    def _rank_plans(
        self, nodes: ProgramNodes, part: Part
    ) -> list[tuple[int, TilePlan]]:
        """Return the plans of a block with their cycles, the fastest first."""
        operations = [nodes.operations[index] for index in sorted(part)]
        groups = [op for op in operations if isinstance(op, graph.GroupOp)]
        program = build_merged_program(groups, nodes.module)
        key = f"{self.chip.target.name}\n{program}"
        if key not in self.known.ranked:
            self.known.ranked[key] = self._simulate_group(program)
        return self.known.ranked[key]

    def _simulate_group(self, alone: ModuleOp) -> list[tuple[int, TilePlan]]:
        """Simulate the plans of a group that are the fastest by the event model."""
        (group,) = (op for op in alone.walk() if isinstance(op, graph.GroupOp))
        level = self.chip.level
        estimates = self._estimate_plans(alone, group)
        results: list[tuple[int, TilePlan]] = []
        largest = max(
            (plan for _, plan in estimates), key=lambda p: p.tile, default=None
        )
        for index, (_, plan) in enumerate(estimates):
            if index < MAX_SIMULATIONS or plan == largest or not results:
                group.plan = plan.to_attribute(level.name)
                if (figures := self.chip.simulate_cached(alone)) is not None:
                    results.append((figures.cycles, plan))
        group.plan = None
        results.sort(key=lambda each: each[0])
        return results

    def _estimate_plans(
        self, alone: ModuleOp, group: graph.GroupOp
    ) -> list[tuple[int, TilePlan]]:
        """
        Return the plans of a group that could be the fastest, with estimated cycles.
        """
        level = self.chip.level
        members = members_of_group_op(group)
        rules = tile_rules_of(self.chip.target, level.name)
        ordered = sorted(
            (self._cycle_lower_bound(group, tiles, plan.stages), tiles, index, plan)
            for index, (tiles, plan) in enumerate(enumerate_plans(group))
        )
        results: list[tuple[int, TilePlan]] = []
        for bound, _, _, plan in ordered:
            if any(cycles <= bound for cycles, _ in results):
                break
            if not is_legal(members, plan, rules):
                continue
            group.plan = plan.to_attribute(level.name)
            if (cycles := self.chip.predict_cycles(alone)) is not None:
                results.append((cycles, plan))
        group.plan = None
        results.sort(key=lambda each: each[0])
        return results

    def _cycle_lower_bound(self, group: graph.GroupOp, tiles: int, stages: int) -> int:
        """
        Return a lower bound of the cycles of a group with `tiles` tiles.

        All operands are loaded and all results stored over the channel of the outermost
        memory, with its latency before the first and after the last byte. A tile can
        only be loaded after the tile `stages` iterations earlier.
        """
        outermost = self.chip.target.outermost_level
        loads = sum(byte_count(tensor_type(each)) for each in group.inputs)
        stores = sum(byte_count(tensor_type(each)) for each in group.results)
        transfer_bound = 2 * outermost.latency + (loads + stores) // outermost.bandwidth
        latencies = (tiles // stages + 1) * outermost.latency
        return max(transfer_bound, latencies + loads // outermost.bandwidth // stages)


def _select_plans(ranked: Sequence[tuple[int, TilePlan]]) -> list[tuple[int, TilePlan]]:
    """Return the best plans, and the plan with the largest tile."""
    largest = max(ranked, key=lambda each: each[1].tile)
    return list(dict.fromkeys([*ranked[: RUNNERS_UP + 1], largest]))
