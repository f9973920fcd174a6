"""
Cost model of a GPU program's registers and shared memory, and of the number of resident
programs.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil
from typing import NamedTuple

from xdsl.ir import Operation, SSAValue

from tlf.analysis.tiling.box_covering import is_box_moved_by
from tlf.analysis.tiling.group_tiling import (
    GroupTiling,
    LoopLevel,
    TiledOperation,
    count_elements_of_box,
)
from tlf.dialects.interfaces import (
    ContractionInterface,
    DelinearizedReadInterface,
    IndexedReadInterface,
    ReductionInterface,
)
from tlf.dialects.product_precision import FactorSplit
from tlf.dialects.triton import WARP_SIZE, default_warp_count
from tlf.dialects.types import dtype_of, itemsize_of
from tlf.planner.cost.gpu.compute_model import (
    ComputeModel,
    MatrixProduct,
    count_scalar_products,
)
from tlf.planner.cost.gpu.global_traffic import TrafficModel
from tlf.planner.cost.gpu.gpu_parameters import Chip
from tlf.planner.cost.gpu.register_live_ranges import RegisterLiveRanges
from tlf.planner.cost.gpu.register_loads import RegisterLoads
from tlf.planner.cost.gpu.source_products import find_source_product
from tlf.planner.cost.gpu.wide_accumulators import can_widen_accumulators
from tlf.planner.cost.gpu.window_unrolling import WindowUnrolling
from tlf.planner.settings.gpu_calibration import (
    MATRIX_INSTRUCTIONS,
    TRITON_CALIBRATION,
)
from tlf.support.affine.index_access import Box

REGISTER = 4
"""Bytes per register."""

ADDRESS = 8
"""Bytes per address."""


@dataclass(frozen=True)
class ProgramResources:
    """Estimated resources that one program of a GPU kernel occupies on a processor."""

    warp_count: int
    registers_per_thread: int
    """Registers per thread."""
    shared_memory_bytes: int
    """Shared memory in bytes."""
    stages: int
    """Iterations of the reduction loop in flight."""
    spillable_registers: int = 0
    """Registers per thread that may be kept in memory."""

    def count_resident_programs(self, chip: Chip) -> int:
        """
        Return the number of programs resident on one processor: at least one, which
        then spills its registers to memory.
        """
        gpu = chip.gpu
        registers = self.registers_per_thread - self.spilled_registers(chip)
        allocated = (
            -(-registers // TRITON_CALIBRATION.register_granularity)
            * TRITON_CALIBRATION.register_granularity
            * gpu.warp
            * self.warp_count
        )
        limits = [
            gpu.programs,
            gpu.warps // self.warp_count,
            gpu.registers // allocated,
            gpu.shared // (self.shared_memory_bytes + gpu.reserved)
            if self.shared_memory_bytes + gpu.reserved
            else gpu.programs,
        ]
        return max(1, min(limits))

    def max_resident_programs(self, chip: Chip) -> int:
        """
        Return an upper bound on the resident programs with any number of warps: all
        registers but those for addresses, masks and loops hold values.
        """
        gpu = chip.gpu
        limits = [
            gpu.programs,
            gpu.registers // max(1, self.least_value_registers),
            gpu.shared // max(1, self.shared_memory_bytes + gpu.reserved),
        ]
        return max(1, min(limits))

    @property
    def least_value_registers(self) -> int:
        """
        Lower bound on the registers for the values of a program, with any number of
        warps.
        """
        base = 2 * TRITON_CALIBRATION.base_registers
        values = max(0, self.registers_per_thread - base)
        return values * self.warp_count * WARP_SIZE

    def spilled_registers(self, chip: Chip) -> int:
        """Return the number of registers per thread that are kept in memory."""
        gpu = chip.gpu
        shared_out = gpu.registers // (self.warp_count * gpu.warp)
        return max(0, self.registers_per_thread - min(gpu.thread_registers, shared_out))

    def is_within_limits(self, chip: Chip) -> bool:
        """Return `True` if the resources of a program are within the limits."""
        return (
            self.spilled_registers(chip) <= self.spillable_registers
            and self.shared_memory_bytes
            <= TRITON_CALIBRATION.shared_memory_fraction * chip.shared_memory_capacity
        )


class _SharedFactor(NamedTuple):
    """Tile of a factor of a product in shared memory."""

    value: SSAValue
    size: int
    """Bytes of one copy."""
    collapsed: int
    """1 if a second copy has collapsed axes, else 0."""
    is_looped: bool
    """True if the iterations in flight have a copy each."""

    def bytes_with(self, stages: int) -> int:
        """Return the bytes of all copies with `stages` iterations in flight."""
        return ((stages if self.is_looped else 1) + self.collapsed) * self.size


@dataclass
class ResourceDemand:
    """
    Resource demand of a tiled group's programs by the number of stages. An estimate:
    the backend compiler decides.
    """

    tiling: GroupTiling
    compute_model: ComputeModel
    known_live_ranges: dict[Hashable, RegisterLiveRanges] = field(
        default_factory=dict[Hashable, RegisterLiveRanges]
    )
    """Live ranges of other tilings, to share."""
    warps: int | None = None
    """Number of warps of a program; `None` if it follows from the tile sizes."""
    unrolling: WindowUnrolling | None = None
    """Alternating tiles that a program computes at once, if any."""
    _resources_by_stages: dict[int, ProgramResources] = field(
        init=False, default_factory=dict[int, ProgramResources]
    )

    def program_resources_with(self, stages: int) -> ProgramResources:
        """Return the resources of a program with `stages` iterations in flight."""
        in_flight = 1 if self._register_loads.factor_elements else stages
        if in_flight not in self._resources_by_stages:
            is_fused = self.tiling.cascade is not None
            resources = ProgramResources(
                self.warp_count,
                self._registers_per_thread,
                self._shared_memory_bytes(in_flight),
                in_flight,
                TRITON_CALIBRATION.max_spilled_registers if is_fused else 0,
            )
            self._resources_by_stages[in_flight] = resources
        return self._resources_by_stages[in_flight]

    @cached_property
    def warp_count(self) -> int:
        """Number of warps of a program."""
        if self.warps is not None:
            return self.warps
        largest = max(self._value_element_counts())
        return default_warp_count(
            max(largest, self._accumulated_product_elements()),
            self._largest_product_elements(),
        )

    @property
    def min_warp_count(self) -> int:
        """
        Minimum number of warps of a program: one per scheduler, and a group of them if
        it computes a product by matrix instructions of full rate. With fewer warps than
        schedulers no kernel of `bench/gpu_cases.py` was faster on an H200.
        """
        is_full_rate = self.compute_model.is_full_rate_mma
        has_group = any(map(is_full_rate, self._matrix_products()))
        least = MATRIX_INSTRUCTIONS.warp_group if has_group else 1
        return max(least, self.compute_model.chip.gpu.schedulers)

    @cached_property
    def has_lane_products(self) -> bool:
        """True if lanes compute a product, one term per step, or split its factors."""
        is_by_lanes = self.compute_model.is_multiply_add_by_lanes
        return any(
            is_by_lanes(each) or each.split is not None
            for each in self._matrix_products()
        )

    @cached_property
    def widened_reductions(self) -> Sequence[TiledOperation]:
        """
        Reductions for which the loop accumulates tiles of partial results: all that no
        other operation in the loop reads, if there is room for their tiles.
        """
        tiling = self.tiling
        if not tiling.inner_loops or tiling.nested_loops:
            return ()
        reductions = [
            tiled
            for op, tiled in tiling.tiles.items()
            if tiled.facts.is_accumulating
            and isinstance(op, ReductionInterface)
            and self._is_in_loop(op)
            and tiling.correction_of(op) is None
            and tiling.restart_of(op) is None
            and not any(self._is_in_loop(use.operation) for use in op.results[0].uses)
        ]
        sizes = [count_elements_of_box(each.box) for each in reductions]
        fits = can_widen_accumulators(sizes, self.warp_count)
        return reductions if fits else ()

    def _is_in_loop(self, op: Operation) -> bool:
        """Return `True` if an operation of the group is in the loop of the anchor."""
        if op is self.tiling.anchor:
            return True
        tiled = self.tiling.tiles.get(op)
        return tiled is not None and tiled.loop_level is not LoopLevel.OUTER

    def can_exchange_results_in_loop(
        self, resources: ProgramResources, resident_programs: int
    ) -> bool:
        """
        Return `True` if the shared memory of resident programs has room for results,
        which threads exchange before they store them, beside the factors of a product
        that are in flight.
        """
        if not self.has_matrix_products or resources.stages == 1:
            return False
        stored = max(_bytes_of_tile(*each) for each in self.tiling.output_tiles())
        exchanged = ceil(TRITON_CALIBRATION.exchanged_share * stored)
        shared = resources.shared_memory_bytes + exchanged
        chip = self.compute_model.chip
        needed = replace(resources, shared_memory_bytes=shared)
        return (
            needed.is_within_limits(chip)
            and needed.count_resident_programs(chip) >= resident_programs
        )

    @property
    def has_matrix_products(self) -> bool:
        """True if the group has a product that matrix instructions compute."""
        return any(map(self.compute_model.has_mma_shape, self._matrix_products()))

    @property
    def _thread_count(self) -> int:
        return self.warp_count * self.compute_model.chip.gpu.warp

    @cached_property
    def _registers_per_thread(self) -> int:
        """
        Estimated registers per thread: peak live bytes over all threads, plus base
        registers, twice for cascades and fused multiply-adds, or copies of factors.
        """
        direct = (
            self._register_loads.factor_elements + self._register_loads.other_elements
        )
        wide = sum(count_elements_of_box(each.box) for each in self.widened_reductions)
        live = self._max_live_bytes() + REGISTER * (direct + wide)
        live += self._split_product_bytes + self._jammed_bytes
        registers = TRITON_CALIBRATION.base_registers + ceil(
            live / (self._thread_count * REGISTER)
        )
        held = self._lane_factor_bytes() // REGISTER
        is_looped = held or self.tiling.cascade is not None
        if not is_looped:
            return registers
        threads = self._thread_count * REGISTER
        copies = ceil(self._register_operand_bytes / threads)
        return registers + held + max(TRITON_CALIBRATION.base_registers, copies)

    @property
    def _jammed_bytes(self) -> int:
        """Bytes of the accumulators of other tiles that a program computes at once."""
        if self.unrolling is None:
            return 0
        sums = (e for e in self.tiling.tiles.values() if e.facts.is_accumulating)
        held = sum(count_elements_of_box(each.result) for each in sums)
        return (self.unrolling.factor - 1) * REGISTER * held

    @property
    def _register_operand_bytes(self) -> int:
        """
        Bytes of factors that matrix instructions read from registers, besides those of
        the values that they are converted from.
        """
        total = 0
        for op, operand in self._register_operands.items():
            factor, box = op.operands[operand], self.tiling.tiles[op].reads[operand]
            total += 0 if box is None else _bytes_of_tile(factor, box)
        return total

    def _lane_factor_bytes(self) -> int:
        """
        Return the most bytes that a thread holds of the factors of a product that lanes
        compute; 0 without such products.
        """
        model, warps = self.compute_model, self.warp_count
        return max(
            (
                model.lane_product_of(tiled, warps).register_bytes
                for tiled in self.tiling.tiles.values()
                if tiled.facts.is_product
                and model.is_multiply_add_by_lanes(model.matrix_product_of(tiled))
            ),
            default=0,
        )

    @property
    def _split_product_bytes(self) -> int:
        """Bytes that products of split factors hold besides the accumulator."""
        model = self.compute_model
        return sum(
            self._split_bytes_of(each, split)
            for each in self._matrix_products()
            if (split := each.split) and model.has_mma_shape(each)
        )

    def _split_bytes_of(self, product: MatrixProduct, split: FactorSplit) -> int:
        """
        Return the bytes of a sum of its own, of both factors, and of the parts of those
        that instructions read from registers: the left one, or both if they are narrow.
        """
        is_narrow = self.compute_model.is_narrow_mma(product)
        parts = product.rows + (product.columns if is_narrow else 0)
        factors = product.width * (product.rows + product.columns)
        each = factors + split.parts * split.part_bytes * parts
        results = REGISTER * product.rows * product.columns
        return product.batch * (results + each * product.depth)

    def _largest_product_elements(self) -> int:
        """
        Return the elements of the largest matrix product that lanes compute or whose
        factors are split, or of any matrix product if a program also reduces.
        """
        is_reducing = any(
            isinstance(op, ReductionInterface) for op in self.tiling.tiles
        )
        sizes = (
            p.batch * p.rows * p.columns
            for p in self._matrix_products()
            if self.compute_model.is_multiply_add_by_lanes(p)
            or (
                (is_reducing or p.split is not None)
                and self.compute_model.has_mma_shape(p)
            )
        )
        return max(sizes, default=0)

    def _accumulated_product_elements(self) -> int:
        """
        Return the elements of all matrix products that the loop of a cascade
        accumulates together, and that matrix instructions compute.
        """
        steps = () if self.tiling.cascade is None else self.tiling.cascade.steps
        products = (self._mma_products.get(op) for op in steps)
        return sum(p.batch * p.rows * p.columns for p in products if p is not None)

    def _matrix_products(self) -> Iterator[MatrixProduct]:
        for tiled in self.tiling.tiles.values():
            if tiled.facts.is_product:
                yield self.compute_model.matrix_product_of(tiled)

    def _value_element_counts(self) -> Iterator[int]:
        """
        Yield the elements of the largest tile, then the number of scalar products of
        each product whose shape does not suit matrix instructions.
        """
        yield self.tiling.max_tile_elements
        for product in self._matrix_products():
            if not self.compute_model.has_mma_shape(product):
                yield count_scalar_products(product)

    @cached_property
    def _register_loads(self) -> RegisterLoads:
        """Elements that every iteration of the reduction loads into registers."""
        return RegisterLoads.from_tiling(self.tiling, self._traffic_model)

    @cached_property
    def _traffic_model(self) -> TrafficModel:
        sector = self.compute_model.chip.sector_bytes
        return TrafficModel(self.tiling, sector, self._thread_count)

    def _max_live_bytes(self) -> int:
        """Return the maximum live bytes of the threads' values."""
        sizes = dict(self._register_values())
        input_bytes = sum(sizes.get(value, 0) for value, _ in self.tiling.input_tiles())
        result_bytes = sum(sizes.get(each, 0) for each in self.tiling.results)
        peak = max(input_bytes, result_bytes)
        for reduction in self._live_ranges_of(sizes).reductions:
            terms = self._product_term_bytes(reduction.op)
            peak = max(peak, reduction.live_bytes(sizes) + terms)
        peak = max(peak, self._chained_product_bytes(sizes), self._scan_bytes(sizes))
        return peak + self._live_address_bytes()

    def _scan_bytes(self, sizes: Mapping[SSAValue, int]) -> int:
        """
        Return the most bytes of the operand and the result of a scan, which are live
        together.
        """
        scans = (
            tiled.op
            for tiled in self.tiling.tiles.values()
            if tiled.facts.scan_iterator is not None
        )
        # The operand may be computed while it is loaded, in no less space.
        sums = (2 * sizes.get(op.results[0], 0) for op in scans)
        return max(sums, default=0)

    def _chained_product_bytes(self, sizes: Mapping[SSAValue, int]) -> int:
        """
        Return the bytes of the values around products that read results of others, if
        no loop separates them: the compiler loads all inputs first, and keeps results
        of products until they are stored.
        """
        if self.tiling.inner_loops or not self._register_operands:
            return 0
        held = {value for value, _ in self.tiling.input_tiles()}
        for op, operand in self._register_operands.items():
            held.add(op.operands[operand])
        held |= {op.results[0] for op in self._mma_products}
        return sum(sizes.get(each, 0) for each in held)

    def _live_ranges_of(self, values: Collection[SSAValue]) -> RegisterLiveRanges:
        """
        Return the live ranges of the values in registers, cached for all tile sizes
        with which the same operations are in the same loops.
        """
        tiles = self.tiling.tiles
        levels = tuple([each.loop_level for each in tiles.values()])
        tiling = self.tiling
        loop = tiling.anchor, tiling.cascade is None, tiling.results
        key = tuple(tiles), levels, tuple(values), loop
        if (known := self.known_live_ranges.get(key)) is None:
            known = RegisterLiveRanges.of_tiling(self.tiling, values)
            self.known_live_ranges[key] = known
        return known

    def _live_address_bytes(self) -> int:
        """
        Return the maximum live bytes of addresses that threads compute from indices.
        """
        indexed = (
            op
            for op in self.tiling.gathered_operations
            if isinstance(op, IndexedReadInterface)
        )
        tiles = (self.tiling.tiles[op].result for op in indexed)
        most = ADDRESS * max(map(count_elements_of_box, tiles), default=0)
        return most + sum(map(self._window_address_bytes, self._looped_window_reads))

    @property
    def _looped_window_reads(self) -> Iterator[TiledOperation]:
        """Reads of windows in the loop, whose addresses stay in registers."""
        for op in self.tiling.gathered_operations:
            tiled = self.tiling.tiles[op]
            is_looped = tiled.loop_level is LoopLevel.INNER
            if is_looped and isinstance(op, DelinearizedReadInterface):
                yield tiled

    def _window_address_bytes(self, tiled: TiledOperation) -> int:
        """Return the bytes of the addresses and positions of all loads of windows."""
        width = self._traffic_model.bytes_per_gather_load(tiled)
        size = _bytes_of_tile(tiled.op.results[0], tiled.result)
        return TRITON_CALIBRATION.window_address_bytes * (size // width)

    def _product_term_bytes(self, op: Operation) -> int:
        """Return the bytes of the terms of a product before they are summed."""
        tiled = self.tiling.tiles[op]
        if not tiled.facts.is_product:
            return 0
        product = self.compute_model.matrix_product_of(tiled)
        is_matrix = self.compute_model.has_mma_shape(product)
        return 0 if is_matrix else REGISTER * count_scalar_products(product)

    def _register_values(self) -> Iterator[tuple[SSAValue, int]]:
        """Yield the values in registers, with the bytes of their tiles."""
        for value, box in self.tiling.input_tiles():
            if value not in self._matrix_operands:
                yield value, _bytes_of_tile(value, box)
        for op, tiled in self.tiling.tiles.items():
            if tiled.facts.needs_no_instruction:
                continue
            if (value := op.results[0]) not in self._matrix_operands:
                yield value, self._bytes_of_result(tiled)

    def _bytes_of_result(self, tiled: TiledOperation) -> int:
        """
        Return the bytes of the result of an operation: those of the accumulators of the
        product of a loop.
        """
        op = tiled.op
        bytes_ = _bytes_of_tile(op.results[0], tiled.result)
        if op is not self.tiling.anchor or not isinstance(op, ContractionInterface):
            return bytes_
        width = dtype_of(op.accumulator_type).itemsize
        return max(bytes_, width * count_elements_of_box(tiled.result))

    @cached_property
    def _matrix_operands(self) -> AbstractSet[SSAValue]:
        """
        Factors whose users in the group are all matrix instructions, which read them
        from shared memory.
        """
        factors = dict.fromkeys(
            factor
            for op, tiled in self.tiling.tiles.items()
            if tiled.facts.is_product
            for factor in op.operands[:2]
        )
        return {each for each in factors if self._has_only_matrix_users(each)}

    def _has_only_matrix_users(self, value: SSAValue) -> bool:
        """
        Return `True` if all users of a factor in the group are matrix instructions that
        read it from shared memory.
        """
        users = (use.operation for use in value.uses)
        return all(
            self._is_shared_memory_operand(user, value)
            for user in users
            if user in self.tiling.tiles
        )

    def _is_shared_memory_operand(self, op: Operation, value: SSAValue) -> bool:
        """
        Return `True` if `op` is a product by matrix instructions that read `value` from
        shared memory, neither collapsed nor in registers.
        """
        tiled = self.tiling.tiles[op]
        if not tiled.facts.is_product or value not in op.operands[:2]:
            return False
        operand = op.operands.index(value)
        if self.compute_model.has_collapsed_axes(
            tiled, operand
        ) or self._is_register_operand(op, operand):
            return False
        return self.compute_model.has_mma_shape(
            self.compute_model.matrix_product_of(tiled)
        )

    def _is_register_operand(self, product: Operation, operand: int) -> bool:
        """
        Return `True` if a product reads a factor from registers, which only the left
        factor allows.
        """
        return self._register_operands.get(product) == operand

    @cached_property
    def _register_operands(self) -> dict[Operation, int]:
        """Index of the left factor of each product that reads it from registers."""
        operands: dict[Operation, int] = {}
        for op, tiled in self.tiling.tiles.items():
            if not tiled.facts.is_product:
                continue
            left = int(self.compute_model.has_swapped_operands(tiled))
            is_computed = (
                find_source_product(self.tiling, op.operands[left]) is not None
            )
            if is_computed and not self.compute_model.has_collapsed_axes(tiled, left):
                operands[op] = left
        return operands

    def _shared_memory_bytes(self, stages: int) -> int:
        """
        Return the bytes of shared memory: factors of products and the other loads of
        the loop around them, once per stage, or a result that is redistributed from the
        threads that computed it to the threads that store it.
        """
        factors = dict[SSAValue, int]()
        for each in self._shared_factors:
            size = each.bytes_with(stages)
            factors[each.value] = max(factors.get(each.value, 0), size)
        other = stages * self._non_factor_load_bytes
        return max(sum(factors.values()) + other, *self._product_result_bytes)

    @cached_property
    def _product_result_bytes(self) -> Sequence[int]:
        """Bytes of the results of matrix instructions, and 0."""
        tiles = (self.tiling.tiles[each] for each in self._mma_products)
        return [0, *(_bytes_of_tile(e.op.results[0], e.result) for e in tiles)]

    @cached_property
    def _mma_products(self) -> Mapping[Operation, MatrixProduct]:
        """Products that matrix instructions compute."""
        products = {
            op: self.compute_model.matrix_product_of(tiled)
            for op, tiled in self.tiling.tiles.items()
            if tiled.facts.is_product
        }
        has_shape = self.compute_model.has_mma_shape
        return {op: each for op, each in products.items() if has_shape(each)}

    @cached_property
    def _shared_factors(self) -> Sequence[_SharedFactor]:
        """Factors that matrix instructions read from shared memory."""
        return [
            self._make_shared_factor(self.tiling.tiles[op], operand, size)
            for op, product in self._mma_products.items()
            for operand, size in enumerate(product.operand_bytes)
            if not self._is_register_operand(op, operand)
        ]

    def _make_shared_factor(
        self, tiled: TiledOperation, operand: int, size: int
    ) -> _SharedFactor:
        """Return a factor's tile of `size` bytes in shared memory."""
        value, box = tiled.op.operands[operand], tiled.reads[operand]
        collapsed = int(self.compute_model.has_collapsed_axes(tiled, operand))
        nested = self.tiling.nested_loops_by_op.get(tiled.op, {})
        loops = [*self.tiling.inner_loops.values(), *nested.values()]
        is_loaded = (
            value.owner not in self.tiling.tiles
            or value.owner in self.tiling.gathered_operations
        )
        is_looped = is_loaded and box is not None and is_box_moved_by(box, loops)
        return _SharedFactor(value, size, collapsed, is_looped)

    @cached_property
    def _non_factor_load_bytes(self) -> int:
        """
        Bytes that an iteration loads, except for factors of products; 0 without
        factors.
        """
        if not (factors := {each.value for each in self._shared_factors}):
            return 0
        return sum(
            _bytes_of_tile(value, box)
            for (value, scope), boxes in self.tiling.reads.items()
            if scope is not LoopLevel.OUTER and value not in factors
            for box in boxes
        )


def _bytes_of_tile(value: SSAValue, box: Box) -> int:
    return count_elements_of_box(box) * itemsize_of(value)
