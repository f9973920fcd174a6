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

from tlf.analysis.tiling.box_covering import is_box_moved_by
from tlf.analysis.tiling.group_tiling import (
    GroupTiling,
    is_same_box,
    max_end,
)
from tlf.dialects.types import tensor_type
from tlf.planner.cost.npu.channel_traffic import ChannelTraffic, GroupTransferTraffic
from tlf.planner.cost.npu.execution_steps import ExecutionSteps
from tlf.planner.cost.npu.iterations_in_flight import outer_iterations_in_flight
from tlf.planner.cost.npu.level_residency import NO_RESIDENCY, Residency
from tlf.planner.cost.npu.nest_prediction import Nests, assign_nest_indices
from tlf.planner.cost.npu.outer_model import OuterCostModel
from tlf.planner.cost.npu.reduce_stages import (
    is_nest_in_stage_loop,
    reduce_stage_count,
    split_nests_at_stage_loop,
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
    early_loads: ChannelTraffic
    """Early loads, which `loads` includes."""
    has_loads_in_loops: bool
    """True if loops load tiles; loads of later groups cannot precede these."""
    stores: ChannelTraffic
    footprint: Footprint
    _compute_cycles_on_demand: Callable[[], float] = field(repr=False, compare=False)
    _exact_cycles_on_demand: Callable[[], float] = field(repr=False, compare=False)
    """
    Cycles if early loads are complete before, and moves overlap as far as possible.
    """

    @property
    def early_load_cycles(self) -> int:
        """Cycles of early loads."""
        return round(self.early_loads.cycles)

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
        return round(max(self._cycles_with_full_overlap, self.channel_cycles))

    @cached_property
    def cycles_after_prefetch(self) -> int:
        """Cycles if early loads are complete before the group starts."""
        return round(
            max(
                self._cycles_with_full_overlap,
                self.channel_cycles - self.early_loads.cycles,
            )
        )

    @cached_property
    def compute_cycles(self) -> float:
        """Cycles of all computation without stalls."""
        return self._compute_cycles_on_demand()

    @cached_property
    def _cycles_with_full_overlap(self) -> float:
        return self._exact_cycles_on_demand()

    @property
    def channel_idle_cycles(self) -> int:
        """Cycles in which the channel is idle, with early loads complete."""
        return max(
            0,
            round(
                self.cycles_after_prefetch
                - (self.channel_cycles - self.early_load_cycles)
            ),
        )


class TiledGroup:
    """
    A tiled group, with cost estimates for any number of iterations in flight and any
    residency.
    """

    def __init__(
        self,
        model: OuterCostModel,
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
        self.nests = (
            split_nests_at_stage_loop(tiling, nests) if tiling.inner_loops else nests
        )
        if tiling.prefetch_distances:
            self.nests = assign_nest_indices(tiling.tiles, nests)
        if steps is None or tiling.inner_loops or tiling.prefetch_distances:
            steps = ExecutionSteps(tiling.tiles, self.nests)
        self.steps = steps
        self._movements = GroupTransferTraffic(tiling, model.far)
        self._whole_loads: dict[SSAValue, ChannelTraffic] = {}
        self._known_buffers: dict[
            tuple[frozenset[SSAValue], frozenset[SSAValue]], TileBuffers
        ] = {}

    def footprint_of(
        self, stages: int, residency: Residency = NO_RESIDENCY
    ) -> Footprint:
        """Return the group's buffers in the level for `stages` and a residency."""
        whole = residency.whole_loaded_inputs | residency.retained_results
        key = residency.resident_inputs, whole
        if (buffers := self._known_buffers.get(key)) is None:
            buffers = self._known_buffers[key] = TileBuffers(
                self.tiling, self.nests, *key, self.steps
            )
        return buffers.footprint_of(outer_iterations_in_flight(self.tiling, stages))

    def is_legal_with_residency(self, residency: Residency) -> bool:
        """
        Return `True` if tiles of retained results can be computed in place, and all
        operands read by indices are in the outer memory.
        """
        tiling = self.tiling
        if any(
            op.operands[0] in residency.whole_inputs_in_level
            for op in tiling.gathered_operations
        ):
            return False
        pairs = zip(tiling.results, tiling.result_tiles, strict=True)
        return not tiling.loops or all(
            _has_exact_tile_cover(tiling, value, box)
            for value, box in pairs
            if value in residency.retained_results
        )

    def cost_of(
        self, stages: int, footprint: Footprint, residency: Residency = NO_RESIDENCY
    ) -> OuterCost:
        """Return the group's cost for `stages`, its given buffers and a residency."""
        early, in_loops = ChannelTraffic(), dict[int, ChannelTraffic]()
        outside: dict[SSAValue, ChannelTraffic] = {}
        for value, depth, traffic in self.loads_with_residency(residency):
            if depth:
                in_loops[depth] = in_loops.get(depth, ChannelTraffic()) + traffic
            elif value in residency.early_inputs:
                early += traffic
            else:
                outside[value] = outside.get(value, ChannelTraffic()) + traffic
        stored = {
            v: each
            for v, each in self.stores_by_result
            if v not in residency.unstored_results
        }
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
        self, residency: Residency = NO_RESIDENCY
    ) -> Iterator[tuple[SSAValue, int, ChannelTraffic]]:
        """Yield the loads of each input, with the depth of the surrounding loops."""
        resident = residency.whole_inputs_in_level
        for value, depth, traffic in self._loads_with_depth:
            if value not in resident:
                yield value, depth, traffic
        for value in residency.whole_loaded_inputs:
            yield value, 0, self._traffic_of_whole_load(value)

    def _traffic_of_whole_load(self, value: SSAValue) -> ChannelTraffic:
        """Return the traffic of loading a whole input."""
        if value not in self._whole_loads:
            shape = tensor_type(value).get_shape()
            whole = tuple(Interval.whole(extent) for extent in shape)
            self._whole_loads[value] = self._movements.traffic_of_load(value, whole)
        return self._whole_loads[value]

    @property
    def tile_count(self) -> int:
        """Number of tiles."""
        return prod(loop.trips for loop in self.tiling.loops.values())

    @property
    def iteration_count(self) -> int:
        """Number of reduction tiles of a tile, or of tiles if reductions are whole."""
        inner_loops = self.tiling.inner_loops
        if not inner_loops:
            return self.tile_count
        return prod(loop.trips for loop in inner_loops.values())

    @cached_property
    def compute_cycles(self) -> float:
        """
        Cycles of the inner nests of all tiles, without loads and stores of the group.
        """
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
        if tiling.prefetch_distances:
            transfers = self.steps.inner_transfers_of(tiling.tiles)
            return self.model.compute_cycles_of_tile(tiling, self.nests, transfers)
        cycles = self.model.cycles_by_nest(tiling, self.nests, self.steps)
        order = dict.fromkeys(self.nests[op] for op in tiling.tiles)
        return sum(cycles[nest] for nest in order if nest in cycles)

    @cached_property
    def _cycles_by_nest(self) -> dict[int, float]:
        """Cycles of each inner nest for one tile with all reduce stages, by number."""
        each = self.model.cycles_by_nest(self.tiling, self.nests, self.steps)
        return {
            nest: cycles
            * (self.pieces if is_nest_in_stage_loop(self.tiling, nest) else 1)
            for nest, cycles in each.items()
        }

    @cached_property
    def stores_by_result(self) -> tuple[tuple[SSAValue, ChannelTraffic], ...]:
        """Pairs of each result, in order, and the traffic of all of its stores."""
        pairs = zip(self.tiling.results, self.tiling.result_tiles, strict=True)
        return tuple(
            (value, self._movements.traffic_of_store(value, box))
            for value, box in pairs
        )

    @cached_property
    def _loads_with_depth(self) -> tuple[tuple[SSAValue, int, ChannelTraffic], ...]:
        """Loads of each input, with the depth of the surrounding loops."""
        return tuple(self._find_loads_with_depth())

    def _find_loads_with_depth(self) -> Iterator[tuple[SSAValue, int, ChannelTraffic]]:
        """
        Yield the value, loop depth and traffic of each load: tiles, new parts of
        windows, gathers and initial windows.
        """
        tiling, movements = self.tiling, self._movements
        for (value, _), boxes in tiling.reads.items():
            for index, box in enumerate(boxes):
                window = tiling.windows.get((value, index))
                if window is None:
                    yield (
                        value,
                        movements.depth_of_moving_loop(box),
                        movements.traffic_of_load(value, box),
                    )
                    continue
                yield (
                    value,
                    len(movements.loops),
                    movements.traffic_of_load(value, window.new_part),
                )
        for op in tiling.gathered_operations:
            depth = len(movements.outer)
            yield op.results[0], depth, movements.traffic_of_gather(tiling.tiles[op])
        yield from self._initial_window_loads()

    def _initial_window_loads(self) -> Iterator[tuple[SSAValue, int, ChannelTraffic]]:
        """Yield the loads for the initial windows, before the first iteration."""
        tiling, sliding = self.tiling, self.tiling.rolling_loop
        if tiling.prologue is None or sliding is None:
            return
        for key, boxes in tiling.prologue.reads.items():
            later = tiling.reads.get(key, boxes)
            if later is boxes or any(
                is_box_moved_by(each, (sliding,)) for each in later
            ):
                for box in boxes:
                    depth = len(self._movements.loops)
                    yield key[0], depth, self._movements.traffic_of_load(key[0], box)

    def time_from_first_load(
        self,
        stages: int,
        loads_before_loops: Mapping[SSAValue, ChannelTraffic],
        loads_by_depth: Mapping[int, ChannelTraffic],
        stores: Mapping[SSAValue, ChannelTraffic],
    ) -> float:
        """Return the cycles from the first load that no earlier group can issue."""
        tiles = self.tile_count
        initial = sum(each.cycles for each in loads_before_loops.values())
        load = sum(each.cycles for each in loads_by_depth.values()) / tiles
        store = sum(each.cycles for each in stores.values()) / tiles
        load_latency = self.model.latency if loads_before_loops or load else 0
        store_latency = self.model.latency if stores else 0
        if self.tiling.inner_loops:
            reduction = tiles * (self._staged_reduction_cycles(stages, load) + store)
            return load_latency + initial + reduction + store_latency
        if tiles == 1:
            tile_cycles = self._single_tile_cycles(loads_before_loops, stores)
            return load_latency + store_latency + tile_cycles
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
        restart = self._inner_loop_restart_cycles(stages, loads_by_depth, store)
        start = load_latency + initial + load
        return start + steady + work + store + store_latency + restart

    def _inner_loop_restart_cycles(
        self,
        stages: int,
        loads_by_depth: Mapping[int, ChannelTraffic],
        store_cycles: float,
    ) -> float:
        """Return the cycles that restarting inner loops adds for each outer tile."""
        loops = self._movements.outer
        outer = max(
            (depth for depth in loads_by_depth if depth < len(loops)), default=0
        )
        if not outer:
            return 0
        times = prod(loop.trips for loop in loops[:outer])
        hoisted = (
            sum(n.cycles for depth, n in loads_by_depth.items() if depth <= outer)
            / times
        )
        load = sum(n.cycles for depth, n in loads_by_depth.items() if depth > outer)
        iteration = self.model.latency + load / self.tile_count + store_cycles
        return (times - 1) * iteration + (min(stages, times) - 1) * hoisted

    def _staged_reduction_cycles(self, stages: int, load_cycles: float) -> float:
        """
        Return the cycles of a tile with a staged reduction: the next reduction tile is
        loaded while one is accumulated. `load_cycles` is the channel cycles of all
        stages. Other tiles do not overlap.
        """
        work = sum(
            cycles
            for nest, cycles in self._cycles_by_nest.items()
            if is_nest_in_stage_loop(self.tiling, nest)
        )
        latency, pieces = self.model.latency, self.pieces
        outside = sum(self._cycles_by_nest.values()) - work
        work, load_cycles = work / pieces, load_cycles / pieces
        stage = latency + load_cycles + work
        if stages == 1:
            return outside + pieces * stage
        steady = max(
            (pieces - 1) * max(load_cycles, work), (pieces - 1) // stages * stage
        )
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
            first = self.steps.first_use_step_of(value)
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


def _has_exact_tile_cover(tiling: GroupTiling, value: SSAValue, tile: Box) -> bool:
    """Return `True` if the tiles partition a result, each equal to its `tile`."""
    owner = value.owner
    if not isinstance(owner, Operation) or (value, 0) in tiling.windows:
        return False
    if not is_same_box(tiling.tiles[owner].result, tile):
        return False
    shape = tensor_type(value).get_shape()
    ends = map(max_end, tile)
    return all(end == extent for end, extent in zip(ends, shape, strict=True))
