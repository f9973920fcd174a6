"""The best plan of a small program by trying everything, each in simulated cycles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from optimality_chip import Chip
from optimality_space import (
    Nodes,
    Part,
    Partition,
    Plan,
    apart,
    is_legal,
    partitions,
    planned,
    plans,
)
from xdsl.dialects.builtin import ModuleOp

from tlf.analysis.tiling.group import rules_of
from tlf.analysis.tiling.group_members import members_of_group
from tlf.dialects import graph
from tlf.dialects.types import byte_count, tensor_type

CUTS = 12
"""Partitions that are run as whole programs, those with the least sums of times."""

CLIMBED = 2
"""The best of them, of which plans and what stays near are then varied."""

SIMULATED = 6
"""Plans of a group that are simulated, the fastest of all by the event model."""

RUNNERS_UP = 2
"""Plans of a group that are tried there, besides the best and the largest tiles."""


@dataclass(frozen=True)
class Best:
    """A way to run a program."""

    cycles: int
    partition: Partition
    chosen: Mapping[Part, Plan]
    near: frozenset[int] = frozenset()
    """Indices of the values passed between parts that are resident near."""


@dataclass
class Known:
    """The plans of groups by time, of all graphs so far."""

    ranked: dict[str, list[tuple[int, Plan]]] = field(
        default_factory=dict[str, list[tuple[int, Plan]]]
    )


@dataclass
class Exhaustive:
    """
    Tries all partitions of a program. Every group of every partition is timed alone,
    with every plan that could be the fastest, on the event model, and simulated with
    the fastest of them. Whole programs are simulated in order of the sums of
    these times; of the best, values are kept near one by one, and other plans tried,
    as long as this makes them faster.
    """

    chip: Chip
    known: Known

    def best(self, grouped: ModuleOp) -> Best:
        """The best of all programs that were run."""
        nodes = Nodes(grouped)
        cuts: list[tuple[int, Best]] = []
        for partition in partitions(nodes):
            ranked = [
                (part, self._ranked(nodes, part))
                for part in partition
                if all(map(nodes.is_group, part))
            ]
            if all(each for _, each in ranked):
                total = sum(each[0][0] for _, each in ranked)
                chosen = {part: each[0][1] for part, each in ranked}
                cuts.append((total, Best(0, partition, chosen)))
        cuts.sort(key=lambda each: (each[0], len(each[1].partition)))
        found = [self._run(nodes, best) for _, best in cuts[:CUTS]]
        known = sorted(filter(None, found), key=lambda each: each.cycles)
        climbed = [self._climb(nodes, each) for each in known[:CLIMBED]]
        return min(climbed, key=lambda each: each.cycles)

    def _run(self, nodes: Nodes, way: Best) -> Best | None:
        """A way with its time, or None where it is refused."""
        values = nodes.handed_on(way.partition)
        near = [values[number] for number in sorted(way.near)]
        level = self.chip.level.name
        module = planned(nodes, way.partition, way.chosen, level, near)
        if (figures := self.chip.figures(module)) is None:
            return None
        return replace(way, cycles=figures.cycles)

    def _climb(self, nodes: Nodes, best: Best) -> Best:
        """Go on to the best way that is a little different, while there is a better."""
        while True:
            ways = [self._run(nodes, each) for each in self._around(nodes, best)]
            better = min(
                (each for each in ways if each is not None),
                key=lambda each: each.cycles,
                default=best,
            )
            if better.cycles >= best.cycles:
                return best
            best = better

    def _around(self, nodes: Nodes, way: Best) -> Iterator[Best]:
        """Ways with one value more or less near, or with another plan of one part."""
        count = len(nodes.handed_on(way.partition))
        for number in range(count):
            yield replace(way, near=way.near ^ {number})
        if count > 1:
            everything = frozenset(range(count))
            yield replace(way, near=everything - way.near)
        for part, plan in way.chosen.items():
            for _, other in _few(self._ranked(nodes, part)):
                if other != plan:
                    yield replace(way, chosen={**way.chosen, part: other})

    def _ranked(self, nodes: Nodes, part: Part) -> list[tuple[int, Plan]]:
        """The plans of a part with their times, the fastest first."""
        picked = [nodes.operations[number] for number in sorted(part)]
        groups = [op for op in picked if isinstance(op, graph.GroupOp)]
        alone = apart(groups, nodes.module)
        key = f"{self.chip.target.name}\n{alone}"
        if key not in self.known.ranked:
            self.known.ranked[key] = self._run_alone(alone)
        return self.known.ranked[key]

    def _run_alone(self, alone: ModuleOp) -> list[tuple[int, Plan]]:
        """The plans of a group that are the fastest by the event model, simulated."""
        (group,) = (op for op in alone.walk() if isinstance(op, graph.GroupOp))
        level = self.chip.level
        timed = self._timed(alone, group)
        found: list[tuple[int, Plan]] = []
        largest = max((plan for _, plan in timed), key=lambda p: p.tile, default=None)
        for number, (_, plan) in enumerate(timed):
            if number < SIMULATED or plan == largest or not found:
                group.plan = plan.attribute(level.name)
                if (figures := self.chip.figures(alone)) is not None:
                    found.append((figures.cycles, plan))
        group.plan = None
        found.sort(key=lambda each: each[0])
        return found

    def _timed(self, alone: ModuleOp, group: graph.GroupOp) -> list[tuple[int, Plan]]:
        """All plans of a group that could be the fastest, by the event model."""
        level = self.chip.level
        members = members_of_group(group)
        rules = rules_of(self.chip.target, level.name)
        ordered = sorted(
            (self._least(group, tiles, plan.stages), tiles, number, plan)
            for number, (tiles, plan) in enumerate(plans(group))
        )
        found: list[tuple[int, Plan]] = []
        for least, _, _, plan in ordered:
            if any(cycles <= least for cycles, _ in found):
                break
            if not is_legal(members, plan, rules):
                continue
            group.plan = plan.attribute(level.name)
            if (cycles := self.chip.predicted(alone)) is not None:
                found.append((cycles, plan))
        group.plan = None
        found.sort(key=lambda each: each[0])
        return found

    def _least(self, group: graph.GroupOp, tiles: int, stages: int) -> int:
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


def _few(ranked: Sequence[tuple[int, Plan]]) -> list[tuple[int, Plan]]:
    """The best plans, and that of one tile, which has the largest sizes."""
    largest = max(ranked, key=lambda each: each[1].tile)
    return list(dict.fromkeys([*ranked[: RUNNERS_UP + 1], largest]))
