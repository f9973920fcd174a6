"""Cost model of a GPU kernel: total work of its programs, summed over their tiles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil, inf, prod

from tlf.analysis.tiling.group_tiling import (
    LoopLevel,
    TiledOperation,
    count_elements_of_box,
)
from tlf.dialects.interfaces import IndexedReadInterface
from tlf.planner.cost.gpu.global_traffic import TileTraffic, TrafficModel
from tlf.planner.cost.gpu.gpu_parameters import Chip
from tlf.planner.cost.gpu.kernel_cost import KernelWork, OuterTraffic
from tlf.planner.cost.gpu.outer_traffic import min_outer_traffic_of, outer_traffic_of
from tlf.planner.cost.gpu.program_grid import ProgramGrid
from tlf.planner.cost.gpu.program_resources import ProgramResources, ResourceDemand
from tlf.planner.cost.gpu.reduction_latency import reduction_latency_of
from tlf.planner.cost.gpu.source_products import find_source_product
from tlf.planner.cost.gpu.unit_cycles import NO_CYCLES, UnitCycles
from tlf.planner.cost.loop_ranges import count_reduction_trips
from tlf.planner.settings.gpu_calibration import (
    MATRIX_INSTRUCTIONS,
    TRITON_CALIBRATION,
)


@dataclass
class KernelPrograms:
    """
    Programs of a tiled group, for any number of iterations in flight. Results that do
    not depend on this number are cached.
    """

    chip: Chip
    demand: ResourceDemand
    _work_by_resources: dict[ProgramResources, KernelWork] = field(
        init=False, default_factory=dict[ProgramResources, KernelWork]
    )

    def __post_init__(self) -> None:
        self.tiling, self.arithmetic = self.demand.tiling, self.demand.compute_model
        self.warps = self.demand.warp_count
        self.is_grouped = self.demand.has_matrix_products
        """True if programs run in groups, as around matrix products."""
        scan, self.unrolling = self.tiling.scan_loop, self.demand.unrolling
        loops = [loop for loop in self.tiling.loops.values() if loop is not scan]
        self.scan_trips = 1 if scan is None else scan.trips
        """Iterations of the loop over the tiles of scans."""
        jammed = 1 if self.unrolling is None else self.unrolling.factor
        self.tiles_per_program = self.scan_trips * jammed
        """Tiles that a program computes, one after the other or at once."""
        self.grid = ProgramGrid(loops, self.is_grouped)
        self.program_count = ceil(self.grid.program_count / jammed)
        self.trips = count_reduction_trips(self.tiling)
        """Iterations of the loops of the anchor."""
        self.rounds = self.trips.whole.mean or 1.0
        """Mean number of iterations of the loop of the anchor."""
        self.steps = self.rounds * self._nested_iterations_per_iteration()
        """Iterations of the loop whose loads are in flight."""
        threads = self.warps * self.chip.gpu.warp
        count = prod(loop.trips for loop in self.tiling.inner_loops.values())
        self.accesses = TrafficModel(
            self.tiling,
            self.chip.sector_bytes,
            threads,
            share_of_iterations=self.rounds / count,
            unrolling=self.unrolling,
        )

    def total_work_with(self, resources: ProgramResources) -> KernelWork:
        """Return the total work of all programs with the given resources."""
        if resources not in self._work_by_resources:
            self._work_by_resources[resources] = self._compute_total_work(resources)
        return self._work_by_resources[resources]

    def _compute_total_work(self, resources: ProgramResources) -> KernelWork:
        """Return the traffic of all programs, and the busy cycles of one program."""
        outer, inner = self._moves_per_program, self._moves_per_iteration
        once, repeated = self._cycles_outside_loop, self._cycles_in_loop
        repeated += self._overhead_cycles(inner, resources)
        fill, slowdown = self._first_and_last_byte_latency(), self._issue_slowdown
        step = repeated.with_issue_slowdown(slowdown) * (1 / self.steps)
        waits = self._warp_wait_cycles(step, is_direct := resources.stages == 1)
        is_product, is_looped = self.is_grouped, bool(self.tiling.inner_loops)
        beside = self._beside_loop(once)
        # No other program hides the latency of the first program.
        idle = (once.total_cycles - once.busiest_unit_cycles) / self.tiles_per_program
        exposed = waits if is_looped else idle + waits
        memory = self._outer_traffic_with(resources)
        stored = sum(each.totals.bus_bytes for each in outer if not each.is_read)
        loop = self._reduction_loop_cycles(step, memory, resources)
        alone = once.with_issue_slowdown(slowdown).total_cycles + loop + waits
        return KernelWork(
            self.program_count,
            memory,
            sum(each.totals.cache_bytes for each in (*outer, *inner)),
            beside + repeated,
            fill + alone + self._latency_of_scan_loop,
            fill,
            resources,
            exposed if is_direct or not is_looped else 0.0,
            repeated.warp_issued_cycles if is_direct and is_product else 0.0,
            stored if is_product else 0.0,
            once.elementwise_cycles if is_looped else 0.0,
            loop * (self.trips.whole.greatest / self.rounds - 1),
            self._alternating_cycles(repeated, resources),
            self.demand.has_lane_products,
            self._exchange_cycles(once, loop),
            self._chained_cycles(once + repeated, resources, slowdown),
        )

    def min_cycles_of_computation(self, max_stages: int) -> float:
        """
        Return a lower bound on the cycles of the kernel for any resources and at most
        `max_stages` iterations in flight: those of computation and of waits, for which
        fewer properties of tiles are needed than for moves.
        """
        inside = self._computed_cycles_in_loop
        return self._min_cycles_of(
            self._computed_cycles_outside_loop, inside, max_stages
        )

    def min_cycles_with_moves(
        self, max_stages: int, max_resident: int | None = None
    ) -> float:
        """
        Return a closer bound than `min_cycles_of_computation`, with the moves: each
        byte is read once from the outermost memory. At most `max_resident` programs are
        resident, or as many as have warps.
        """
        moves, chip = [*self._moves_per_program, *self._moves_per_iteration], self.chip
        memory = min_outer_traffic_of(moves, chip)
        outer = (memory.bytes + memory.row_start_bytes) / chip.memory.bandwidth
        cached = sum(each.totals.cache_bytes for each in moves) / chip.cache.bandwidth
        outside, inside = self._cycles_outside_loop, self._cycles_in_loop
        about = outside, inside, max_stages, max(outer, cached)
        return self._min_cycles_of(*about, max_resident)

    def _min_cycles_of(
        self,
        outside: UnitCycles,
        inside: UnitCycles,
        max_stages: int,
        memory_cycles: float = 0.0,
        max_resident: int | None = None,
    ) -> float:
        """
        Return a lower bound, given the cycles of one program outside and in its loop,
        those of memory, and the resident programs: by default, as many as have warps.
        """
        gpu, fill = self.chip.gpu, self._first_and_last_byte_latency()
        per_processor = ceil(self.program_count / self.chip.processors)
        beside = self._beside_loop(outside) + inside
        busy = max(memory_cycles, per_processor * beside.busiest_unit_cycles)
        if self.tiling.inner_loops:
            busy += per_processor * outside.elementwise_cycles
        alone = outside.with_issue_slowdown(self._issue_slowdown).total_cycles
        alone += self._min_loop_cycles(inside, max_stages) + self._latency_of_scan_loop
        alone += fill + self._total_reduction_latency
        resident = max_resident or max(1, min(gpu.programs, gpu.warps // self.warps))
        waves = ceil(self.program_count / (resident * self.chip.processors))
        least = gpu.launch + fill + max(busy, waves * alone - fill)
        return self.fusion_slowdown * least

    def _min_loop_cycles(self, inside: UnitCycles, max_stages: int) -> float:
        """
        Return a lower bound on the cycles of the reduction loop in a program, with its
        waits for memory. Only around matrix products are iterations in flight.
        """
        if not self.tiling.inner_loops:
            return 0.0
        step = inside.with_issue_slowdown(self._issue_slowdown) * (1 / self.steps)
        direct = self._count_single_stage_cycles(step)
        direct += self._warp_wait_cycles(step, has_single_stage=True)
        ahead = inf
        if self.is_grouped:
            ahead = self._cycles_of_loop_ahead(step, max_stages)
            ahead += self._warp_wait_cycles(step, has_single_stage=False)
        return min(direct, ahead) - self._total_reduction_latency

    def _beside_loop(self, cycles: UnitCycles) -> UnitCycles:
        """Return cycles without computation after a loop: programs end together."""
        is_looped = bool(self.tiling.inner_loops)
        return replace(cycles, lanes=0.0, special=0.0) if is_looped else cycles

    @property
    def _issue_slowdown(self) -> float:
        """Factor by which too few warps for all schedulers take longer."""
        return max(1.0, self.chip.gpu.schedulers / self.warps)

    @property
    def _latency_of_scan_loop(self) -> float:
        """Cycles that a program waits in a loop over the tiles of scans."""
        return (self.scan_trips - 1) * self._scan_iteration_latency

    def _exchange_cycles(self, once: UnitCycles, loop: float) -> float:
        """
        Return the cycles of one program that fewer warps may save: exchanges, and reads
        of products by lanes; given its work outside of its loop, and that of the loop.
        """
        reads = loop if self.demand.has_lane_products else 0.0
        exchanges = 0.0 if self.is_grouped else once.shared
        return self._total_reduction_latency + exchanges + reads

    def _alternating_cycles(
        self, repeated: UnitCycles, resources: ProgramResources
    ) -> float:
        """
        Return the cycles of one program in a loop of a cascade in which groups of warps
        alternate between matrix instructions and lanes; 0 in other loops.

        The groups that are resident are the customers of a closed network of two queues
        (Gordon and Newell, *Closed Queuing Systems with Exponential Servers*, 1967).
        """
        if not self.has_alternating_groups:
            return 0.0
        least, most = sorted((repeated.matrix, repeated.lanes))
        groups = self._independent_groups_with(resources.stages)
        groups *= resources.count_resident_programs(self.chip) * self._chain_count
        ratio = min(least / most, 1 - 1e-6)
        return most * (1 - ratio ** (groups + 1)) / (1 - ratio**groups)

    @cached_property
    def _chain_count(self) -> int:
        """Number of products of a loop that read no results of other products."""
        return sum(
            not any(find_source_product(self.tiling, e) for e in tiled.op.operands[:2])
            for tiled in self._accumulated_tiles
            if tiled.facts.is_product
        )

    @cached_property
    def has_alternating_groups(self) -> bool:
        """
        True if the loop of a cascade computes a product by matrix instructions of full
        rate, whose results lanes read in the loop.
        """
        cascade = self.tiling.cascade
        if cascade is None or cascade.has_only_independent_products:
            return False
        return any(
            self.arithmetic.is_full_rate_mma(self.arithmetic.matrix_product_of(tiled))
            for tiled in self._accumulated_tiles
            if tiled.facts.is_product and self._loop_level_of(tiled) is LoopLevel.INNER
        )

    def _chained_cycles(
        self, busy: UnitCycles, resources: ProgramResources, slowdown: float
    ) -> float:
        """
        Return the cycles of one program that more warps may save, given the busy cycles
        of its units: all, if it spills registers or its warps do not reach the units.
        """
        spills = resources.spilled_registers(self.chip)
        return slowdown * busy.total_cycles if slowdown > 1 or spills else 0.0

    @cached_property
    def _moves_per_program(self) -> list[TileTraffic]:
        """Tiles that a program loads or stores once."""
        return list(self._collect_tile_moves(LoopLevel.OUTER))

    @property
    def reads_tiles_outside_loop(self) -> bool:
        """True if a program reads at least half of the bytes that it stores."""
        read, stored = (
            sum(
                each.totals.bus_bytes
                for each in self._moves_per_program
                if each.is_read == is_read
            )
            for is_read in (True, False)
        )
        return 2 * read >= stored

    @cached_property
    def _moves_per_iteration(self) -> list[TileTraffic]:
        """Traffic of each tile that is loaded in every iteration of the reduction."""
        return [
            *self._collect_tile_moves(LoopLevel.INNER),
            *self._collect_tile_moves(LoopLevel.NESTED),
        ]

    @cached_property
    def _computed_cycles_outside_loop(self) -> UnitCycles:
        return self._compute_cycles(LoopLevel.OUTER)

    @cached_property
    def _computed_cycles_in_loop(self) -> UnitCycles:
        return self._compute_cycles(LoopLevel.INNER)

    @cached_property
    def _cycles_outside_loop(self) -> UnitCycles:
        moves = self._moves_per_program
        cycles = self._computed_cycles_outside_loop + self._move_cycles(moves)
        if not self.tiling.inner_loops:
            return cycles
        return cycles + UnitCycles(lanes=self._narrow_store_cycles(moves))

    @cached_property
    def _cycles_in_loop(self) -> UnitCycles:
        moved = self._move_cycles(self._moves_per_iteration)
        return self._computed_cycles_in_loop + moved

    def _nested_iterations_per_iteration(self) -> int:
        """Return the iterations of nested loops per iteration of the anchor's loop."""
        nested = self.tiling.nested_loops_by_op.values()
        return max(
            1, sum(prod(loop.trips for loop in each.values()) for each in nested)
        )

    def _executions_per_program(self, tiled: TiledOperation) -> float:
        """
        Return the mean number of times that a program computes a tile of an operation.
        """
        if self._loop_level_of(tiled) is not LoopLevel.INNER:
            return self.tiles_per_program * self._remaining_share_of(tiled)
        if tiled.op in self.trips.mask_operations:
            return self.tiles_per_program * self.trips.mean_with_masks
        loops = self.tiling.nested_loops_by_op.get(tiled.op, {}).values()
        trips = self.rounds * prod(loop.trips for loop in loops)
        return self.tiles_per_program * trips * self._remaining_share_of(tiled)

    def _remaining_share_of(self, tiled: TiledOperation) -> float:
        """Return the part of an operation's executions that jammed tiles need."""
        if self.unrolling is None:
            return 1.0
        return self.unrolling.share_of_operation(tiled, self.tiling)

    def _loop_level_of(self, tiled: TiledOperation) -> LoopLevel:
        """
        Return the scope of an operation: `LoopLevel.INNER` for operations in the
        reduction loop.
        """
        is_anchor = tiled.op is self.tiling.anchor
        is_inner = is_anchor and bool(self.tiling.inner_loops)
        return LoopLevel.INNER if is_inner else tiled.loop_level

    def _collect_tile_moves(self, loop_level: LoopLevel) -> Iterator[TileTraffic]:
        """
        Yield the traffic of tiles loaded and stored once per program or once per
        iteration.
        """
        inner = loop_level is not LoopLevel.OUTER
        for (value, at), boxes in self.tiling.reads.items():
            if at is loop_level:
                for box in boxes:
                    yield self.accesses.traffic_of_box(value, box, is_inner=inner)
        for op, tiled in self.tiling.tiles.items():
            if op in self.tiling.gathered_operations and tiled.loop_level is loop_level:
                yield self.accesses.traffic_of_gather(tiled, is_inner=inner)
        if not inner:
            pairs = zip(self.tiling.results, self.tiling.result_tiles, strict=True)
            for value, box in pairs:
                yield self.accesses.traffic_of_box(value, box, is_read=False)

    def _move_cycles(self, moves: list[TileTraffic]) -> UnitCycles:
        """
        Return the busy cycles of a processor's units for moving tiles, in one program.
        """
        count = self.program_count
        accesses = sum(each.totals.access_count for each in moves) / count
        steps = sum(each.totals.lane_steps for each in moves) / count
        cached = sum(each.totals.cache_bytes for each in moves) / count
        lines = sum(each.totals.first_cache_bytes for each in moves) / count
        gpu = self.chip.gpu
        return UnitCycles(
            lanes=steps / self.chip.lane_rate,
            # Requests for non-contiguous data take longer.
            load_store=max(accesses / gpu.load_lanes, lines / gpu.shared_bandwidth),
            cache_port=cached / gpu.port,
        )

    def _narrow_store_cycles(self, moves: list[TileTraffic]) -> float:
        """Return the cycles of one program's stores that are narrower than a word."""
        accesses = sum(
            each.totals.access_count
            for each in moves
            if not each.is_read
            and each.totals.payload
            < TRITON_CALIBRATION.full_store_bytes * each.totals.access_count
        )
        return (
            TRITON_CALIBRATION.narrow_store_cycles
            * accesses
            / self.program_count
            / self.chip.gpu.warp
        )

    def _register_staging_cycles(
        self, moves: list[TileTraffic], resources: ProgramResources
    ) -> UnitCycles:
        """
        Return the additional cycles of one program for factors of products that threads
        load into registers and then store in shared memory.
        """
        if not self.is_grouped or resources.stages > 1:
            return NO_CYCLES
        count = self.program_count
        accesses = sum(each.totals.access_count for each in moves) / count
        return UnitCycles(load_store=accesses / self.chip.gpu.load_lanes)

    def _overhead_cycles(
        self, moves: list[TileTraffic], resources: ProgramResources
    ) -> UnitCycles:
        """Return the cycles of one program for staged factors and spilled registers."""
        staging = self._register_staging_cycles(moves, resources)
        return staging + self._spill_cycles(resources)

    def _spill_cycles(self, resources: ProgramResources) -> UnitCycles:
        """
        Return the cycles of one program in which threads store and load the registers
        that they spill, once per iteration.
        """
        spilled = resources.spilled_registers(self.chip)
        accesses = 2 * spilled * self.warps * self.chip.gpu.warp
        return UnitCycles(load_store=self.steps * accesses / self.chip.gpu.load_lanes)

    def _compute_cycles(self, loop_level: LoopLevel) -> UnitCycles:
        """
        Return the busy cycles of a processor's units for computing, in one program.
        """
        busy = NO_CYCLES
        for tiled in self._computed_tiles:
            if self._loop_level_of(tiled) is loop_level:
                cycles = self.arithmetic.cycles_of_tile(tiled, self.warps)
                if tiled.facts.is_accumulating:
                    exchange = self.arithmetic.cross_warp_exchange_cycles
                    share = self._exchanges_per_execution(tiled)
                    cycles += exchange(tiled, self.warps) * share
                slow = (
                    TRITON_CALIBRATION.narrow_product_slowdown
                    if self._is_slowed_by_other_reductions(tiled)
                    else 1.0
                )
                busy += cycles * (self._executions_per_program(tiled) * slow)
        if loop_level is LoopLevel.INNER and (
            corrected := self._accumulator_correction_steps()
        ):
            busy += UnitCycles(lanes=self.rounds * corrected / self.chip.lane_rate)
            # Dependent reductions are computed sequentially.
            busy = replace(busy, lanes=busy.lanes + busy.special, special=0.0)
        return busy

    @cached_property
    def _computed_tiles(self) -> Sequence[TiledOperation]:
        """Tiles of the operations that have instructions, in execution order."""
        tiles = self.tiling.tiles.values()
        return [each for each in tiles if not each.facts.needs_no_instruction]

    @cached_property
    def _accumulated_tiles(self) -> Sequence[TiledOperation]:
        """Tiles of the operations that combine many values into one."""
        return [each for each in self._computed_tiles if each.facts.is_accumulating]

    def _accumulator_correction_steps(self) -> int:
        """Return the lane steps that correct accumulators in an iteration."""
        if self.tiling.cascade is None:
            return 0
        corrected = (
            tiled
            for op, tiled in self.tiling.tiles.items()
            if self.tiling.correction_of(op) or self.tiling.restart_of(op)
        )
        return sum(count_elements_of_box(tiled.result) for tiled in corrected)

    def _is_slowed_by_other_reductions(self, tiled: TiledOperation) -> bool:
        """
        Return `True` for a narrow product that reads inputs in a loop with other
        reductions.
        """
        if self.tiling.cascade is None or not tiled.facts.is_product:
            return False
        if tiled.op.operands[0].owner in self.tiling.tiles:
            return False
        return self.arithmetic.is_narrow_mma(self.arithmetic.matrix_product_of(tiled))

    def _first_and_last_byte_latency(self) -> float:
        """Return the memory latency before the first and after the last bytes."""
        indexed = any(
            isinstance(op, IndexedReadInterface)
            for op in self.tiling.gathered_operations
        )
        accesses = 2 if indexed else 1
        return float(accesses * self.chip.memory.latency + self.chip.cache.latency)

    def _reduction_loop_cycles(
        self,
        iteration_cycles: UnitCycles,
        outer_traffic: OuterTraffic,
        resources: ProgramResources,
    ) -> float:
        """
        Return the cycles of the reduction loop in a single program. A load with
        prefetch distance `n` has `n` iterations to wait for the buffer that a product
        frees, for the other warps, and for memory.
        """
        if not self.tiling.inner_loops:
            return 0.0
        if (stages := resources.stages) == 1:
            return self._count_single_stage_cycles(iteration_cycles)
        # Programs of one wave request their bytes together; of several waves, some load
        # in their loops while others store.
        resident = resources.count_resident_programs(self.chip) * self.chip.processors
        waves = ceil(self.program_count / resident)
        inner = self._moves_per_iteration
        requested = (
            outer_traffic if waves == 1 else self._traffic_of_moves(inner, resources)
        )
        queue = requested.bytes / self.chip.memory.bandwidth / (self.steps * waves)
        return self._cycles_of_loop_ahead(iteration_cycles, stages, queue)

    def _cycles_of_loop_ahead(
        self, iteration_cycles: UnitCycles, stages: int, queue: float = 0.0
    ) -> float:
        """
        Return the cycles of the reduction loop with loads in flight, which wait for
        `queue` cycles for those of concurrent programs; more with fewer stages.
        """
        latency, chain = self.chip.memory.latency, self._dependent_mma_cycles
        delay = (
            TRITON_CALIBRATION.load_wait
            * max(iteration_cycles.matrix, iteration_cycles.shared, chain)
            + self.chip.gpu.barrier
        )
        hidden = (latency + queue + iteration_cycles.cache_port + delay) / (stages - 1)
        # In a cascade, a group of warps needs its product before it continues.
        sequential = (
            0.0
            if self.tiling.cascade is None
            else (iteration_cycles.matrix + iteration_cycles.lanes)
            / self._independent_groups_with(stages)
        )
        longest = max(iteration_cycles.busiest_unit_cycles, chain, sequential)
        each = max(longest + self.chip.gpu.barrier, hidden)
        cycles = self.steps * each + (self._count_loop_starts() - 1) * latency
        if self.has_alternating_groups:
            return cycles * TRITON_CALIBRATION.fused_reduction_slowdown
        return cycles

    @property
    def fusion_slowdown(self) -> float:
        """
        Factor by which a kernel takes longer whose loop has reductions that depend on
        each other, unless groups of warps alternate between them.
        """
        cascade = self.tiling.cascade
        if cascade is None or cascade.has_only_independent_products:
            return 1.0
        if self.has_alternating_groups:
            return 1.0
        return TRITON_CALIBRATION.fused_reduction_slowdown

    def _independent_groups_with(self, stages: int) -> float:
        """
        Return the number of groups of warps that compute rows of their own, as far as
        they do not wait for each other: the last one to read a load frees its buffer.
        """
        return 1 + (self._warp_groups - 1) * (1 - 1 / max(1, stages - 1))

    @cached_property
    def _warp_groups(self) -> int:
        """
        Number of groups of warps, among which the rows of matrix instructions of full
        rate are divided.
        """
        rows = [
            self.arithmetic.matrix_product_of(tiled).rows
            for tiled in self._accumulated_tiles
            if tiled.facts.is_product
        ]
        strips = min(rows, default=0) // self.chip.gpu.matrix_rows
        return max(1, min(strips, self.warps // MATRIX_INSTRUCTIONS.warp_group))

    def _count_loop_starts(self) -> float:
        """Return the number of times that a program starts a loop with loads."""
        if not self.tiling.nested_loops:
            return self.trips.loop_count
        return self.steps / self.tiling.nested_loops[-1].trips

    def _count_single_stage_cycles(self, iteration_cycles: UnitCycles) -> float:
        """Return the cycles of the reduction loop if its loads are not in advance."""
        return self.steps * (
            iteration_cycles.total_cycles
            - iteration_cycles.cache_port
            + max(0.0, self._dependent_mma_cycles - iteration_cycles.matrix)
        )

    @property
    def _is_unrolled(self) -> bool:
        """
        True if the reduction loop is unrolled, so that the loads of all iterations are
        in flight together: if it accumulates element by element in few iterations.
        """
        is_short = self.steps <= TRITON_CALIBRATION.max_unrolled_iterations
        return is_short and all(
            not tiled.facts.is_product
            and all(tiled.box[dim].size == 1 for dim in tiled.facts.reduction_dims)
            for tiled in self._accumulated_tiles
        )

    @cached_property
    def _dependent_mma_cycles(self) -> float:
        """Cycles of an iteration whose matrix instructions wait for each other."""
        return sum(
            self.arithmetic.dependent_mma_cycles(tiled, self.warps)
            * self._executions_per_program(tiled)
            for tiled in self._accumulated_tiles
            if self._loop_level_of(tiled) is LoopLevel.INNER
        ) / max(1, self.steps)

    def _warp_wait_cycles(
        self, iteration_cycles: UnitCycles, has_single_stage: bool
    ) -> float:
        """
        Return the cycles that warps of one program wait for each other, and for memory
        if nothing is in flight.
        """
        total = self._total_reduction_latency
        if not self.tiling.inner_loops:
            return total
        if has_single_stage:
            latency = self.chip.memory.latency + self.chip.gpu.barrier
            waits = 1 if self._is_unrolled else self.steps
            total += waits * latency + self.steps * iteration_cycles.cache_port
        has_outer_loads = any(
            at is LoopLevel.OUTER and boxes
            for (_, at), boxes in self.tiling.reads.items()
        )
        return total + (self.chip.memory.latency if has_outer_loads else 0)

    @property
    def _scan_iteration_latency(self) -> float:
        """
        Cycles for which an iteration of the loop over the tiles of scans waits: for
        its loads, and for the totals that threads combine.
        """
        scans = [each for each in self._computed_tiles if each.scan_loop is not None]
        return self.chip.memory.latency + len(scans) * TRITON_CALIBRATION.scan_wait

    @cached_property
    def _total_reduction_latency(self) -> float:
        """
        Cycles until threads have combined their partial results of all reductions.
        """
        total = 0.0
        for tiled in self._accumulated_tiles:
            if self.arithmetic.needs_cross_thread_reduction(tiled):
                executions = self._executions_per_program(tiled)
                times = executions * self._exchanges_per_execution(tiled)
                total += times * reduction_latency_of(
                    tiled, self.tiling, self.arithmetic, self.warps
                )
        return total

    def _exchanges_per_execution(self, tiled: TiledOperation) -> float:
        """
        Return how often threads combine their partial results per computation of a
        tile: once after the loop if the loop accumulates partial results. Loops of
        cascades are priced as if they combined them in each iteration.
        """
        is_widened = tiled in self.demand.widened_reductions
        if self.tiling.cascade is not None or not is_widened:
            return 1.0
        return 1 / max(1.0, self._executions_per_program(tiled))

    def _outer_traffic_with(self, resources: ProgramResources) -> OuterTraffic:
        """Return the traffic of the outermost memory for all programs."""
        moves = [*self._moves_per_program, *self._moves_per_iteration]
        return self._traffic_of_moves(moves, resources)

    def _traffic_of_moves(
        self, moves: Sequence[TileTraffic], resources: ProgramResources
    ) -> OuterTraffic:
        """Return the traffic of the outermost memory for moves of all programs."""
        running = resources.count_resident_programs(self.chip) * self.chip.processors
        running = min(running, self.program_count)
        return outer_traffic_of(
            moves,
            self.chip,
            self.program_count,
            lambda loops: self.grid.count_distinct_tiles(running, loops) / running,
        )
