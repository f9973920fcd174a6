"""
Cost model of a group whose tiles are moved to an outer NPU level and computed in inner
ones.

The moves of all tiles share the channel of the outer memory; while one tile is
computed, the next one is loaded. With `tL`, `tC` and `tS` for a tile that is loaded,
computed and stored, `n` tiles take `tL + (n - 1) max(tL + tS, tC) + tC + tS`, or longer
if slots are not free in time. There is one slot for each of `s` iterations in flight. A
tile is loaded into its slot, with an additional latency `w`, and computed from it, so
that the tiles of one slot take `tL + w + tC` each, and `tC + tS + w` each where they
are stored from it: `floor((n - 1) / s)` times.
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
    Cost of a group. The traffic is known at construction; the time is computed on
    demand.
    """

    loads: ChannelTraffic
    ahead: ChannelTraffic
    """Early loads, which `loads` includes."""
    in_loops: bool
    """True if loops load tiles; loads of later groups cannot precede these."""
    stores: ChannelTraffic
    footprint: Footprint
    _find_compute: Callable[[], float] = field(repr=False, compare=False)
    _find_time: Callable[[], float] = field(repr=False, compare=False)
    """
    Cycles if early loads are complete before, and moves overlap as far as possible.
    """

    @property
    def early_cycles(self) -> int:
        """Cycles of early loads."""
        return round(self.ahead.cycles)

    @property
    def payload_bytes(self) -> int:
        """Payload of the outer memory."""
        return self.loads.bytes + self.stores.bytes

    @property
    def channel_cycles(self) -> float:
        """Cycles of the channel."""
        return self.loads.cycles + self.stores.cycles

    @cached_property
    def total_cycles(self) -> int:
        """Total cycles, at least those of all moves."""
        return round(max(self._exact_cycles, self.channel_cycles))

    @cached_property
    def cycles_after_prefetch(self) -> int:
        """Cycles if early loads are complete before the group starts."""
        return round(max(self._exact_cycles, self.channel_cycles - self.ahead.cycles))

    @cached_property
    def compute_cycles(self) -> float:
        """Cycles of all computation without stalls."""
        return self._find_compute()

    @cached_property
    def _exact_cycles(self) -> float:
        return self._find_time()

    @property
    def idle_cycles(self) -> int:
        """Cycles in which the channel is idle, with early loads complete."""
        return max(
            0,
            round(
                self.cycles_after_prefetch - (self.channel_cycles - self.early_cycles)
            ),
        )


class TiledGroup:
    """
    A tiled group, with cost estimates for any number of iterations in flight and any
    residency.
    """

    def __init__(
        self,
        model: OuterModel,
        tiling: GroupTiling,
        nests: Nests,
        steps: ExecutionSteps | None = None,
    ) -> None:
        """
        `nests` are the nests over inner tiles. `steps` are the steps of all operations,
        computed unless given.
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
        """Return the buffers of the group in the level."""
        whole = keeping.loaded | keeping.retained
        buffers = TileBuffers(
            self.tiling, self.nests, keeping.resident, whole, self.steps
        )
        return buffers.footprint_of(iterations_in_flight(self.tiling, stages))

    def is_legal(self, keeping: Residency) -> bool:
        """
        Return `True` if tiles of retained results can be computed in place, and all
        operands read by indices are in the outer memory.
        """
        tiling = self.tiling
        if any(
            op.operands[0] in keeping.inner_inputs for op in tiling.gathered_operations
        ):
            return False
        pairs = zip(tiling.results, tiling.result_tiles, strict=True)
        return not tiling.loops or all(
            _is_exact_cover(tiling, value, box)
            for value, box in pairs
            if value in keeping.retained
        )

    def cost_of(
        self, stages: int, footprint: Footprint, keeping: Residency = NO_RESIDENCY
    ) -> OuterCost:
        """Return the cost of the group with the given buffers."""
        early, in_loops = ChannelTraffic(), dict[int, ChannelTraffic]()
        outside: dict[SSAValue, ChannelTraffic] = {}
        for value, depth, traffic in self.loads_with_residency(keeping):
            if depth:
                in_loops[depth] = in_loops.get(depth, ChannelTraffic()) + traffic
            elif value in keeping.early:
                early += traffic
            else:
                outside[value] = outside.get(value, ChannelTraffic()) + traffic
        stored = {v: each for v, each in self.stores if v not in keeping.unstored}
        stores = sum(stored.values(), ChannelTraffic())
        return OuterCost(
            sum((*outside.values(), *in_loops.values()), early),
            early,
            any(each.bytes for each in in_loops.values()),
            stores,
            footprint,
            lambda: self.compute_cycles,
            lambda: self.time_from_first_load(stages, outside, in_loops, stored),
        )

    def loads_with_residency(
        self, keeping: Residency = NO_RESIDENCY
    ) -> Iterator[tuple[SSAValue, int, ChannelTraffic]]:
        """Yield the loads of each input, with the depth of the surrounding loops."""
        resident = keeping.inner_inputs
        for value, depth, traffic in self._loads:
            if value not in resident:
                yield value, depth, traffic
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
        """Cycles of all computation."""
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
        """Return the cycles of tiles that are computed sequentially."""
        transfers = self.steps.transfers_of(tiling.tiles)
        return self.model.compute_cycles(tiling, self.nests, transfers)

    @cached_property
    def _cycles_by_nest(self) -> dict[int, float]:
        """Cycles of each nest over inner tiles, for a tile."""
        transfers = self.steps.transfers_of(self.tiling.tiles)
        each = self.model.cycles_by_nest(self.tiling, self.nests, transfers)
        return {
            nest: cycles * (self.pieces if is_in_stage_loop(self.tiling, nest) else 1)
            for nest, cycles in each.items()
        }

    @cached_property
    def stores(self) -> tuple[tuple[SSAValue, ChannelTraffic], ...]:
        """Stores of each result."""
        pairs = zip(self.tiling.results, self.tiling.result_tiles, strict=True)
        return tuple(
            (value, self._movements.store_traffic(value, box)) for value, box in pairs
        )

    @cached_property
    def _loads(self) -> tuple[tuple[SSAValue, int, ChannelTraffic], ...]:
        """Loads of each input, with the depth of the surrounding loops."""
        return tuple(self._find_loads())

    def _find_loads(self) -> Iterator[tuple[SSAValue, int, ChannelTraffic]]:
        tiling, movements = self.tiling, self._movements
        for (value, _), boxes in tiling.reads.items():
            for index, box in enumerate(boxes):
                window = tiling.windows.get((value, index))
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
        tiling, sliding = self.tiling, self.tiling.rolling_loop
        if tiling.prologue is None or sliding is None:
            return
        for key, boxes in tiling.prologue.reads.items():
            later = tiling.reads.get(key, boxes)
            if later is boxes or any(is_moved_by(each, (sliding,)) for each in later):
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
        initial = sum(each.cycles for each in once.values())
        load = sum(each.cycles for each in loads.values()) / tiles
        store = sum(each.cycles for each in stores.values()) / tiles
        load_latency = self.model.latency if once or load else 0
        store_latency = self.model.latency if stores else 0
        if self.tiling.inner_loops:
            return (
                load_latency
                + initial
                + tiles * (self._staged_reduction_cycles(stages, load) + store)
                + store_latency
            )
        if tiles == 1:
            return load_latency + store_latency + self._single_tile_cycles(once, stores)
        work = self.compute_cycles / tiles
        if stages == 1:
            wait = self.model.latency if load else store_latency
            return (
                initial
                + load_latency
                + store_latency
                + tiles * (load + work + store + wait)
                - wait
            )
        load_time = load + self.model.latency if load else 0
        slots = work + max(load_time, store + store_latency)
        steady = max(
            (tiles - 1) * max(load + store, work), (tiles - 1) // stages * slots
        )
        restart = self._restart_cycles(stages, loads, store)
        return (
            load_latency
            + initial
            + load
            + steady
            + work
            + store
            + store_latency
            + restart
        )

    def _restart_cycles(
        self, stages: int, loads: Mapping[int, ChannelTraffic], store: float
    ) -> float:
        """Return the cycles that restarting inner loops adds for each outer tile."""
        loops = self._movements.outer
        outer = max((depth for depth in loads if depth < len(loops)), default=0)
        if not outer:
            return 0
        times = prod(loop.trips for loop in loops[:outer])
        hoisted = sum(n.cycles for depth, n in loads.items() if depth <= outer) / times
        load = sum(n.cycles for depth, n in loads.items() if depth > outer)
        iteration = self.model.latency + load / self.tile_count + store
        return (times - 1) * iteration + (min(stages, times) - 1) * hoisted

    def _staged_reduction_cycles(self, stages: int, load: float) -> float:
        """
        Return the cycles of a tile with a staged reduction: the next reduction tile is
        loaded while one is accumulated. `load` is the channel cycles of all stages.
        Other tiles do not overlap.
        """
        work = sum(
            cycles
            for nest, cycles in self._cycles_by_nest.items()
            if is_in_stage_loop(self.tiling, nest)
        )
        latency, pieces = self.model.latency, self.pieces
        outside = sum(self._cycles_by_nest.values()) - work
        work, load = work / pieces, load / pieces
        stage = latency + load + work
        if stages == 1:
            return outside + pieces * stage
        steady = max((pieces - 1) * max(load, work), (pieces - 1) // stages * stage)
        return outside + stage + steady

    def _single_tile_cycles(
        self,
        loads: Mapping[SSAValue, ChannelTraffic],
        stores: Mapping[SSAValue, ChannelTraffic],
    ) -> float:
        """
        Return the cycles of a single tile: each nest waits for the previous one, and
        for the operands of both, which are loaded in this order; results are stored as
        they are computed.
        """
        operands: dict[int, float] = {}
        for value, traffic in loads.items():
            first = self.steps.first_use_of(value)
            operands[first] = operands.get(first, 0.0) + traffic.cycles
        results: dict[int, float] = {}
        for value, traffic in stores.items():
            owner = value.owner
            nest = self.nests[owner] if isinstance(owner, Operation) else 0
            results[nest] = results.get(nest, 0.0) + traffic.cycles
        work = self._cycles_by_nest
        time = loaded = stored = 0.0
        for nest in sorted({*work, *operands, *results}):
            loaded += operands.get(nest, 0.0)
            time = max(time, loaded) + work.get(nest, 0.0)
            if nest in results:
                stored = max(time, stored) + results[nest]
        return max(time, stored)


def _is_exact_cover(tiling: GroupTiling, value: SSAValue, piece: Box) -> bool:
    """Return `True` if the tiles partition a result, each equal to its `piece`."""
    owner = value.owner
    if not isinstance(owner, Operation) or (value, 0) in tiling.windows:
        return False
    if not is_same_box(tiling.tiles[owner].result, piece):
        return False
    shape = tensor_type(value).get_shape()
    ends = map(max_end, piece)
    return all(end == extent for end, extent in zip(ends, shape, strict=True))
