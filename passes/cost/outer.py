"""
What a group costs whose tiles are brought to an outer level and computed further in.

The moves of all tiles share the channel of the farther memory; while one tile is
computed, the next one comes in. With `tL`, `tC` and `tS` for a tile that is loaded,
computed and stored, `n` tiles take `tL + (n - 1) max(tL + tS, tC) + tC + tS`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, SSAValue

from tlf.dialects.access import Box
from tlf.dialects.target import Level, Target
from tlf.machine.costs import Cost, Costs
from tlf.passes.cost.footprint import Footprint, footprint_of
from tlf.passes.cost.machine import machine_of
from tlf.passes.cost.nest import Moves
from tlf.passes.cost.nests import Nests
from tlf.passes.cost.traffic import Movements, Traffic
from tlf.passes.cost.work import Instructions, is_free
from tlf.passes.tiling.group import rules_of
from tlf.passes.tiling.model import GroupTiling, Scope, TiledOperation

NEST = 400
"""Cycles until a nest over nearer tiles is in full swing, and until it is over."""


@dataclass(frozen=True)
class Keeping:
    """Which values are in the level around a group."""

    resident: frozenset[SSAValue] = frozenset()
    """Inputs that are there already, whole."""
    kept: frozenset[SSAValue] = frozenset()
    """Results that stay there, whole."""
    unstored: frozenset[SSAValue] = frozenset()
    """Results that are not written to the outermost memory."""


@dataclass(frozen=True)
class OuterCost:
    """What running a group costs."""

    cycles: int
    bytes: int
    """Payload of the farther memory."""
    loads: Traffic
    stores: Traffic
    compute: float
    """Cycles of all computation, were nothing to wait for."""
    footprint: Footprint


class OuterModel:
    """
    Prices groups that are tiled for a level other than the nearest.
    """

    def __init__(self, target: Target, level: Level) -> None:
        names = list(target.levels)
        at = names.index(level.name)
        self.level = level
        self.rules = rules_of(target, level.name)
        self.costs = Costs(machine_of(target))
        self.far = Moves(self.costs, level.name, names[at + 1])
        self.near = Moves(self.costs, names[at - 1], level.name)
        self.work = Instructions(self.costs)
        self.latency = target.levels[names[at + 1]].latency

    def cost(
        self,
        tiling: GroupTiling,
        nests: Nests,
        stages: int,
        keeping: Keeping | None = None,
    ) -> OuterCost:
        """What a group costs with these tiles, `nests` over nearer ones inside."""
        keeping = keeping or Keeping()
        movements = Movements(tiling, self.far)
        once, loads = self._loads(tiling, movements, keeping)
        stores = Traffic()
        for value, piece in zip(tiling.results, tiling.pieces, strict=True):
            if value not in keeping.unstored:
                stores += movements.back(value, piece)
        tiles = prod(loop.trips for loop in tiling.loops.values())
        body = self.compute(tiling, nests)
        before, starts = 0.0, 0
        if tiling.start is not None and tiling.rolled is not None:
            starts = tiles // tiling.rolled.trips
            before = self.compute(tiling.start, nests)
        compute = body * tiles + before * starts
        cycles = self._time(tiles, stages, once, loads, stores, compute)
        footprint = footprint_of(tiling, stages, nests, keeping.resident)
        return OuterCost(
            round(cycles),
            once.bytes + loads.bytes + stores.bytes,
            once + loads,
            stores,
            compute,
            footprint,
        )

    def _time(
        self,
        tiles: int,
        stages: int,
        once: Traffic,
        loads: Traffic,
        stores: Traffic,
        compute: float,
    ) -> float:
        load, store = loads.cycles / tiles, stores.cycles / tiles
        work = compute / tiles
        waits = 2 * self.latency
        if tiles == 1:
            # Operations follow each other; what later ones read comes in meanwhile.
            moved = once.cycles + loads.cycles
            return waits + max(moved, work) + min(moved, work) / 4 + store
        if stages == 1:
            return once.cycles + tiles * (load + work + store + waits)
        steady = max(load + store, work)
        return waits + once.cycles + load + (tiles - 1) * steady + work + store

    def _loads(
        self, tiling: GroupTiling, movements: Movements, keeping: Keeping
    ) -> tuple[Traffic, Traffic]:
        """What is loaded before the loops, and in them."""
        once, inside = Traffic(), Traffic()
        for (value, _), boxes in tiling.reads.items():
            if value in keeping.resident:
                continue
            for number, box in enumerate(boxes):
                window = tiling.windows.get((value, number))
                if window is not None:
                    inside += movements.into(value, window.fresh)
                    inside += movements.into(value, window.initial)
                elif movements.depth(box):
                    inside += movements.into(value, box)
                else:
                    once += movements.into(value, box)
        return once, inside

    def compute(self, tiling: GroupTiling, nests: Nests) -> float:
        """The cycles that a tile is computed in, nest after nest over nearer tiles."""
        busy: dict[int, dict[int, float]] = {}
        for tiled in tiling.tiles.values():
            if not is_free(tiled.op):
                nest = busy.setdefault(nests[tiled.op], {})
                for cost in self._instructions(tiling, tiled, nests):
                    nest[cost.queue] = nest.get(cost.queue, 0) + cost.cycles
        return sum(max(each.values()) + NEST for each in busy.values() if each)

    def _instructions(
        self, tiling: GroupTiling, tiled: TiledOperation, nests: Nests
    ) -> Iterator[Cost]:
        """What computes a tile, with the moves from and to it."""
        yield from self.work.of(tiled)
        own = nests[tiled.op]
        for operand in dict.fromkeys(tiled.op.operands):
            owner = operand.owner
            if isinstance(owner, Operation) and nests.get(owner) == own:
                continue
            if (box := _available(tiling, operand)) is not None:
                yield self.near.into(operand, box)
        for result in tiled.op.results:
            users = [use.operation for use in result.uses]
            if not users or any(nests.get(user) != own for user in users):
                yield self.near.back(result, tiled.result)


def _available(tiling: GroupTiling, value: SSAValue) -> Box | None:
    """The tile of a value that is there."""
    owner = value.owner
    if isinstance(owner, Operation) and owner in tiling.tiles:
        return tiling.tiles[owner].result
    for scope in Scope:
        if boxes := tiling.reads.get((value, scope)):
            return boxes[0]
    return None
