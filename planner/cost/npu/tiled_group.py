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

from tlf.analysis.tiling.box_covering import is_moved_by
from tlf.analysis.tiling.group_tiling import (
    GroupTiling,
    is_same_box,
    max_end,
)
from tlf.dialects.types import tensor_type
from tlf.planner.cost.npu.channel_traffic import ChannelTraffic, GroupTransfers
from tlf.planner.cost.npu.execution_steps import ExecutionSteps
from tlf.planner.cost.npu.iterations_in_flight import iterations_in_flight
from tlf.planner.cost.npu.level_residency import NO_RESIDENCY, Residency
from tlf.planner.cost.npu.nest_prediction import Nests, number_nests
from tlf.planner.cost.npu.outer_model import OuterModel
from tlf.planner.cost.npu.reduce_stages import (
    is_in_stage_loop,
    reduce_stage_count,
    split_nests,
)
from tlf.planner.cost.npu.tile_footprint import Footprint, TileBuffers
from tlf.support.affine.index_access import Box, Interval


@dataclass(frozen=True)
class OuterCost:
    """
    Cost of running a group. Its moves are known before its time, which is found on
    demand.
    """

    loads: ChannelTraffic
    ahead: ChannelTraffic
    """Early loads among them."""
    in_loops: bool
    """True if loops load tiles, which loads for later groups do not pass."""
    stores: ChannelTraffic
    footprint: Footprint
    _find_compute: Callable[[], float] = field(repr=False, compare=False)
    _find_time: Callable[[], float] = field(repr=False, compare=False)
    """Cycles if early loads are over before, for moves that overlap as they can."""

    @property
    def early_cycles(self) -> int:
        """Cycles of early loads."""
        return round(self.ahead.cycles)

    @property
    def payload_bytes(self) -> int:
        """Payload of the farther memory."""
        return self.loads.bytes + self.stores.bytes

    @property
    def channel_cycles(self) -> float:
        """Cycles of the channel."""
        return self.loads.cycles + self.stores.cycles

    @cached_property
    def total_cycles(self) -> int:
        """At least those of all moves."""
        return round(max(self._exact_cycles, self.channel_cycles))

    @cached_property
    def cycles_after_prefetch(self) -> int:
        """Cycles if early loads are complete before the group starts."""
        return round(max(self._exact_cycles, self.channel_cycles - self.ahead.cycles))

    @cached_property
    def compute_cycles(self) -> float:
        """Cycles of all computation, were nothing to wait for."""
        return self._find_compute()

    @cached_property
    def _exact_cycles(self) -> float:
        return self._find_time()

    @property
    def idle_cycles(self) -> int:
        """Cycles in which the channel has nothing to do, with early loads done."""
        return max(
            0,
            round(
                self.cycles_after_prefetch - (self.channel_cycles - self.early_cycles)
            ),
        )


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
        steps: ExecutionSteps | None = None,
    ) -> None:
        """
        `nests` over nearer tiles are inside. The `steps` of all operations, if they are
        known, are not found out again.
        """
        self.model = model
        self.tiling = tiling
        self.pieces = reduce_stage_count(tiling)
        self.nests = split_nests(tiling, nests) if tiling.inner_loops else nests
        if tiling.prefetch_distances:
            self.nests = number_nests(tiling.tiles, nests)
        if steps is None or tiling.inner_loops or tiling.prefetch_distances:
            steps = ExecutionSteps(tiling.tiles, self.nests)
        self.steps = steps
        self._movements = GroupTransfers(tiling, model.far)
        self._whole_loads: dict[SSAValue, ChannelTraffic] = {}

    def footprint_of(self, stages: int, keeping: Residency = NO_RESIDENCY) -> Footprint:
        """The buffers of the level that it takes."""
        held = keeping.loaded | keeping.retained
        buffers = TileBuffers(
            self.tiling, self.nests, keeping.resident, held, self.steps
        )
        return buffers.footprint_of(iterations_in_flight(self.tiling, stages))

    def is_legal(self, keeping: Residency) -> bool:
        """
        Return `True` if tiles of the results that are kept can be computed in place,
        and all that is read by indices is in the outer memory.
        """
        tiling = self.tiling
        if any(
            op.operands[0] in keeping.inner_inputs for op in tiling.gathered_operations
        ):
            return False
        pairs = zip(tiling.results, tiling.result_tiles, strict=True)
        return not tiling.loops or all(
            _is_exact_cover(tiling, value, piece)
            for value, piece in pairs
            if value in keeping.retained
        )

    def cost_of(
        self, stages: int, footprint: Footprint, keeping: Residency = NO_RESIDENCY
    ) -> OuterCost:
        """Return the cost of the group with these buffers."""
        ahead, inside = ChannelTraffic(), dict[int, ChannelTraffic]()
        once: dict[SSAValue, ChannelTraffic] = {}
        for value, depth, moved in self.loads_with_residency(keeping):
            if depth:
                inside[depth] = inside.get(depth, ChannelTraffic()) + moved
            elif value in keeping.early:
                ahead += moved
            else:
                once[value] = once.get(value, ChannelTraffic()) + moved
        back = {v: each for v, each in self.stores if v not in keeping.unstored}
        stores = sum(back.values(), ChannelTraffic())
        return OuterCost(
            sum((*once.values(), *inside.values()), ahead),
            ahead,
            any(each.bytes for each in inside.values()),
            stores,
            footprint,
            lambda: self.compute_cycles,
            lambda: self.time_from_first_load(stages, once, inside, back),
        )

    def loads_with_residency(
        self, keeping: Residency = NO_RESIDENCY
    ) -> Iterator[tuple[SSAValue, int, ChannelTraffic]]:
        """Yield the loads of each input, with the depth of the loops around them."""
        near = keeping.inner_inputs
        for value, depth, moved in self._loads:
            if value not in near:
                yield value, depth, moved
        for value in keeping.loaded:
            yield value, 0, self._load_whole(value)

    def _load_whole(self, value: SSAValue) -> ChannelTraffic:
        """Return the traffic of loading a whole input."""
        if value not in self._whole_loads:
            shape = tensor_type(value).get_shape()
            whole = tuple(Interval.whole(extent) for extent in shape)
            self._whole_loads[value] = self._movements.load_traffic(value, whole)
        return self._whole_loads[value]

    @property
    def tile_count(self) -> int:
        """Number of tiles."""
        return prod(loop.trips for loop in self.tiling.loops.values())

    @cached_property
    def compute_cycles(self) -> float:
        """The cycles of all computation."""
        tiling, before, starts = self.tiling, 0.0, 0
        if tiling.prefetch_distances:
            body = self._serial_tile_cycles(tiling)
        else:
            body = sum(self._cycles_by_nest.values())
        if tiling.prologue is not None and tiling.rolling_loop is not None:
            starts = self.tile_count // tiling.rolling_loop.trips
            before = self._serial_tile_cycles(tiling.prologue)
        return body * self.tile_count + before * starts

    def _serial_tile_cycles(self, tiling: GroupTiling) -> float:
        """The cycles in which tiles are computed one after the other."""
        done = self.steps.transfers_of(tiling.tiles)
        return self.model.compute_cycles(tiling, self.nests, done)

    @cached_property
    def _cycles_by_nest(self) -> dict[int, float]:
        """The cycles of each nest over nearer tiles, for a tile."""
        done = self.steps.transfers_of(self.tiling.tiles)
        each = self.model.cycles_by_nest(self.tiling, self.nests, done)
        return {
            number: cycles
            * (self.pieces if is_in_stage_loop(self.tiling, number) else 1)
            for number, cycles in each.items()
        }

    @cached_property
    def stores(self) -> tuple[tuple[SSAValue, ChannelTraffic], ...]:
        """The stores of each result."""
        pairs = zip(self.tiling.results, self.tiling.result_tiles, strict=True)
        return tuple(
            (value, self._movements.store_traffic(value, piece))
            for value, piece in pairs
        )

    @cached_property
    def _loads(self) -> tuple[tuple[SSAValue, int, ChannelTraffic], ...]:
        """The loads of each input, with the depth of the loops around them."""
        return tuple(self._find_loads())

    def _find_loads(self) -> Iterator[tuple[SSAValue, int, ChannelTraffic]]:
        tiling, movements = self.tiling, self._movements
        for (value, _), boxes in tiling.reads.items():
            for number, box in enumerate(boxes):
                window = tiling.windows.get((value, number))
                if window is None:
                    yield (
                        value,
                        movements.loop_depth(box),
                        movements.load_traffic(value, box),
                    )
                    continue
                yield (
                    value,
                    len(movements.loops),
                    movements.load_traffic(value, window.new_part),
                )
        for op in tiling.gathered_operations:
            depth = len(movements.outer)
            yield op.results[0], depth, movements.gather_traffic(tiling.tiles[op])
        yield from self._initial_window_loads()

    def _initial_window_loads(self) -> Iterator[tuple[SSAValue, int, ChannelTraffic]]:
        """Yield the loads for the initial windows, before the first iteration."""
        tiling, rolled = self.tiling, self.tiling.rolling_loop
        if tiling.prologue is None or rolled is None:
            return
        for key, boxes in tiling.prologue.reads.items():
            later = tiling.reads.get(key, boxes)
            if later is boxes or any(is_moved_by(each, (rolled,)) for each in later):
                for box in boxes:
                    depth = len(self._movements.loops)
                    yield key[0], depth, self._movements.load_traffic(key[0], box)

    def time_from_first_load(
        self,
        stages: int,
        once: Mapping[SSAValue, ChannelTraffic],
        loads: Mapping[int, ChannelTraffic],
        stores: Mapping[SSAValue, ChannelTraffic],
    ) -> float:
        """Return the cycles from the first load that no earlier group can issue."""
        tiles = self.tile_count
        first = sum(each.cycles for each in once.values())
        load = sum(each.cycles for each in loads.values()) / tiles
        store = sum(each.cycles for each in stores.values()) / tiles
        coming = self.model.latency if once or load else 0
        going = self.model.latency if stores else 0
        if self.tiling.inner_loops:
            return (
                coming
                + first
                + tiles * (self._staged_reduction_cycles(stages, load) + store)
                + going
            )
        if tiles == 1:
            return coming + going + self._single_tile_cycles(once, stores)
        work = self.compute_cycles / tiles
        if stages == 1:
            wait = self.model.latency if load else going
            return first + coming + going + tiles * (load + work + store + wait) - wait
        arrives = load + self.model.latency if load else 0
        slots = work + max(arrives, store + going)
        steady = max(
            (tiles - 1) * max(load + store, work), (tiles - 1) // stages * slots
        )
        again = self._restart_cycles(stages, loads, store)
        return coming + first + load + steady + work + store + going + again

    def _restart_cycles(
        self, stages: int, loads: Mapping[int, ChannelTraffic], store: float
    ) -> float:
        """Return the cycles that restarting inner loops adds for each outer tile."""
        loops = self._movements.outer
        outer = max((depth for depth in loads if depth < len(loops)), default=0)
        if not outer:
            return 0
        times = prod(loop.trips for loop in loops[:outer])
        kept = sum(n.cycles for depth, n in loads.items() if depth <= outer) / times
        load = sum(n.cycles for depth, n in loads.items() if depth > outer)
        turn = self.model.latency + load / self.tile_count + store
        return (times - 1) * turn + (min(stages, times) - 1) * kept

    def _staged_reduction_cycles(self, stages: int, load: float) -> float:
        """
        The cycles of a tile whose reduction comes in pieces, which `load` is moved for:
        the next one while one is added. Nothing of other tiles overlaps them.
        """
        work = sum(
            cycles
            for number, cycles in self._cycles_by_nest.items()
            if is_in_stage_loop(self.tiling, number)
        )
        latency, pieces = self.model.latency, self.pieces
        around = sum(self._cycles_by_nest.values()) - work
        work, load = work / pieces, load / pieces
        turn = latency + load + work
        if stages == 1:
            return around + pieces * turn
        steady = max((pieces - 1) * max(load, work), (pieces - 1) // stages * turn)
        return around + turn + steady

    def _single_tile_cycles(
        self,
        loads: Mapping[SSAValue, ChannelTraffic],
        stores: Mapping[SSAValue, ChannelTraffic],
    ) -> float:
        """
        The cycles of the only tile: each nest waits for the one before, and for what it
        and they read, which is loaded in this order; results are stored as they come.
        """
        needed: dict[int, float] = {}
        for value, moved in loads.items():
            first = self.steps.first_use_of(value)
            needed[first] = needed.get(first, 0.0) + moved.cycles
        made: dict[int, float] = {}
        for value, moved in stores.items():
            owner = value.owner
            number = self.nests[owner] if isinstance(owner, Operation) else 0
            made[number] = made.get(number, 0.0) + moved.cycles
        work = self._cycles_by_nest
        time = loaded = stored = 0.0
        for number in sorted({*work, *needed, *made}):
            loaded += needed.get(number, 0.0)
            time = max(time, loaded) + work.get(number, 0.0)
            if number in made:
                stored = max(time, stored) + made[number]
        return max(time, stored)


def _is_exact_cover(tiling: GroupTiling, value: SSAValue, piece: Box) -> bool:
    """Return `True` if tiles make up a result, each with no more than its piece."""
    owner = value.owner
    if not isinstance(owner, Operation) or (value, 0) in tiling.windows:
        return False
    if not is_same_box(tiling.tiles[owner].result, piece):
        return False
    shape = tensor_type(value).get_shape()
    ends = map(max_end, piece)
    return all(end == extent for end, extent in zip(ends, shape, strict=True))
