"""
Cost model of a group in the innermost NPU level: loops and instructions built from its
tiling for event simulation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from tlf.analysis.buffers.core_loops import parallel_speedup
from tlf.analysis.tiling.box_covering import innermost_moving_depth
from tlf.analysis.tiling.cascade_tiles import is_corrected_after_loop, is_loop_carried
from tlf.analysis.tiling.fused_rounding import contractions_by_fused_rounding
from tlf.analysis.tiling.group_tiling import (
    GroupTiling,
    LoopLevel,
    TiledOperation,
    TileLoop,
)
from tlf.dialects.interfaces import ConstantInterface, IndexedReadInterface
from tlf.machine.instruction_costs import Cost
from tlf.planner.cost.npu.event_program import Buffer, Item, Loop, Task
from tlf.planner.cost.npu.in_place_buffers import InPlaceBuffers
from tlf.planner.cost.npu.iterations_in_flight import IterationsInFlight
from tlf.planner.cost.npu.running_totals import RunningTotalCosts
from tlf.planner.cost.npu.tile_instructions import TileInstructions
from tlf.planner.cost.npu.transfer_costs import TransferCosts
from tlf.support.affine.index_access import Box

Sizes: TypeAlias = tuple[int, ...]


class NestProgram:
    """
    Builder of the loops of a group for the cost model: the share of one core, by
    `mem-distribute-to-cores`, where all cores share the outer memory. Products in
    `early_products` are issued before their own iteration if several iterations
    overlap. Without `in_place`, the instructions access no buffers, for estimates that
    need their costs only.
    """

    def __init__(
        self,
        tiling: GroupTiling,
        transfer_costs: TransferCosts,
        tile_instructions: TileInstructions,
        in_flight: IterationsInFlight,
        in_place: InPlaceBuffers | None,
        early_products: Collection[Operation] = (),
    ) -> None:
        self.tiling = tiling
        self.moves = transfer_costs
        self.work = tile_instructions
        self.stages = in_flight.tiles
        self.pieces = in_flight.reduce_stages
        self.in_place = in_place
        self.rounded = (
            contractions_by_fused_rounding(tiling)
            if in_place is None
            else in_place.rounded
        )
        self.loops = [loop for loop in tiling.loops.values()]
        self.dealt: int | None = None
        self._moving_depths: list[int] = []
        """Depth of the innermost loop that moves each tile loaded outside of loops."""
        self._nests: dict[int, int] = {}
        """Range of loop indices of each nest, outermost first."""
        self._loaded_tiles: dict[LoopLevel, list[tuple[SSAValue, int, Box]]] = {}
        self._read_buffers: dict[SSAValue, tuple[Buffer, ...]] = {}
        self._early = early_products

    def build_program(self, loop_order: Sequence[int] = ()) -> list[Item]:
        """Build the items to simulate, with loops in `loop_order`; empty: as given."""
        loops = (
            [self.loops[index] for index in loop_order] if loop_order else self.loops
        )
        self._moving_depths = [
            innermost_moving_depth(box, loops)
            for _, _, box in self._tiles_loaded_at_level(LoopLevel.OUTER)
        ]
        self._nests = dict(self._loop_ranges_of_nests(len(loops)))
        self.dealt = self._find_distributed_loop(loops)
        if self.dealt is None:
            return list(self._build_loops_from(loops, 0))
        cores = self.moves.costs.machine.cores
        return list(
            multiply_port_time_by_cores(self._build_loops_from(loops, 0), cores)
        )

    def _find_distributed_loop(self, loops: Sequence[TileLoop]) -> int | None:
        """Return the index of the loop that is distributed to cores, or `None`."""
        if (cores := self.moves.costs.machine.cores) == 1:
            return None
        speedups = {
            first: parallel_speedup(
                prod(loop.trips for loop in loops[first:last]), cores
            )
            for first, last in self._nests.items()
        }
        best = max(speedups, key=lambda first: speedups[first], default=None)
        return best if best is not None and speedups[best] > 1 else None

    def _loop_ranges_of_nests(self, loop_count: int) -> Iterator[tuple[int, int]]:
        """
        Yield the range of loop indices of each nest, outermost nest first. Loops
        between which a tile is loaded are in different nests.
        """
        inside = {depth for depth in self._moving_depths if 0 < depth < loop_count}
        starts = (0, *sorted(inside), loop_count) if loop_count else ()
        yield from pairwise(starts)

    def _build_loops_from(
        self, loops: Sequence[TileLoop], depth: int
    ) -> Iterator[Item]:
        """
        Yield the loops from index `depth` on, after the loads of tiles just outside of
        them.
        """
        loads = list(self._load_tiles_at_depth(depth))
        if depth == len(loops):
            yield from self._build_iteration_body(loads)
            return
        yield from loads
        last = self._nests[depth]
        trips = prod(loop.trips for loop in loops[depth:last])
        if depth == self.dealt:
            trips = -(-trips // self.moves.costs.machine.cores)
        body = tuple(self._build_loops_from(loops, last))
        slots = min(self.stages, trips)
        yield Loop(
            trips, body, _buffers_written_by(body) if slots > 1 else frozenset(), slots
        )

    def _tiles_loaded_at_level(
        self, loop_level: LoopLevel
    ) -> list[tuple[SSAValue, int, Box]]:
        """
        Return the tiles loaded in a scope, in order of their first use if the order of
        instructions matters.
        """
        if (known := self._loaded_tiles.get(loop_level)) is None:
            known = [
                (value, index, box)
                for (value, slice_scope), boxes in self.tiling.reads.items()
                if slice_scope is loop_level
                for index, box in enumerate(boxes)
            ]
            if self.in_place is not None:
                known.sort(key=lambda each: self._first_use_step(each[0]))
            self._loaded_tiles[loop_level] = known
        return known

    def _first_use_step(self, value: SSAValue) -> int:
        users = (use.operation for use in value.uses)
        steps = (self._steps[user] for user in users if user in self._steps)
        return min(steps, default=0)

    @cached_property
    def _steps(self) -> dict[Operation, int]:
        """Position of each operation in the order of execution."""
        return {op: step for step, op in enumerate(self.tiling.tiles)}

    def _load_tiles_at_depth(self, depth: int) -> Iterator[Task]:
        """
        Yield the loads of tiles that move innermost with the loop at `depth - 1`, or
        with none at depth 0; those in loops are prefetched.
        """
        tiles = self._tiles_loaded_at_level(LoopLevel.OUTER)
        ahead = self.stages - 1 if depth else 0
        for (value, number, box), moving_depth in zip(
            tiles, self._moving_depths, strict=True
        ):
            if moving_depth == depth:
                yield Task(
                    self.moves.load_cost_of(value, box), (), ((value, number),), ahead
                )

    def _build_iteration_body(self, tile_loads: Sequence[Task]) -> Iterator[Item]:
        """
        Yield the items of an iteration, with `tile_loads`, the loads of its tiles. A
        prefetched tile that is used only after the reduction loop is loaded after that
        loop, so that it does not delay the loads of the loop.
        """
        inner = bool(self.tiling.inner_loops)
        slots = min(self.stages, prod(loop.trips for loop in self.loops))
        early = () if inner else self._prefetched_products(slots)
        deferred = [
            cut
            for cut in tile_loads
            if cut.prefetch_distance and self._is_used_after_reduction(cut)
        ]
        yield from (cut for cut in tile_loads if cut not in deferred)
        for op in early:
            yield from self._compute_tile(self.tiling.tiles[op], slots - 1)
        for tiled in self.tiling.tiles.values():
            if tiled.loop_level is LoopLevel.INNER or tiled.op in early:
                continue
            if inner and tiled.op is self.tiling.anchor:
                yield from self._build_reduction_loop(tiled)
                yield from deferred
            else:
                yield from self._compute_tile(tiled)
        for value, box in zip(
            self.tiling.results, self.tiling.result_tiles, strict=True
        ):
            cost = self.moves.store_cost_of(value, box)
            yield Task(cost, self._buffers_of_read_boxes(value), ())

    def _is_used_after_reduction(self, tile_load: Task) -> bool:
        """Return `True` if a tile is used only after the reduction loop."""
        anchor = self.tiling.anchor
        if anchor is None or not self.tiling.inner_loops:
            return False
        operations = list(self.tiling.tiles)
        above = operations[: 1 + operations.index(anchor)]
        inside = [
            each
            for op, each in self.tiling.tiles.items()
            if op in above or each.loop_level is LoopLevel.INNER
        ]
        buffers = set(tile_load.writes)
        return not any(
            buffers.intersection(self._operand_buffers(each)) for each in inside
        )

    def _build_reduction_loop(self, anchor: TiledOperation) -> Iterator[Item]:
        """
        Yield the loop over reduction tiles, and the updates of a cascade around it.
        """
        trips = prod(loop.trips for loop in self.tiling.inner_loops.values())
        slots = min(self.pieces, trips)
        body = [
            *self._load_reduction_tiles(slots - 1),
            *self._build_reduction_body(anchor, slots),
        ]
        prefetched = frozenset(
            buffer for task in body if task.prefetch_distance for buffer in task.writes
        )
        for each in self.tiling.tiles.values():
            if self.tiling.is_row_operation(each.op) and is_loop_carried(
                self.tiling, each.op
            ):
                yield from self._compute_tile(each)
        yield Loop(trips, tuple(body), prefetched, slots)
        running = RunningTotalCosts(self.tiling, self.work)
        for op, each in self.tiling.tiles.items():
            yield from (
                self._update_accumulator(op, e) for e in running.clamp_costs_of(op)
            )
            if is_corrected_after_loop(self.tiling, op):
                yield from (
                    self._update_accumulator(op, e)
                    for e in running.correction_costs_of(op)
                )
            if each.is_recomputed:
                yield from self._compute_tile(each)

    def _load_reduction_tiles(self, prefetch_distance: int) -> Iterator[Task]:
        """Yield a load task for each tile that a reduction reads in every iteration."""
        for value, number, box in self._tiles_loaded_at_level(LoopLevel.INNER):
            buffer = value, number, LoopLevel.INNER
            yield Task(
                self.moves.load_cost_of(value, box), (), (buffer,), prefetch_distance
            )

    def _build_reduction_body(
        self, anchor: TiledOperation, slot_count: int
    ) -> Iterator[Task]:
        """
        Yield the computation of an iteration of a reduction, early products first.
        """
        running = RunningTotalCosts(self.tiling, self.work)
        early = self._prefetched_products(slot_count)
        inside = [
            each
            for each in self.tiling.tiles.values()
            if each is anchor or each.loop_level is LoopLevel.INNER
        ]
        for each in inside:
            if each.op in early:
                yield from self._compute_tile(each, slot_count - 1)
        for each in inside:
            yield from (
                self._update_accumulator(each.op, e)
                for e in running.clamp_costs_of(each.op)
            )
        for each in inside:
            yield from (
                self._update_accumulator(each.op, e)
                for e in running.correction_costs_of(each.op)
            )
            if each.op not in early:
                yield from self._compute_tile(each)
            yield from (
                self._update_accumulator(each.op, e)
                for e in running.clamp_costs_of(each.op)
            )

    def _prefetched_products(self, slot_count: int) -> Collection[Operation]:
        """Return the products that are issued before their own iteration."""
        return self._early if slot_count > 1 else ()

    def _update_accumulator(self, op: Operation, cost: Cost) -> Task:
        """Return the task that updates an operation's accumulator."""
        buffers = self._buffers_of_read_boxes(op.results[0])
        return Task(cost, buffers, buffers)

    def _compute_tile(
        self, tiled: TiledOperation, prefetch_distance: int = 0
    ) -> Iterator[Task]:
        """
        Yield the instructions that compute, fill or gather the tile of an operation;
        none for a cast that is fused into a product.
        """
        op = tiled.op
        if op in self.rounded:
            return
        reads = tuple(self._operand_buffers(tiled))
        if tiled.is_moved:
            yield self._gather_tile(tiled, reads)
            return
        is_result = op.results[0] in self.tiling.results
        is_filled = is_result and isinstance(op, ConstantInterface)
        for cost in (
            self.work.constant_fill_costs_of(tiled)
            if is_filled
            else self.work.instruction_costs_of(tiled)
        ):
            yield Task(
                cost,
                reads,
                self._buffers_of_read_boxes(op.results[0]),
                prefetch_distance,
            )

    def _gather_tile(
        self, tiled: TiledOperation, read_buffers: tuple[Buffer, ...]
    ) -> Task:
        """Return the move that gathers an operation's operand by indices."""
        op = tiled.op
        assert isinstance(op, IndexedReadInterface)
        cost = self.moves.gather_cost_of(op, tiled.result)
        index_reads = tuple(
            each for each in read_buffers if each not in (op.operands[0],)
        )
        ahead = self.stages - 1 if self.loops else 0
        return Task(
            cost, index_reads, self._buffers_of_read_boxes(op.results[0]), ahead
        )

    def _operand_buffers(self, tiled: TiledOperation) -> Iterator[Buffer]:
        if self.in_place is None:
            return
        for operand in dict.fromkeys(tiled.op.operands):
            yield from self._buffers_of_read_boxes(operand)

    def _buffers_of_read_boxes(self, value: SSAValue) -> tuple[Buffer, ...]:
        """Return the buffers of a value, one for each box in which it is read."""
        if self.in_place is None:
            return ()
        owner = self.in_place.buffer_owner_of(value)
        if (known := self._read_buffers.get(owner)) is None:
            boxes = [
                (owner, index, scope) if scope is LoopLevel.INNER else (owner, index)
                for scope in LoopLevel
                for index, _ in enumerate(self.tiling.reads.get((owner, scope), ()))
            ]
            known = self._read_buffers[owner] = tuple(boxes) or (owner,)
        return known


def multiply_port_time_by_cores(items: Iterable[Item], cores: int) -> Iterator[Item]:
    """Multiply the shared port time of a core's moves by the number of cores."""
    for item in items:
        if isinstance(item, Loop):
            yield item._replace(
                body=tuple(multiply_port_time_by_cores(item.body, cores))
            )
            continue
        shared = tuple(
            (port, cycles * cores) for port, cycles in item.cost.channel_occupancy
        )
        yield item._replace(cost=replace(item.cost, channel_occupancy=shared))


def _buffers_written_by(body: Sequence[Item]) -> frozenset[Buffer]:
    """Return the buffers that a body writes, except those slotted by inner loops."""
    buffers: set[Buffer] = set()
    for item in body:
        if isinstance(item, Task):
            buffers.update(item.writes)
        else:
            buffers |= _buffers_written_by(item.body) - item.multi_buffers
    return frozenset(buffers)
