"""
What a group costs whose tiles are brought to an outer level and computed further in.

The moves of all tiles share the channel of the farther memory; while one tile is
computed, the next one comes in. With `tL`, `tC` and `tS` for a tile that is loaded,
computed and stored, `n` tiles take `tL + (n - 1) max(tL + tS, tC) + tC + tS`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod

from xdsl.ir import Operation, SSAValue

from tlf.dialects.access import Box, Interval
from tlf.dialects.target import Level, Target
from tlf.dialects.types import tensor_type
from tlf.machine.costs import Cost, Costs
from tlf.passes.cost.footprint import Footprint, footprint_of
from tlf.passes.cost.machine import machine_of
from tlf.passes.cost.nest import Moves
from tlf.passes.cost.nests import Nests
from tlf.passes.cost.traffic import Movements, Traffic
from tlf.passes.cost.work import Instructions
from tlf.passes.tiling.group import rules_of
from tlf.passes.tiling.model import (
    GroupTiling,
    Scope,
    TiledOperation,
    last_end,
    same_box,
)

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
    loaded: frozenset[SSAValue] = frozenset()
    """Inputs that are brought there before all tiles, whole."""

    @property
    def near(self) -> frozenset[SSAValue]:
        """Inputs of which tiles are views."""
        return self.resident | self.loaded


NOTHING = Keeping()


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
        self.far = Moves(
            self.costs, level.name, names[at + 1], ordered=self.rules.ordered
        )
        nearer = rules_of(target, names[at - 1])
        self.near = Moves(self.costs, names[at - 1], level.name, ordered=nearer.ordered)
        self.work = Instructions(self.costs)
        self.latency = target.levels[names[at + 1]].latency

    def tiled(self, tiling: GroupTiling, nests: Nests) -> TiledGroup:
        """A group with these tiles, `nests` over nearer ones inside."""
        return TiledGroup(self, tiling, nests)

    def compute(self, tiling: GroupTiling, nests: Nests) -> float:
        """The cycles that a tile is computed in, nest after nest over nearer tiles."""
        busy: dict[int, dict[int, float]] = {}
        for tiled in tiling.tiles.values():
            if not tiled.form.is_free:
                nest = busy.setdefault(nests[tiled.op], {})
                for cost in self._instructions(tiling, tiled, nests):
                    nest[cost.queue] = nest.get(cost.queue, 0) + self._share(cost)
        return sum(max(each.values()) + NEST for each in busy.values() if each)

    def _share(self, cost: Cost) -> float:
        """The cycles of an instruction, in the cores or at a port that they share."""
        ports = [cycles for _, cycles in cost.shared]
        return max(cost.cycles / self.costs.machine.cores, *ports, 0)

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


class TiledGroup:
    """
    A group with tiles, to be priced for any number of iterations in flight, and for any
    values that are in the level around it.
    """

    def __init__(self, model: OuterModel, tiling: GroupTiling, nests: Nests) -> None:
        self.model = model
        self.tiling = tiling
        self.nests = nests
        self._movements = Movements(tiling, model.far)

    def footprint(self, stages: int, keeping: Keeping = NOTHING) -> Footprint:
        """The buffers of the level that it takes."""
        held = keeping.loaded | keeping.kept
        return footprint_of(self.tiling, stages, self.nests, keeping.resident, held)

    def is_legal(self, keeping: Keeping) -> bool:
        """Whether tiles of the results that are kept can be made in their place."""
        tiling = self.tiling
        pairs = zip(tiling.results, tiling.pieces, strict=True)
        return not tiling.loops or all(
            _fills(tiling, value, piece)
            for value, piece in pairs
            if value in keeping.kept
        )

    def cost(
        self, stages: int, footprint: Footprint, keeping: Keeping = NOTHING
    ) -> OuterCost:
        """What it costs, which takes these buffers."""
        once, inside, stores = Traffic(), Traffic(), Traffic()
        for value, is_inside, moved in self._loads:
            if value in keeping.near:
                continue
            if is_inside:
                inside += moved
            else:
                once += moved
        for value in keeping.loaded:
            shape = tensor_type(value).get_shape()
            whole = tuple(Interval.whole(extent) for extent in shape)
            once += self._movements.into(value, whole)
        for value, moved in self._stores:
            if value not in keeping.unstored:
                stores += moved
        cycles = self._time(stages, once, inside, stores)
        return OuterCost(
            round(cycles),
            once.bytes + inside.bytes + stores.bytes,
            once + inside,
            stores,
            self.compute,
            footprint,
        )

    @property
    def tiles(self) -> int:
        """How many tiles there are."""
        return prod(loop.trips for loop in self.tiling.loops.values())

    @cached_property
    def compute(self) -> float:
        """The cycles of all computation."""
        tiling, before, starts = self.tiling, 0.0, 0
        body = self.model.compute(tiling, self.nests)
        if tiling.start is not None and tiling.rolled is not None:
            starts = self.tiles // tiling.rolled.trips
            before = self.model.compute(tiling.start, self.nests)
        return body * self.tiles + before * starts

    @cached_property
    def _stores(self) -> tuple[tuple[SSAValue, Traffic], ...]:
        """What is stored of each result."""
        pairs = zip(self.tiling.results, self.tiling.pieces, strict=True)
        return tuple(
            (value, self._movements.back(value, piece)) for value, piece in pairs
        )

    @cached_property
    def _loads(self) -> tuple[tuple[SSAValue, bool, Traffic], ...]:
        """What is loaded of each input, and whether in loops rather than before."""
        return tuple(self._each_load())

    def _each_load(self) -> Iterator[tuple[SSAValue, bool, Traffic]]:
        tiling, movements = self.tiling, self._movements
        for (value, _), boxes in tiling.reads.items():
            for number, box in enumerate(boxes):
                window = tiling.windows.get((value, number))
                if window is None:
                    inside = movements.depth(box) > 0
                    yield value, inside, movements.into(value, box)
                    continue
                for part in (window.fresh, window.initial):
                    yield value, True, movements.into(value, part)

    def _time(
        self, stages: int, once: Traffic, loads: Traffic, stores: Traffic
    ) -> float:
        tiles = self.tiles
        load, store = loads.cycles / tiles, stores.cycles / tiles
        work = self.compute / tiles
        waits = 2 * self.model.latency
        if tiles == 1:
            # Operations follow each other; what later ones read comes in meanwhile.
            moved = once.cycles + loads.cycles
            return waits + max(moved, work) + min(moved, work) / 4 + store
        if stages == 1:
            return once.cycles + tiles * (load + work + store + waits)
        steady = max(load + store, work)
        return waits + once.cycles + load + (tiles - 1) * steady + work + store


def _fills(tiling: GroupTiling, value: SSAValue, piece: Box) -> bool:
    """Whether tiles make up a result, each with no more than its piece."""
    owner = value.owner
    if not isinstance(owner, Operation) or (value, 0) in tiling.windows:
        return False
    if not same_box(tiling.tiles[owner].result, piece):
        return False
    shape = tensor_type(value).get_shape()
    ends = map(last_end, piece)
    return all(end == extent for end, extent in zip(ends, shape, strict=True))


def _available(tiling: GroupTiling, value: SSAValue) -> Box | None:
    """The tile of a value that is there."""
    owner = value.owner
    if isinstance(owner, Operation) and owner in tiling.tiles:
        return tiling.tiles[owner].result
    for scope in Scope:
        if boxes := tiling.reads.get((value, scope)):
            return boxes[0]
    return None
