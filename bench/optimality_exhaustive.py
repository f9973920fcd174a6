"""Find the best plan of a small program by exhaustive search in simulated cycles."""

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
"""Partitions that are run as whole programs, those with the least sums of times."""

MAX_CLIMBS = 2
"""The best of them, of which plans and what stays near are then varied."""

MAX_SIMULATIONS = 6
"""Plans of a group that are simulated, the fastest of all by the event model."""

RUNNERS_UP = 2
"""Plans of a group that are tried there, besides the best and the largest tiles."""


@dataclass(frozen=True)
class ProgramPlan:
    """A way to run a program."""

    cycles: int
    partition: Partition
    plans: Mapping[Part, TilePlan]
    resident: frozenset[int] = frozenset()
    """Indices of the values passed between parts that are resident near."""


@dataclass
class PlanCache:
    """The plans of groups by time, of all graphs so far."""

    ranked: dict[str, list[tuple[int, TilePlan]]] = field(
        default_factory=dict[str, list[tuple[int, TilePlan]]]
    )


@dataclass
class ExhaustiveSearch:
    """
    Tries all partitions of a program. Every group of every partition is timed alone,
    with every plan that could be the fastest, on the event model, and simulated with
    the fastest of them. Whole programs are simulated in order of the sums of
    these times; of the best, values are kept near one by one, and other plans tried,
    as long as this makes them faster.
    """

    chip: Chip
    known: PlanCache

    def find_best(self, grouped: ModuleOp) -> ProgramPlan:
        """The best of all programs that were run."""
        nodes = ProgramNodes(grouped)
        cuts: list[tuple[int, ProgramPlan]] = []
        for partition in enumerate_partitions(nodes):
            ranked = [
                (part, self._rank_plans(nodes, part))
                for part in partition
                if all(map(nodes.is_group, part))
            ]
            if all(each for _, each in ranked):
                total = sum(each[0][0] for _, each in ranked)
                chosen = {part: each[0][1] for part, each in ranked}
                cuts.append((total, ProgramPlan(0, partition, chosen)))
        cuts.sort(key=lambda each: (each[0], len(each[1].partition)))
        found = [self._simulate_plan(nodes, best) for _, best in cuts[:MAX_PARTITIONS]]
        known = sorted(filter(None, found), key=lambda each: each.cycles)
        climbed = [self._hill_climb(nodes, each) for each in known[:MAX_CLIMBS]]
        return min(climbed, key=lambda each: each.cycles)

    def _simulate_plan(
        self, nodes: ProgramNodes, way: ProgramPlan
    ) -> ProgramPlan | None:
        """A way with its time, or None where it is refused."""
        values = nodes.intermediate_values(way.partition)
        near = [values[number] for number in sorted(way.resident)]
        level = self.chip.level.name
        module = apply_plans(nodes, way.partition, way.plans, level, near)
        if (figures := self.chip.simulate_cached(module)) is None:
            return None
        return replace(way, cycles=figures.cycles)

    def _hill_climb(self, nodes: ProgramNodes, best: ProgramPlan) -> ProgramPlan:
        """Go on to the best way that is a little different, while there is a better."""
        while True:
            ways = [
                self._simulate_plan(nodes, each)
                for each in self._neighbours(nodes, best)
            ]
            better = min(
                (each for each in ways if each is not None),
                key=lambda each: each.cycles,
                default=best,
            )
            if better.cycles >= best.cycles:
                return best
            best = better

    def _neighbours(
        self, nodes: ProgramNodes, way: ProgramPlan
    ) -> Iterator[ProgramPlan]:
        """Ways with one value more or less near, or with another plan of one part."""
        count = len(nodes.intermediate_values(way.partition))
        for number in range(count):
            yield replace(way, resident=way.resident ^ {number})
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
        """The plans of a part with their times, the fastest first."""
        picked = [nodes.operations[number] for number in sorted(part)]
        groups = [op for op in picked if isinstance(op, graph.GroupOp)]
        alone = build_merged_program(groups, nodes.module)
        key = f"{self.chip.target.name}\n{alone}"
        if key not in self.known.ranked:
            self.known.ranked[key] = self._simulate_group(alone)
        return self.known.ranked[key]

    def _simulate_group(self, alone: ModuleOp) -> list[tuple[int, TilePlan]]:
        """The plans of a group that are the fastest by the event model, simulated."""
        (group,) = (op for op in alone.walk() if isinstance(op, graph.GroupOp))
        level = self.chip.level
        timed = self._estimate_plans(alone, group)
        found: list[tuple[int, TilePlan]] = []
        largest = max((plan for _, plan in timed), key=lambda p: p.tile, default=None)
        for number, (_, plan) in enumerate(timed):
            if number < MAX_SIMULATIONS or plan == largest or not found:
                group.plan = plan.to_attribute(level.name)
                if (figures := self.chip.simulate_cached(alone)) is not None:
                    found.append((figures.cycles, plan))
        group.plan = None
        found.sort(key=lambda each: each[0])
        return found

    def _estimate_plans(
        self, alone: ModuleOp, group: graph.GroupOp
    ) -> list[tuple[int, TilePlan]]:
        """All plans of a group that could be the fastest, by the event model."""
        level = self.chip.level
        members = members_of_group_op(group)
        rules = tile_rules_of(self.chip.target, level.name)
        ordered = sorted(
            (self._cycle_lower_bound(group, tiles, plan.stages), tiles, number, plan)
            for number, (tiles, plan) in enumerate(enumerate_plans(group))
        )
        found: list[tuple[int, TilePlan]] = []
        for least, _, _, plan in ordered:
            if any(cycles <= least for cycles, _ in found):
                break
            if not is_legal(members, plan, rules):
                continue
            group.plan = plan.to_attribute(level.name)
            if (cycles := self.chip.predict_cycles(alone)) is not None:
                found.append((cycles, plan))
        group.plan = None
        found.sort(key=lambda each: each[0])
        return found

    def _cycle_lower_bound(self, group: graph.GroupOp, tiles: int, stages: int) -> int:
        """
        Cycles that so many tiles take at least. All that is read comes over the
        channel of the farthest memory and all results go back; before and after it,
        they are under way. A tile can only come in once the tile so many `stages`
        before has come in.
        """
        far = self.chip.target.outermost
        loads = sum(byte_count(tensor_type(each)) for each in group.inputs)
        stores = sum(byte_count(tensor_type(each)) for each in group.results)
        moved = 2 * far.latency + (loads + stores) // far.bandwidth
        waits = (tiles // stages + 1) * far.latency
        return max(moved, waits + loads // far.bandwidth // stages)


def _select_plans(ranked: Sequence[tuple[int, TilePlan]]) -> list[tuple[int, TilePlan]]:
    """The best plans, and that of one tile, which has the largest sizes."""
    largest = max(ranked, key=lambda each: each[1].tile)
    return list(dict.fromkeys([*ranked[: RUNNERS_UP + 1], largest]))
