"""
Cost of a group whose tiles are moved to an outer level and computed further in.

The moves of all tiles share the channel of the farther memory; while one tile is
computed, the next one comes in. With `tL`, `tC` and `tS` for a tile that is loaded,
computed and stored, `n` tiles take `tL + (n - 1) max(tL + tS, tC) + tC + tS`, or longer
where slots are not free in time. There is one for each of `s` iterations in flight; a
tile is loaded into it, which takes a latency `w` more, and computed from it, so that
the tiles of one slot take `tL + w + tC` each, and where they are stored from, `tC + tS
+ w`: `(n - 1) / s` times, of which the greatest whole number below counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

from xdsl.ir import Operation, SSAValue

from tlf.analysis.tiling.boxes import moves_with
from tlf.analysis.tiling.model import (
    GroupTiling,
    last_end,
    same_box,
)
from tlf.dialects.types import tensor_type
from tlf.planner.cost.npu.footprint import Footprint, TileBuffers
from tlf.planner.cost.npu.in_flight import in_flight
from tlf.planner.cost.npu.keeping import NOTHING, Keeping
from tlf.planner.cost.npu.nests import Nests, numbered
from tlf.planner.cost.npu.outer import OuterModel
from tlf.planner.cost.npu.pieces import is_in_loop, piece_count, separated
from tlf.planner.cost.npu.steps import Steps
from tlf.planner.cost.npu.traffic import Movements, Traffic
from tlf.support.affine.access import Box, Interval


@dataclass(frozen=True)
class OuterCost:
    """
    Cost of running a group. Its moves are known before its time, which is found on
    demand.
    """

    loads: Traffic
    ahead: Traffic
    """Early loads among them."""
    in_loops: bool
    """True if loops load tiles, which loads for later groups do not pass."""
    stores: Traffic
    footprint: Footprint
    _compute: Callable[[], float] = field(repr=False, compare=False)
    _time: Callable[[], float] = field(repr=False, compare=False)
    """Cycles if early loads are over before, for moves that overlap as they can."""

    @property
    def early(self) -> int:
        """Cycles of early loads."""
        return round(self.ahead.cycles)

    @property
    def bytes(self) -> int:
        """Payload of the farther memory."""
        return self.loads.bytes + self.stores.bytes

    @property
    def moved(self) -> float:
        """Cycles of the channel."""
        return self.loads.cycles + self.stores.cycles

    @cached_property
    def cycles(self) -> int:
        """At least those of all moves."""
        return round(max(self._exact, self.moved))

    @cached_property
    def alone(self) -> int:
        """Cycles if early loads are over before."""
        return round(max(self._exact, self.moved - self.ahead.cycles))

    @cached_property
    def compute(self) -> float:
        """Cycles of all computation, were nothing to wait for."""
        return self._compute()

    @cached_property
    def _exact(self) -> float:
        return self._time()

    @property
    def idle(self) -> int:
        """Cycles in which the channel has nothing to do, with early loads done."""
        return max(0, round(self.alone - (self.moved - self.early)))


class TiledGroup:
    """
    A group with tiles, to be priced for any number of iterations in flight, and for any
    values that are in the level around it.
    """

    def __init__(
        self,
        model: OuterModel,
        tiling: GroupTiling,
        nests: Nests,
        steps: Steps | None = None,
    ) -> None:
        """
        `nests` over nearer tiles are inside. The `steps` of all operations, if they are
        known, are not found out again.
        """
        self.model = model
        self.tiling = tiling
        self.pieces = piece_count(tiling)
        self.nests = separated(tiling, nests) if tiling.inner_loops else nests
        if tiling.ahead:
            self.nests = numbered(tiling.tiles, nests)
        if steps is None or tiling.inner_loops or tiling.ahead:
            steps = Steps(tiling.tiles, self.nests)
        self.steps = steps
        self._movements = Movements(tiling, model.far)
        self._whole_loads: dict[SSAValue, Traffic] = {}

    def footprint(self, stages: int, keeping: Keeping = NOTHING) -> Footprint:
        """The buffers of the level that it takes."""
        held = keeping.loaded | keeping.kept
        buffers = TileBuffers(
            self.tiling, self.nests, keeping.resident, held, self.steps
        )
        return buffers.footprint(in_flight(self.tiling, stages))

    def is_legal(self, keeping: Keeping) -> bool:
        """
        Return `True` if tiles of the results that are kept can be computed in place,
        and all that is read by indices is in the outer memory.
        """
        tiling = self.tiling
        if any(op.operands[0] in keeping.near for op in tiling.gathered):
            return False
        pairs = zip(tiling.results, tiling.pieces, strict=True)
        return not tiling.loops or all(
            _fills(tiling, value, piece)
            for value, piece in pairs
            if value in keeping.kept
        )

    def cost(
        self, stages: int, footprint: Footprint, keeping: Keeping = NOTHING
    ) -> OuterCost:
        """Return the cost of the group with these buffers."""
        ahead, inside = Traffic(), dict[int, Traffic]()
        once: dict[SSAValue, Traffic] = {}
        for value, depth, moved in self.all_loads(keeping):
            if depth:
                inside[depth] = inside.get(depth, Traffic()) + moved
            elif value in keeping.early:
                ahead += moved
            else:
                once[value] = once.get(value, Traffic()) + moved
        back = {v: each for v, each in self.stores if v not in keeping.unstored}
        stores = sum(back.values(), Traffic())
        return OuterCost(
            sum((*once.values(), *inside.values()), ahead),
            ahead,
            any(each.bytes for each in inside.values()),
            stores,
            footprint,
            lambda: self.compute,
            lambda: self.time(stages, once, inside, back),
        )

    def all_loads(
        self, keeping: Keeping = NOTHING
    ) -> Iterator[tuple[SSAValue, int, Traffic]]:
        """Yield the loads of each input, with the depth of the loops around them."""
        near = keeping.near
        for value, depth, moved in self._loads:
            if value not in near:
                yield value, depth, moved
        for value in keeping.loaded:
            yield value, 0, self._whole_load(value)

    def _whole_load(self, value: SSAValue) -> Traffic:
        """Return the traffic of loading a whole input."""
        if value not in self._whole_loads:
            shape = tensor_type(value).get_shape()
            whole = tuple(Interval.whole(extent) for extent in shape)
            self._whole_loads[value] = self._movements.into(value, whole)
        return self._whole_loads[value]

    @property
    def tiles(self) -> int:
        """Number of tiles."""
        return prod(loop.trips for loop in self.tiling.loops.values())

    @cached_property
    def compute(self) -> float:
        """The cycles of all computation."""
        tiling, before, starts = self.tiling, 0.0, 0
        if tiling.ahead:
            body = self._computed(tiling)
        else:
            body = sum(self._by_nest.values())
        if tiling.start is not None and tiling.rolled is not None:
            starts = self.tiles // tiling.rolled.trips
            before = self._computed(tiling.start)
        return body * self.tiles + before * starts

    def _computed(self, tiling: GroupTiling) -> float:
        """The cycles in which tiles are computed one after the other."""
        done = self.steps.exchanges(tiling.tiles)
        return self.model.compute(tiling, self.nests, done)

    @cached_property
    def _by_nest(self) -> dict[int, float]:
        """The cycles of each nest over nearer tiles, for a tile."""
        done = self.steps.exchanges(self.tiling.tiles)
        each = self.model.by_nest(self.tiling, self.nests, done)
        return {
            number: cycles * (self.pieces if is_in_loop(self.tiling, number) else 1)
            for number, cycles in each.items()
        }

    @cached_property
    def stores(self) -> tuple[tuple[SSAValue, Traffic], ...]:
        """The stores of each result."""
        pairs = zip(self.tiling.results, self.tiling.pieces, strict=True)
        return tuple(
            (value, self._movements.back(value, piece)) for value, piece in pairs
        )

    @cached_property
    def _loads(self) -> tuple[tuple[SSAValue, int, Traffic], ...]:
        """The loads of each input, with the depth of the loops around them."""
        return tuple(self._each_load())

    def _each_load(self) -> Iterator[tuple[SSAValue, int, Traffic]]:
        tiling, movements = self.tiling, self._movements
        for (value, _), boxes in tiling.reads.items():
            for number, box in enumerate(boxes):
                window = tiling.windows.get((value, number))
                if window is None:
                    yield value, movements.depth(box), movements.into(value, box)
                    continue
                yield value, len(movements.loops), movements.into(value, window.fresh)
        for op in tiling.gathered:
            depth = len(movements.outer)
            yield op.results[0], depth, movements.by_indices(tiling.tiles[op])
        yield from self._first_loads()

    def _first_loads(self) -> Iterator[tuple[SSAValue, int, Traffic]]:
        """Yield the loads for the initial windows, before the first iteration."""
        tiling, rolled = self.tiling, self.tiling.rolled
        if tiling.start is None or rolled is None:
            return
        for key, boxes in tiling.start.reads.items():
            later = tiling.reads.get(key, boxes)
            if later is boxes or any(moves_with(each, (rolled,)) for each in later):
                for box in boxes:
                    depth = len(self._movements.loops)
                    yield key[0], depth, self._movements.into(key[0], box)

    def time(
        self,
        stages: int,
        once: Mapping[SSAValue, Traffic],
        loads: Mapping[int, Traffic],
        stores: Mapping[SSAValue, Traffic],
    ) -> float:
        """The cycles from the first load on that no earlier group can do."""
        tiles = self.tiles
        first = sum(each.cycles for each in once.values())
        load = sum(each.cycles for each in loads.values()) / tiles
        store = sum(each.cycles for each in stores.values()) / tiles
        coming = self.model.latency if once or load else 0
        going = self.model.latency if stores else 0
        if self.tiling.inner_loops:
            return coming + first + tiles * (self._summed(stages, load) + store) + going
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
        again = self._again(stages, loads, store)
        return coming + first + load + steady + work + store + going + again

    def _again(self, stages: int, loads: Mapping[int, Traffic], store: float) -> float:
        """
        Return the cycles that inner loops add by restarting for each tile of an outer
        one: the outer one's loads in flight come before theirs, and theirs after the
        last store before.
        """
        loops = self._movements.outer
        outer = max((depth for depth in loads if depth < len(loops)), default=0)
        if not outer:
            return 0
        times = prod(loop.trips for loop in loops[:outer])
        kept = sum(n.cycles for depth, n in loads.items() if depth <= outer) / times
        load = sum(n.cycles for depth, n in loads.items() if depth > outer)
        turn = self.model.latency + load / self.tiles + store
        return (times - 1) * turn + (min(stages, times) - 1) * kept

    def _summed(self, stages: int, load: float) -> float:
        """
        The cycles of a tile whose reduction comes in pieces, which `load` is moved for:
        the next one while one is added. Nothing of other tiles overlaps them.
        """
        work = sum(
            cycles
            for number, cycles in self._by_nest.items()
            if is_in_loop(self.tiling, number)
        )
        latency, pieces = self.model.latency, self.pieces
        around = sum(self._by_nest.values()) - work
        work, load = work / pieces, load / pieces
        turn = latency + load + work
        if stages == 1:
            return around + pieces * turn
        steady = max((pieces - 1) * max(load, work), (pieces - 1) // stages * turn)
        return around + turn + steady

    def _in_order(
        self, loads: Mapping[SSAValue, Traffic], stores: Mapping[SSAValue, Traffic]
    ) -> float:
        """
        The cycles of the only tile: each nest waits for the one before, and for what it
        and they read, which is loaded in this order; results are stored as they come.
        """
        needed: dict[int, float] = {}
        for value, moved in loads.items():
            first = self.steps.first(value)
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


def _fills(tiling: GroupTiling, value: SSAValue, piece: Box) -> bool:
    """Return `True` if tiles make up a result, each with no more than its piece."""
    owner = value.owner
    if not isinstance(owner, Operation) or (value, 0) in tiling.windows:
        return False
    if not same_box(tiling.tiles[owner].result, piece):
        return False
    shape = tensor_type(value).get_shape()
    ends = map(last_end, piece)
    return all(end == extent for end, extent in zip(ends, shape, strict=True))
