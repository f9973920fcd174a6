"""Cost model of a tile's computation on the units of a GPU processor, in cycles."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, log2, prod

from xdsl.ir import Operation

from tlf.analysis.tiling.group_tiling import (
    GroupTiling,
    TiledOperation,
    count_elements_of_box,
)
from tlf.analysis.work.flops_and_bytes import multiplication_type_of
from tlf.analysis.work.vector_step_costs import (
    ScalarSteps,
    is_fused_multiply_add,
    lane_steps,
    special_steps,
)
from tlf.dialects.interfaces import (
    ContractionInterface,
    MovementInterface,
    TilingInterface,
)
from tlf.dialects.product_precision import FACTOR_SPLITS, FactorSplit
from tlf.dialects.target import TargetSpec
from tlf.dialects.types import itemsize_of, tensor_type
from tlf.planner.cost.gpu.gpu_parameters import Chip
from tlf.planner.cost.gpu.lane_product import LaneProduct
from tlf.planner.cost.gpu.operand_swap import (
    OperandSwap,
    has_depth_last,
    long_axis_roles_of,
    matmul_work_of,
)
from tlf.planner.cost.gpu.thread_layout import ThreadLayout
from tlf.planner.cost.gpu.unit_cycles import NO_CYCLES, UnitCycles
from tlf.planner.settings.gpu_calibration import (
    LANE_PRODUCTS,
    MATRIX_INSTRUCTIONS,
    TRITON_CALIBRATION,
)
from tlf.support.affine.index_access import Box, accessed_box

SUM_BYTES = 4
"""Bytes of a sum of products."""

MATRIX = 2
"""Number of axes of a factor that needs no collapsing."""


@dataclass(frozen=True)
class MatrixProduct:
    """A matrix product on a tile; its axes are padded like the tile."""

    rows: int
    columns: int
    depth: int
    batch: int
    element_type: str
    """Element type or precision of the factors."""
    width: int
    """Bytes per element of the factors."""
    has_swapped_operands: bool = False
    """True if the left factor is the second operand."""

    @property
    def flops(self) -> int:
        """Scalar operations; a multiply-accumulate counts as two."""
        return 2 * self.batch * self.rows * self.columns * self.depth

    @property
    def split(self) -> FactorSplit | None:
        """Parts into which threads split the factors, if they do."""
        return FACTOR_SPLITS.get(self.element_type)

    @property
    def instruction_width(self) -> int:
        """Bytes per element of the factors of matrix instructions."""
        return self.width if self.split is None else self.split.part_bytes

    @property
    def operand_bytes(self) -> tuple[int, int]:
        """Bytes of each factor, in operand order."""
        each = self.batch * self.width * self.depth
        left, right = each * self.rows, each * self.columns
        return (right, left) if self.has_swapped_operands else (left, right)

    @property
    def total_operand_bytes(self) -> int:
        """Bytes of both factors."""
        return sum(self.operand_bytes)

    def has_min_extents(self, min_extent: int) -> bool:
        """Return `True` if every axis has at least `min_extent` elements."""
        return min(self.rows, self.columns, self.depth) >= min_extent


@dataclass
class ComputeModel:
    """
    Busy cycles of the units of a processor for a tile, including its padding: padding
    elements are computed, too.
    """

    chip: Chip
    target: TargetSpec
    tiling: GroupTiling
    cycles_per_element_by_op: dict[Operation, UnitCycles] = field(
        default_factory=dict[Operation, UnitCycles]
    )
    """Cycles per element of elementwise operations, computed on demand."""
    factor_kinds: dict[Operation, str] = field(default_factory=dict[Operation, str])
    """Element types or precisions of the factors of contractions."""
    scalars: ScalarSteps = field(default_factory=ScalarSteps)
    """Scalar operations of elementwise operations."""
    _products: dict[Operation, MatrixProduct] = field(
        init=False, default_factory=dict[Operation, MatrixProduct]
    )
    _swapped: dict[Operation, bool] = field(
        init=False, default_factory=dict[Operation, bool]
    )

    def cycles_of_tile(self, tiled: TiledOperation, warps: int) -> UnitCycles:
        """Return the busy cycles of one tile of an operation on `warps` warps."""
        facts = tiled.facts
        if facts.needs_no_instruction:
            return NO_CYCLES
        if facts.is_product:
            return self._matrix_product_cycles(tiled, warps)
        if facts.is_accumulating:
            return self._cycles_of_lane_steps(count_elements_of_box(tiled.box))
        if facts.is_elementwise:
            return self._cycles_per_element(tiled.op) * count_elements_of_box(
                tiled.computed_box
            )
        steps = 1 if facts.scan_iterator is None else TRITON_CALIBRATION.scan_steps
        return self._cycles_of_lane_steps(
            steps * count_elements_of_box(tiled.computed_box)
        )

    def matrix_product_of(self, tiled: TiledOperation) -> MatrixProduct:
        """Return the matrix product of a contraction's tile."""
        if (known := self._products.get(tiled.op)) is None:
            known = self._products[tiled.op] = self._make_product(tiled)
        return known

    def _make_product(self, tiled: TiledOperation) -> MatrixProduct:
        """
        Return the extents and element type of a contraction's tile, with rows and
        columns exchanged if its operands are swapped.
        """
        op = tiled.op
        assert isinstance(op, ContractionInterface)
        work = matmul_work_of(tiled)
        width = itemsize_of(op.operands[0])
        shape = work.m, work.n
        if is_swapped := self.has_swapped_operands(tiled):
            shape = work.n, work.m
        kind = self._factor_kind_of(op)
        return MatrixProduct(*shape, work.k, work.batch, kind, width, is_swapped)

    def _factor_kind_of(self, op: Operation) -> str:
        """Return the element type or precision of the factors of a contraction."""
        if op not in self.factor_kinds:
            assert isinstance(op, ContractionInterface)
            self.factor_kinds[op] = multiplication_type_of(op)
        return self.factor_kinds[op]

    def has_swapped_operands(self, tiled: TiledOperation) -> bool:
        """Return `True` if the second operand of a contraction is the left factor."""
        if tiled.op not in self._swapped:
            sizes = self.chip.gpu.matrix_rows, self.target.tiling.matrix_minimum
            kind = self._factor_kind_of(tiled.op)
            reads_by_threads = (
                kind in FACTOR_SPLITS or self.chip.matrix_rate(kind) is None
            )
            self._swapped[tiled.op] = OperandSwap(
                self.tiling, tiled, *sizes, reads_by_threads
            ).has_swapped_operands
        return self._swapped[tiled.op]

    def dependent_mma_cycles(self, tiled: TiledOperation, warps: int) -> float:
        """
        Return the cycles of the narrow matrix instructions of a tile: instructions that
        accumulate into the same result wait for each other; those of other results are
        interleaved.
        """
        if tiled.facts.needs_no_instruction or not tiled.facts.is_product:
            return 0.0
        product = self.matrix_product_of(tiled)
        if not self.is_narrow_mma(product):
            return 0.0
        count = ceil(
            product.depth * product.width / MATRIX_INSTRUCTIONS.narrow_depth_bytes
        )
        tiles = (
            product.rows * product.columns / (MATRIX_INSTRUCTIONS.narrow_result * warps)
        )
        interleaved = (
            max(0.0, 1 - 1 / tiles) * self._matrix_product_cycles(tiled, warps).matrix
        )
        return count * self.chip.gpu.matrix_latency + interleaved

    def has_mma_shape(self, product: MatrixProduct) -> bool:
        """
        Return `True` if a product has at least the shape that matrix instructions need.
        """
        return product.has_min_extents(self.target.tiling.matrix_minimum)

    def is_narrow_mma(self, product: MatrixProduct) -> bool:
        """
        Return `True` if narrow matrix instructions, below the full rate, compute a
        product.
        """
        return self._is_mma(product) and not self._has_full_rate_shape(product)

    def is_full_rate_mma(self, product: MatrixProduct) -> bool:
        """Return `True` if matrix instructions of the full rate compute a product."""
        return self._is_mma(product) and self._has_full_rate_shape(product)

    def _is_mma(self, product: MatrixProduct) -> bool:
        """Return `True` if the chip has matrix instructions for such a product."""
        return (
            self.has_mma_shape(product)
            and self.chip.matrix_rate(product.element_type) is not None
        )

    def is_multiply_add_by_lanes(self, product: MatrixProduct) -> bool:
        """
        Return `True` if the lanes compute a product, one term of the sum per step.
        """
        return (
            self.has_mma_shape(product)
            and self.chip.matrix_rate(product.element_type) is None
        )

    def cross_warp_exchange_cycles(
        self, tiled: TiledOperation, warps: int
    ) -> UnitCycles:
        """
        Return the cycles in which warps exchange partial results through shared memory.
        """
        if (largest := self._largest_operand_reduced_by_rows(tiled)) is None:
            return NO_CYCLES
        operand, box = largest
        results = count_elements_of_box(tiled.result)
        if tiled.facts.is_product:
            row_bytes = MATRIX_INSTRUCTIONS.row_bytes * self.chip.gpu.warp
            bytes_ = count_elements_of_box(box) * itemsize_of(
                tiled.op.operands[operand]
            )
            sharing_warps = max(1, min(warps, bytes_ // row_bytes))
        elif (sharing_warps := self._threads_across_rows(tiled, warps)[1]) == 1:
            return NO_CYCLES
        return UnitCycles(
            shared=TRITON_CALIBRATION.exchange_cycles * results * sharing_warps
        )

    def _largest_operand_reduced_by_rows(
        self, tiled: TiledOperation
    ) -> tuple[int, Box] | None:
        """
        Return the largest operand of a reduction along other axes than the last one,
        and its box; None if the last one is reduced, or nothing is.
        """
        if not self.needs_cross_thread_reduction(tiled) or not tiled.reads:
            return None
        operand, box = max(
            ((index, box) for index, box in enumerate(tiled.reads) if box is not None),
            key=lambda each: count_elements_of_box(each[1]),
        )
        last = (tiled.facts.indexing_maps[operand] or ())[-1:]
        if any(access.depends_on({*tiled.facts.reduction_dims}) for access in last):
            return None
        return operand, box

    def _threads_across_rows(
        self, tiled: TiledOperation, warps: int
    ) -> tuple[int, int]:
        """
        Return the lanes and the warps that share the elements of a reduction: all along
        the last axis, and for products, whose tile has the axes of both factors.
        """
        largest = self._largest_operand_reduced_by_rows(tiled)
        if largest is None or tiled.facts.is_product:
            return self.chip.gpu.warp, warps
        operand, box = largest
        extents = [each.tile_extent for each in box]
        width = itemsize_of(tiled.op.operands[operand])
        vector = min(extents[-1], MATRIX_INSTRUCTIONS.row_bytes // width)
        layout = ThreadLayout.of_tile(extents, vector, self.chip.gpu.warp, warps)
        accesses = tiled.facts.indexing_maps[operand] or ()
        reduced = {*tiled.facts.reduction_dims}
        axes = [n for n, each in enumerate(accesses) if each.depends_on(reduced)]
        return layout.lanes_along(axes), layout.warps_along(axes)

    def cross_warp_reduction_latency(self, tiled: TiledOperation, warps: int) -> float:
        """
        Return the cycles until all threads have combined their partial results of a
        reduction; 0 if each thread reduces its own elements.
        """
        if not self.needs_cross_thread_reduction(tiled):
            return 0.0
        gpu = self.chip.gpu
        lanes, sharing_warps = self._threads_across_rows(tiled, warps)
        rounds = log2(lanes) + log2(sharing_warps)
        each = ceil(count_elements_of_box(tiled.box) / (gpu.warp * warps))
        results = min(count_elements_of_box(tiled.result), each)
        # A warp exchanges one value per thread and round.
        exchanged = results * log2(lanes) * warps * gpu.warp / gpu.load_lanes
        return rounds * self.chip.shared_memory_latency + exchanged

    def row_reduction_latency(
        self, tiled: TiledOperation, warps: int, source_product: MatrixProduct | None
    ) -> float:
        """
        Return the latency of a reduction whose tile has many rows. `source_product` is
        the product that computes its operand, if any: matrix instructions of full rate
        spread a row over `row_threads` threads, other operations over as many threads
        as the row has vectors.
        """
        if not self.needs_cross_thread_reduction(tiled):
            return 0.0
        gpu, rows = self.chip.gpu, count_elements_of_box(tiled.result)
        spread = MATRIX_INSTRUCTIONS.row_threads
        if source_product is None or not self.is_full_rate_mma(source_product):
            width = itemsize_of(tiled.op.operands[0])
            vectors = (
                count_elements_of_box(tiled.box)
                // rows
                * width
                // MATRIX_INSTRUCTIONS.row_bytes
            )
            spread = max(1, min(gpu.warp * warps, vectors))
        rounds = log2(spread)
        exchanged = rows * spread * rounds / gpu.load_lanes
        return rounds * self.chip.shared_memory_latency + exchanged

    def needs_cross_thread_reduction(self, tiled: TiledOperation) -> bool:
        """Return `True` if threads combine their partial results of an operation."""
        if not tiled.facts.is_accumulating:
            return False
        return not tiled.facts.is_product or not self.has_mma_shape(
            self.matrix_product_of(tiled)
        )

    def _cycles_of_lane_steps(self, lane_steps: float) -> UnitCycles:
        return UnitCycles(lanes=lane_steps / self.chip.lane_rate)

    def _cycles_per_element(self, op: TilingInterface) -> UnitCycles:
        """Return the busy cycles per element of an elementwise operation."""
        if (known := self.cycles_per_element_by_op.get(op)) is None:
            known = self.cycles_per_element_by_op[op] = (
                NO_CYCLES
                if is_fused_multiply_add(op, self.scalars)
                else self._estimate_cycles_per_element(op)
            )
        return known

    def _estimate_cycles_per_element(self, op: TilingInterface) -> UnitCycles:
        """
        Return the lane and special-function cycles of an operation, divided by the
        elements of its result.
        """
        count = max(1, tensor_type(op.results[0]).element_count())
        about = op, self.target, self.scalars
        steps, special = lane_steps(*about), special_steps(*about)
        each = (
            special / self.chip.special_function_rate
            if self.chip.special_function_rate
            else 0.0
        )
        return self._cycles_of_lane_steps(steps / count) + UnitCycles(
            special=each / count
        )

    def _matrix_product_cycles(self, tiled: TiledOperation, warps: int) -> UnitCycles:
        """
        Return the matrix and shared-memory cycles of a product's tile; lane cycles if
        matrix instructions cannot compute it.
        """
        product = self.matrix_product_of(tiled)
        if self.is_multiply_add_by_lanes(product):
            return self._cycles_of_lane_product(tiled, warps)
        rate = self.chip.matrix_rate(product.element_type)
        if rate is None or not self.has_mma_shape(product):
            busy = self._cycles_of_lane_steps(product.flops)
            return busy + self._wait_for_collapsed_factors(tiled)
        shared = (
            self._shared_memory_read_bytes(product, warps)
            + product.total_operand_bytes
            + self._shared_bytes_of_collapsing(tiled)
        )
        computed = UnitCycles(
            matrix=product.flops / (rate * self._fraction_of_full_rate(product)),
            shared=shared / self.chip.gpu.shared_bandwidth,
        )
        return (
            computed
            + self._cycles_of_transposing(tiled, product)
            + self._cycles_of_splitting(tiled, warps, computed.matrix)
        )

    def _cycles_of_splitting(
        self, tiled: TiledOperation, warps: int, matrix: float
    ) -> UnitCycles:
        """
        Return the additional cycles of a product of factors that threads split into
        parts: they store the parts in shared memory, wait for the matrix instructions,
        and add the sum of the products of parts to the accumulator.
        """
        product = self.matrix_product_of(tiled)
        if (split := product.split) is None:
            return NO_CYCLES
        elements = [size / product.width for size in product.operand_bytes]
        results = product.batch * product.rows * product.columns
        steps = (
            MATRIX_INSTRUCTIONS.split_steps * (split.parts - 1) * sum(elements)
            + MATRIX_INSTRUCTIONS.combine_steps * results
        )
        left = int(product.has_swapped_operands)
        if not self._is_depth_contiguous(tiled, left):
            steps += MATRIX_INSTRUCTIONS.split_transpose_steps * elements[left]
        times = split.products * split.part_bytes / product.width - 1
        read = times * self._shared_memory_read_bytes(product, warps)
        stored = split.parts * split.part_bytes * sum(elements)
        bandwidth = self.chip.gpu.shared_bandwidth
        converted = self._bytes_of_converting_sums(product, warps) / bandwidth
        shared = (read + stored) / bandwidth + converted
        return self._cycles_of_lane_steps(steps) + UnitCycles(
            lanes=matrix + converted, shared=shared
        )

    def _bytes_of_converting_sums(self, product: MatrixProduct, warps: int) -> int:
        """
        Return the bytes of shared memory through which sums of products of parts pass
        where groups of warps share rows: Triton 3.6 converts them to another layout and
        back.
        """
        strips = ceil(product.rows / self.chip.gpu.matrix_rows)
        if warps // MATRIX_INSTRUCTIONS.warp_group <= strips:
            return 0
        results = product.batch * product.rows * product.columns
        return 4 * SUM_BYTES * results

    def _cycles_of_transposing(
        self, tiled: TiledOperation, product: MatrixProduct
    ) -> UnitCycles:
        """
        Return the additional cycles for factors that matrix instructions of the full
        rate do not transpose: threads copy them element by element, to rows of shared
        memory that share banks.
        """
        gpu = self.chip.gpu
        is_transposed_at_once = product.instruction_width <= gpu.matrix_transpose
        if is_transposed_at_once or not self._has_full_rate_shape(product):
            return NO_CYCLES
        copied = sum(
            size
            for operand, size in enumerate(product.operand_bytes)
            if long_axis_roles_of(tiled, operand)[-1:] != ["k"]
        )
        conflicts = MATRIX_INSTRUCTIONS.transpose_conflicts - 1
        return UnitCycles(
            load_store=copied / product.width / gpu.load_lanes,
            shared=conflicts * copied / gpu.shared_bandwidth,
        )

    def _cycles_of_lane_product(self, tiled: TiledOperation, warps: int) -> UnitCycles:
        """
        Return the cycles of a product's tile that lanes compute from shared memory: a
        fused multiply-add is one step, and lanes wait for a part of the reads.
        """
        product = self.matrix_product_of(tiled)
        bytes_ = product.total_operand_bytes + self._shared_bytes_of_collapsing(tiled)
        distribution = self.lane_product_of(tiled, warps)
        reads = distribution.read_cycles
        steps = product.flops / 2 * distribution.slowdown
        busy = UnitCycles(
            lanes=steps / (self.chip.lanes * LANE_PRODUCTS.reached)
            + LANE_PRODUCTS.read_wait * reads,
            shared=bytes_ / self.chip.gpu.shared_bandwidth + reads,
        )
        return busy + self._wait_for_collapsed_factors(tiled)

    def _wait_for_collapsed_factors(self, tiled: TiledOperation) -> UnitCycles:
        """Return the cycles for which lanes wait for factors with collapsed axes."""
        collapsed = self._shared_bytes_of_collapsing(tiled)
        return UnitCycles(lanes=collapsed / self.chip.gpu.shared_bandwidth)

    def lane_product_of(self, tiled: TiledOperation, warps: int) -> LaneProduct:
        """Return the distribution of a product's tile over the lanes of `warps`."""
        product = self.matrix_product_of(tiled)
        left = int(product.has_swapped_operands)
        return LaneProduct(
            product.batch,
            product.rows,
            product.columns,
            product.depth,
            product.width,
            (
                self._is_depth_contiguous(tiled, left),
                self._is_depth_contiguous(tiled, 1 - left),
            ),
            self.chip.gpu.warp,
            warps,
        )

    def _is_depth_contiguous(self, tiled: TiledOperation, operand: int) -> bool:
        """
        Return `True` if the reduction axis of a factor is contiguous where it is read
        from: a movement in the group loads it in the order of its source.
        """
        movement = tiled.op.operands[operand].owner
        factor = tiled.facts.indexing_maps[operand]
        if not isinstance(movement, MovementInterface) or not factor:
            return has_depth_last(tiled, operand)
        if movement not in self.tiling.gathered_operations:
            return has_depth_last(tiled, operand)
        moved = self.tiling.tiles[movement].facts.indexing_maps[0] or ()
        roles = [
            tiled.facts.iterator_roles[iterator]
            for axis, _ in (moved[-1].terms if moved else ())
            for iterator, _ in factor[axis].terms
        ]
        return roles == ["k"]

    def has_collapsed_axes(self, tiled: TiledOperation, operand: int) -> bool:
        """
        Return `True` if several axes of a factor are collapsed into one, which threads
        do before the product.
        """
        box = accessed_box(tiled.facts.indexing_maps[operand] or (), tiled.box)
        return sum(interval.tile_extent > 1 for interval in box) > MATRIX

    def _shared_bytes_of_collapsing(self, tiled: TiledOperation) -> float:
        """
        Return the bytes that collapsing operands moves through shared memory. Elements
        of a transposed operand share banks, so that its copies conflict.
        """
        total = 0.0
        for operand, value in enumerate(tiled.op.operands[:2]):
            if self.has_collapsed_axes(tiled, operand):
                box = accessed_box(tiled.facts.indexing_maps[operand] or (), tiled.box)
                width = itemsize_of(value)
                times = (
                    MATRIX_INSTRUCTIONS.bank_conflicts
                    if self._is_operand_transposed(tiled, operand)
                    else 2
                )
                total += times * count_elements_of_box(box) * width
        return total

    def _is_operand_transposed(self, tiled: TiledOperation, operand: int) -> bool:
        """
        Return `True` if the reduction axis is contiguous in a factor but not in its
        matrix, or the reverse: a transposed operand.
        """
        roles = long_axis_roles_of(tiled, operand)
        rows = "n" if self.has_swapped_operands(tiled) else "m"
        last = roles[-1] if roles else "k"
        return (last != "k") if rows in roles else (last == "k")

    def _fraction_of_full_rate(self, product: MatrixProduct) -> float:
        """
        Return the fraction of the full rate that instructions for a product reach.
        """
        return 1.0 if self._has_full_rate_shape(product) else self.chip.gpu.narrow

    def _has_full_rate_shape(self, product: MatrixProduct) -> bool:
        """
        Return `True` if a product has the shape that matrix instructions of the full
        rate need.
        """
        return product.rows >= self.chip.gpu.matrix_rows and product.batch == 1

    def _shared_memory_read_bytes(self, product: MatrixProduct, warps: int) -> float:
        """
        Return the bytes that matrix instructions read from shared memory: each group of
        warps reads a strip of rows and all columns assigned to the group.
        """
        rows = self.chip.gpu.matrix_rows
        strips = ceil(product.rows / rows)
        groups = max(1, warps // MATRIX_INSTRUCTIONS.warp_group)
        across = max(1, groups // strips)
        read = product.rows * across + product.columns * strips
        return float(product.batch * product.width * product.depth * read)


def count_scalar_products(product: MatrixProduct) -> int:
    """Return the number of scalar products of a matrix product."""
    return prod((product.batch, product.rows, product.columns, product.depth))
