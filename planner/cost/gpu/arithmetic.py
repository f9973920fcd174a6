"""Cycles that the units of a processor are busy computing a tile."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, log2, prod

from xdsl.ir import Operation

from tlf.analysis.tiling.model import GroupTiling, TiledOperation, elements
from tlf.analysis.work.steps import is_contracted, lane_steps, special_steps
from tlf.analysis.work.work import multiplied_in
from tlf.dialects.interfaces import ContractionInterface, TilingInterface
from tlf.dialects.target import Target
from tlf.dialects.types import dtype_of, tensor_type
from tlf.planner.cost.gpu.busy import NOTHING, Busy
from tlf.planner.cost.gpu.chip import Chip
from tlf.planner.cost.gpu.exchanged import Exchange, roles_along, work_of
from tlf.support.affine.access import region

DEPTH = 32
"""Bytes of a row that a narrow matrix instruction takes, and as many of a column."""

MATRIX = 2
"""Axes of a factor that is a matrix as it is."""

CONFLICTS = 8
"""Rows of eight elements that one step reads out of shared memory."""

NARROW = 16 * 8
"""Elements of the result of a narrow matrix instruction."""

VECTOR = 16
"""The bytes of a row that a thread has side by side."""

ROW = 4
"""Threads that a row of the result of a matrix instruction is spread over."""

WARP_GROUP = 4
"""Warps that run one matrix instruction of full rate."""


EXCHANGE = 4
"""
Cycles in which a warp tells others one of its results: measured with products of a row
and a matrix that is stored by rows, of 32 to 256 of these, by one to eight warps.
"""


@dataclass(frozen=True)
class Product:
    """One product of matrices on a tile, its axes filled up as the tile is."""

    rows: int
    columns: int
    depth: int
    batch: int
    element: str
    """The element type or precision of the factors."""
    width: int
    """Bytes of an element of its factors."""
    is_exchanged: bool = False
    """True if the left factor is the second operand."""

    @property
    def flops(self) -> int:
        """Scalar operations, a multiply-accumulate counting as two."""
        return 2 * self.batch * self.rows * self.columns * self.depth

    @property
    def sides(self) -> tuple[int, int]:
        """Bytes of each factor, in the order of operands."""
        each = self.batch * self.width * self.depth
        left, right = each * self.rows, each * self.columns
        return (right, left) if self.is_exchanged else (left, right)

    @property
    def factors(self) -> int:
        """Bytes of both factors."""
        return sum(self.sides)

    def has_axes_of(self, least: int) -> bool:
        """Return `True` if every axis has at least `least` elements."""
        return min(self.rows, self.columns, self.depth) >= least


@dataclass
class Arithmetic:
    """
    Computes how long each part of a processor is busy with a tile. The elements that
    fill a tile up to its room are computed, too.
    """

    chip: Chip
    target: Target
    tiling: GroupTiling
    steps: dict[Operation, Busy] = field(default_factory=dict[Operation, Busy])
    """Of one element of elementwise operations, as far as they are known."""
    kinds: dict[Operation, str] = field(default_factory=dict[Operation, str])
    """The element types or precisions of the factors of contractions."""
    _products: dict[Operation, Product] = field(
        init=False, default_factory=dict[Operation, Product]
    )
    _exchanged: dict[Operation, bool] = field(
        init=False, default_factory=dict[Operation, bool]
    )

    def of(self, tiled: TiledOperation, warps: int) -> Busy:
        """The time of one tile of an operation, by so many warps."""
        form = tiled.form
        if form.is_free:
            return NOTHING
        if form.is_product:
            return self._product(tiled, warps)
        if form.is_accumulating:
            return self._lanes(elements(tiled.box))
        if form.is_elementwise:
            return self._each(tiled.op) * elements(tiled.computed)
        return self._lanes(elements(tiled.computed))

    def product(self, tiled: TiledOperation) -> Product:
        """The product that a tile of a contraction of the group is."""
        if tiled.op not in self._products:
            self._products[tiled.op] = self._product_of(tiled)
        return self._products[tiled.op]

    def _product_of(self, tiled: TiledOperation) -> Product:
        op = tiled.op
        assert isinstance(op, ContractionInterface)
        work = work_of(tiled)
        width = dtype_of(tensor_type(op.operands[0]).element_type).itemsize
        shape = work.m, work.n
        if is_exchanged := self.is_exchanged(tiled):
            shape = work.n, work.m
        if op not in self.kinds:
            self.kinds[op] = multiplied_in(op)
        kind = self.kinds[op]
        return Product(*shape, work.k, work.batch, kind, width, is_exchanged)

    def is_exchanged(self, tiled: TiledOperation) -> bool:
        """Return `True` if the second operand of a contraction is the left factor."""
        if tiled.op not in self._exchanged:
            sizes = self.chip.gpu.matrix_rows, self.target.tiling.matrix_minimum
            self._exchanged[tiled.op] = Exchange(self.tiling, tiled, *sizes).holds
        return self._exchanged[tiled.op]

    def chain(self, tiled: TiledOperation, warps: int) -> float:
        """
        Cycles of the narrow matrix instructions of a tile: those that add to one result
        wait for each other, those of other results go between them.
        """
        if tiled.form.is_free or not tiled.form.is_product:
            return 0.0
        product = self.product(tiled)
        if not self.is_narrow(product):
            return 0.0
        count = ceil(product.depth * product.width / DEPTH)
        tiles = product.rows * product.columns / (NARROW * warps)
        others = max(0.0, 1 - 1 / tiles) * self._product(tiled, warps).matrix
        return count * self.chip.gpu.matrix_latency + others

    def is_matrix(self, product: Product) -> bool:
        """
        Return `True` if a product has at least the shape that matrix instructions need.
        """
        return product.has_axes_of(self.target.tiling.matrix_minimum)

    def is_narrow(self, product: Product) -> bool:
        """
        Return `True` if matrix instructions of less than the full rate compute a
        product.
        """
        return self._is_fast(product) and not self._is_wide(product)

    def is_full_rate(self, product: Product) -> bool:
        """Return `True` if matrix instructions of the full rate compute a product."""
        return self._is_fast(product) and self._is_wide(product)

    def _is_fast(self, product: Product) -> bool:
        """Return `True` if matrix instructions compute a product."""
        return self.is_matrix(product) and self.chip.rate(product.element) is not None

    def is_fused(self, product: Product) -> bool:
        """
        Return `True` if lanes compute a product, one term of the sum at each step.
        """
        return self.is_matrix(product) and self.chip.rate(product.element) is None

    def across(self, tiled: TiledOperation, warps: int) -> Busy:
        """
        The time in which warps tell each other what they have of a reduction, through
        shared memory: where it goes across the rows of what it reads in memory.
        """
        if not self.is_reduced(tiled) or not tiled.reads:
            return NOTHING
        operand, box = max(
            ((place, box) for place, box in enumerate(tiled.reads) if box is not None),
            key=lambda each: elements(each[1]),
        )
        last = (tiled.form.operands[operand] or ())[-1:]
        if any(access.uses({*tiled.form.reductions}) for access in last):
            return NOTHING
        width = dtype_of(tensor_type(tiled.op.operands[operand]).element_type).itemsize
        parts = elements(box) * width // (VECTOR * self.chip.gpu.warp)
        results = elements(tiled.result)
        return Busy(shared=EXCHANGE * results * max(1, min(warps, parts)))

    def waits(self, tiled: TiledOperation, warps: int) -> float:
        """Cycles until all warps have combined what each of them has of a reduction."""
        if not self.is_reduced(tiled):
            return 0.0
        gpu = self.chip.gpu
        rounds = log2(gpu.warp) + log2(warps)
        each = ceil(elements(tiled.box) / (gpu.warp * warps))
        results = min(elements(tiled.result), each)
        # A warp exchanges one value of each thread with each round.
        exchanged = results * log2(gpu.warp) * warps * gpu.warp / gpu.load_lanes
        return rounds * self.chip.near_latency + exchanged

    def waits_for_rows(
        self, tiled: TiledOperation, warps: int, made: Product | None
    ) -> float:
        """
        The same where tiles have many rows, in a cascade or behind a product: those
        threads wait that have a part of one. Of what matrix instructions of full rate
        `made`, these are few.
        """
        if not self.is_reduced(tiled):
            return 0.0
        gpu, rows = self.chip.gpu, elements(tiled.result)
        spread = ROW
        if made is None or not self.is_full_rate(made):
            width = dtype_of(tensor_type(tiled.op.operands[0]).element_type).itemsize
            wanted = elements(tiled.box) // rows * width // VECTOR
            spread = max(1, min(gpu.warp * warps, wanted))
        rounds = log2(spread)
        exchanged = rows * spread * rounds / gpu.load_lanes
        return rounds * self.chip.near_latency + exchanged

    def is_reduced(self, tiled: TiledOperation) -> bool:
        """Return `True` if threads combine their partial results of an operation."""
        if not tiled.form.is_accumulating:
            return False
        return not tiled.form.is_product or not self.is_matrix(self.product(tiled))

    def _lanes(self, steps: float) -> Busy:
        return Busy(lanes=steps / self.chip.lanes)

    def _each(self, op: TilingInterface) -> Busy:
        """The time of one element."""
        if op not in self.steps:
            self.steps[op] = NOTHING if is_contracted(op) else self._element(op)
        return self.steps[op]

    def _element(self, op: TilingInterface) -> Busy:
        count = max(1, tensor_type(op.results[0]).element_count())
        steps, special = lane_steps(op, self.target), special_steps(op, self.target)
        each = special / self.chip.special if self.chip.special else 0.0
        return self._lanes(steps / count) + Busy(special=each / count)

    def _product(self, tiled: TiledOperation, warps: int) -> Busy:
        product = self.product(tiled)
        rate = self.chip.rate(product.element)
        if rate is None or not self.is_matrix(product):
            # A product and a sum are one step where they are fused.
            fused = 2 if self.is_matrix(product) else 1
            return self._lanes(product.flops / fused)
        shared = self._read(product, warps) + product.factors + self._copied(tiled)
        return Busy(
            matrix=product.flops / (rate * self._share(product)),
            shared=shared / self.chip.gpu.shared_bandwidth,
        )

    def is_folded(self, tiled: TiledOperation, operand: int) -> bool:
        """
        Return `True` if several axes of a factor are collapsed into one, which threads
        do before the product.
        """
        box = region(tiled.form.operands[operand] or (), tiled.box)
        return sum(interval.room > 1 for interval in box) > MATRIX

    def _copied(self, tiled: TiledOperation) -> float:
        """
        Bytes that folded factors move once more through shared memory. What is across
        the rows that it is stored in lies in the same banks.
        """
        total = 0.0
        for operand, value in enumerate(tiled.op.operands[:2]):
            if self.is_folded(tiled, operand):
                box = region(tiled.form.operands[operand] or (), tiled.box)
                width = dtype_of(tensor_type(value).element_type).itemsize
                times = CONFLICTS if self._is_across(tiled, operand) else 2
                total += times * elements(box) * width
        return total

    def _is_across(self, tiled: TiledOperation, operand: int) -> bool:
        """
        Return `True` if the reduction axis lies the other way in a factor than in its
        matrix: a transposed operand.
        """
        roles = roles_along(tiled, operand)
        rows = "n" if self.is_exchanged(tiled) else "m"
        last = roles[-1] if roles else "k"
        return (last != "k") if rows in roles else (last == "k")

    def _share(self, product: Product) -> float:
        """The share of the full rate that instructions for a product have."""
        return 1.0 if self._is_wide(product) else self.chip.gpu.narrow

    def _is_wide(self, product: Product) -> bool:
        """
        Return `True` if a product has the shape that matrix instructions of the full
        rate need.
        """
        return product.rows >= self.chip.gpu.matrix_rows and product.batch == 1

    def _read(self, product: Product, warps: int) -> float:
        """
        Bytes that matrix instructions read of shared memory: those of one group of
        warps read a strip of rows, and all columns that the group has.
        """
        rows = self.chip.gpu.matrix_rows
        strips = ceil(product.rows / rows)
        groups = max(1, warps // WARP_GROUP)
        across = max(1, groups // strips)
        read = product.rows * across + product.columns * strips
        return float(product.batch * product.width * product.depth * read)


def volume(product: Product) -> int:
    """The elements of a product before they are summed."""
    return prod((product.batch, product.rows, product.columns, product.depth))
