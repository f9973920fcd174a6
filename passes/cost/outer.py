"""
What a group costs whose tiles are brought to an outer level and computed further in.

The moves of all tiles share the channel of the farther memory; while one tile is
computed, the next one comes in. With `tL`, `tC` and `tS` for a tile that is loaded,
computed and stored, `n` tiles take `tL + (n - 1) max(tL + tS, tC) + tC + tS`, or longer
where slots are not free in time. There is one for each of `s` iterations in flight; a
tile is loaded into it, which takes a latency `w` more, and computed from it, so that
the tiles of one slot take `tL + w + tC` each, and where they are stored from, `tC + tS
+ w`: `(n - 1) / s` times, of which the greatest whole number below counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from math import prod

from xdsl.ir import Operation, SSAValue

from tlf.dialects.access import Box, Interval
from tlf.dialects.interfaces import ContractionInterface
from tlf.dialects.target import Level, Target
from tlf.dialects.types import tensor_type
from tlf.machine.costs import Cost, Costs
from tlf.passes.cost.cut_products import all_sizes, filled_work
from tlf.passes.cost.footprint import Footprint, TileBuffers
from tlf.passes.cost.in_flight import InFlight
from tlf.passes.cost.keeping import NOTHING, Keeping
from tlf.passes.cost.machine import machine_of
from tlf.passes.cost.nest import Moves
from tlf.passes.cost.nest_work import NestWork
from tlf.passes.cost.nests import Nests
from tlf.passes.cost.program import LINES
from tlf.passes.cost.steps import Steps
from tlf.passes.cost.traffic import Movements, Traffic
from tlf.passes.cost.work import Instructions
from tlf.passes.tiling.boxes import moves_with
from tlf.passes.tiling.group import rules_of
from tlf.passes.tiling.model import (
    GroupTiling,
    Scope,
    TiledOperation,
    last_end,
    same_box,
)
from tlf.passes.tiling.rounding import is_rounded_by


@dataclass(frozen=True)
class OuterCost:
    """What running a group costs."""

    cycles: int
    """At least those of all moves."""
    bytes: int
    """Payload of the farther memory."""
    alone: int
    """Cycles if early loads are over before."""
    early: int
    """Cycles of early loads."""
    in_loops: bool
    """Whether loops load tiles, which loads for later groups do not pass."""
    loads: Traffic
    stores: Traffic
    compute: float
    """Cycles of all computation, were nothing to wait for."""
    footprint: Footprint

    @property
    def idle(self) -> int:
        """Cycles in which the channel has nothing to do, with early loads done."""
        moves = self.loads.cycles + self.stores.cycles - self.early
        return max(0, round(self.alone - moves))


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
        self.latency = target.levels[names[at + 1]].latency
        self.bandwidth = target.levels[names[at + 1]].bandwidth
        nearest = target.levels[names[at - 1]]
        filled = partial(filled_work, capacity=nearest.capacity)
        self.work = Instructions(self.costs, filled)
        self.least = Instructions(self.costs, partial(filled, sizes=all_sizes))
        self.fill = nearest.capacity / 2 / level.bandwidth
        self.issue = self.costs.machine.issue_cycles * LINES

    def tiled(
        self, tiling: GroupTiling, nests: Nests, steps: Steps | None = None
    ) -> TiledGroup:
        """
        A group with these tiles, `nests` over nearer ones inside. The `steps` of all
        its operations, if they are known, are not found out again.
        """
        return TiledGroup(self, tiling, nests, steps or Steps(tiling.tiles, nests))

    def compute(self, tiling: GroupTiling, nests: Nests) -> float:
        """The cycles that a tile is computed in, nest after nest over nearer tiles."""
        return sum(self.by_nest(tiling, nests).values())

    def by_nest(self, tiling: GroupTiling, nests: Nests) -> dict[int, float]:
        """The cycles that each nest over nearer tiles takes for a tile."""
        return {
            number: each.cycles(self.issue, self.fill)
            for number, each in self.works(tiling, nests).items()
        }

    def works(
        self,
        tiling: GroupTiling,
        nests: Nests,
        without: Collection[object] = (),
        work: Instructions | None = None,
    ) -> dict[int, NestWork]:
        """
        What each nest over nearer tiles that does anything does for a tile, `without`
        what some operations compute and moves of some values; `work` computes it.
        """
        found: dict[int, NestWork] = {}
        for tiled in tiling.tiles.values():
            if not tiled.form.is_seen:
                nest = found.setdefault(nests[tiled.op], NestWork())
                for cost in self._instructions(tiling, tiled, nests, without, work):
                    nest.add(cost, self._share(cost))
        return {number: each for number, each in found.items() if each.busy}

    def _share(self, cost: Cost) -> float:
        """The cycles of an instruction, in the cores or at a port that they share."""
        ports = [cycles for _, cycles in cost.shared]
        return max(cost.cycles / self.costs.machine.cores, *ports, 0)

    def _instructions(
        self,
        tiling: GroupTiling,
        tiled: TiledOperation,
        nests: Nests,
        without: Collection[object],
        work: Instructions | None,
    ) -> Iterator[Cost]:
        """What computes a tile, with the moves from and to it."""
        own = nests[tiled.op]
        if tiled.op not in without and not _is_rounded(tiled, nests):
            yield from (work or self.work).of(tiled)
        for operand in dict.fromkeys(tiled.op.operands):
            owner = operand.owner
            if isinstance(owner, Operation) and nests.get(owner) == own:
                continue
            if operand in without:
                continue
            if (box := _available(tiling, operand)) is not None:
                yield self.near.into(operand, box)
        for result in tiled.op.results:
            if result in without:
                continue
            users = [use.operation for use in result.uses]
            if not users or any(nests.get(user) != own for user in users):
                yield self.near.back(result, tiled.result)


class TiledGroup:
    """
    A group with tiles, to be priced for any number of iterations in flight, and for any
    values that are in the level around it.
    """

    def __init__(
        self, model: OuterModel, tiling: GroupTiling, nests: Nests, steps: Steps
    ) -> None:
        self.model = model
        self.tiling = tiling
        self.nests = nests
        self.steps = steps
        self._movements = Movements(tiling, model.far)
        self._whole_loads: dict[SSAValue, Traffic] = {}

    def footprint(self, stages: int, keeping: Keeping = NOTHING) -> Footprint:
        """The buffers of the level that it takes."""
        held = keeping.loaded | keeping.kept
        buffers = TileBuffers(
            self.tiling, self.nests, keeping.resident, held, self.steps
        )
        return buffers.footprint(InFlight(stages, stages))

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
        ahead, inside = Traffic(), Traffic()
        once: dict[SSAValue, Traffic] = {}
        for value, is_inside, moved in self.all_loads(keeping):
            if is_inside:
                inside += moved
            elif value in keeping.early:
                ahead += moved
            else:
                once[value] = once.get(value, Traffic()) + moved
        back = {v: each for v, each in self.stores if v not in keeping.unstored}
        stores = sum(back.values(), Traffic())
        moved = sum(once.values(), ahead + inside)
        alone = self.time(stages, once, inside, back)
        cycles = max(alone, moved.cycles + stores.cycles)
        return OuterCost(
            round(cycles),
            moved.bytes + stores.bytes,
            round(max(alone, moved.cycles - ahead.cycles + stores.cycles)),
            round(ahead.cycles),
            inside.bytes > 0,
            moved,
            stores,
            self.compute,
            footprint,
        )

    def all_loads(
        self, keeping: Keeping = NOTHING
    ) -> Iterator[tuple[SSAValue, bool, Traffic]]:
        """What is loaded of each input, and whether in loops rather than before."""
        near = keeping.near
        for value, is_inside, moved in self._loads:
            if value not in near:
                yield value, is_inside, moved
        for value in keeping.loaded:
            yield value, False, self._whole_load(value)

    def _whole_load(self, value: SSAValue) -> Traffic:
        """What is moved where an input is brought whole."""
        if value not in self._whole_loads:
            shape = tensor_type(value).get_shape()
            whole = tuple(Interval.whole(extent) for extent in shape)
            self._whole_loads[value] = self._movements.into(value, whole)
        return self._whole_loads[value]

    @property
    def tiles(self) -> int:
        """How many tiles there are."""
        return prod(loop.trips for loop in self.tiling.loops.values())

    @cached_property
    def compute(self) -> float:
        """The cycles of all computation."""
        tiling, before, starts = self.tiling, 0.0, 0
        body = sum(self._by_nest.values())
        if tiling.start is not None and tiling.rolled is not None:
            starts = self.tiles // tiling.rolled.trips
            before = self.model.compute(tiling.start, self.nests)
        return body * self.tiles + before * starts

    @cached_property
    def _by_nest(self) -> dict[int, float]:
        """The cycles of each nest over nearer tiles, for a tile."""
        return self.model.by_nest(self.tiling, self.nests)

    @cached_property
    def stores(self) -> tuple[tuple[SSAValue, Traffic], ...]:
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
                yield value, True, movements.into(value, window.fresh)
        yield from self._first_loads()

    def _first_loads(self) -> Iterator[tuple[SSAValue, bool, Traffic]]:
        """What is loaded for the windows before the first iteration."""
        tiling, rolled = self.tiling, self.tiling.rolled
        if tiling.start is None or rolled is None:
            return
        for key, boxes in tiling.start.reads.items():
            later = tiling.reads.get(key, boxes)
            if later is boxes or any(moves_with(each, (rolled,)) for each in later):
                for box in boxes:
                    yield key[0], True, self._movements.into(key[0], box)

    def time(
        self,
        stages: int,
        once: Mapping[SSAValue, Traffic],
        loads: Traffic,
        stores: Mapping[SSAValue, Traffic],
    ) -> float:
        """The cycles from the first load on that no earlier group can do."""
        tiles = self.tiles
        first = sum(each.cycles for each in once.values())
        load = loads.cycles / tiles
        store = sum(each.cycles for each in stores.values()) / tiles
        coming = self.model.latency if once or load else 0
        going = self.model.latency if stores else 0
        if tiles == 1:
            return coming + going + self._in_order(once, stores)
        work = self.compute / tiles
        if stages == 1:
            wait = self.model.latency if load else going
            return first + coming + going + tiles * (load + work + store + wait) - wait
        arrives = load + self.model.latency if load else 0
        slots = work + max(arrives, store + going)
        steady = max(
            (tiles - 1) * max(load + store, work), (tiles - 1) // stages * slots
        )
        return coming + first + load + steady + work + store + going

    def _in_order(
        self, loads: Mapping[SSAValue, Traffic], stores: Mapping[SSAValue, Traffic]
    ) -> float:
        """
        The cycles of the only tile: each nest waits for the one before, and for what it
        and they read, which is loaded in this order; results are stored as they come.
        """
        needed: dict[int, float] = {}
        for value, moved in loads.items():
            users = (use.operation for use in value.uses)
            first = min((self.nests[op] for op in users if op in self.nests), default=0)
            needed[first] = needed.get(first, 0.0) + moved.cycles
        made: dict[int, float] = {}
        for value, moved in stores.items():
            owner = value.owner
            number = self.nests[owner] if isinstance(owner, Operation) else 0
            made[number] = made.get(number, 0.0) + moved.cycles
        work = self._by_nest
        time = loaded = stored = 0.0
        for number in sorted({*work, *needed, *made}):
            loaded += needed.get(number, 0.0)
            time = max(time, loaded) + work.get(number, 0.0)
            if number in made:
                stored = max(time, stored) + made[number]
        return max(time, stored)


def _is_rounded(tiled: TiledOperation, nests: Nests) -> bool:
    """Whether a product of the same nest rounds by itself what an operation rounds."""
    if not tiled.form.rounds:
        return False
    product = tiled.op.operands[0].owner
    return (
        isinstance(product, ContractionInterface)
        and nests.get(product) == nests[tiled.op]
        and is_rounded_by(product, tiled.op)
    )


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
