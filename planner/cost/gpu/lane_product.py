"""Cost model of a matrix product that the lanes of a GPU compute from shared memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, gcd

from tlf.planner.cost.gpu.thread_layout import ThreadLayout
from tlf.planner.settings.gpu_calibration import LANE_PRODUCTS

BANK_BYTES = 4
"""Bytes of a row of one bank of shared memory."""


@dataclass(frozen=True)
class LaneProduct:
    """
    Distribution over threads of the tile of a product without matrix instructions.

    A thread multiplies the rows and columns that it has of the result, in blocks, and
    reads the factors from shared memory, in vectors along their contiguous axes.
    """

    batch: int
    rows: int
    columns: int
    depth: int
    width: int
    """Bytes per element of the factors."""
    has_depth_last: tuple[bool, bool]
    """True for a factor, left then right, whose depth is contiguous."""
    lane_count: int
    warp_count: int

    @cached_property
    def block(self) -> int:
        """Rows, and columns, of a block of the result in one thread."""
        threads = self.lane_count * self.warp_count
        elements = self.batch * self.rows * self.columns // threads
        return next((n for n in LANE_PRODUCTS.block_extents if elements >= n * n), 1)

    @cached_property
    def _layout(self) -> ThreadLayout:
        extents = (
            self.batch,
            max(1, self.rows // self.block),
            max(1, self.columns // self.block),
        )
        return ThreadLayout.of_tile(extents, 1, self.lane_count, self.warp_count)

    @property
    def thread_extents(self) -> tuple[int, int]:
        """Rows and columns of the result that a thread computes."""
        rows, columns = (
            max(
                self.block,
                extent // (self._layout.lanes[axis] * self._layout.warps[axis]),
            )
            for axis, extent in ((1, self.rows), (2, self.columns))
        )
        batches = ceil(self.batch / (self._layout.lanes[0] * self._layout.warps[0]))
        return batches * rows, columns

    @property
    def read_cycles(self) -> int:
        """Cycles in which shared memory reads the factors for all warps."""
        rows, columns = self.thread_extents
        each = self._read_cycles_of(0, rows) + self._read_cycles_of(1, columns)
        return self.warp_count * each

    def _read_cycles_of(self, factor: int, extent: int) -> int:
        """
        Return the cycles in which a warp reads a factor, of which each thread has
        `extent` rows or columns.
        """
        is_depth_last = self.has_depth_last[factor]
        contiguous = self.depth if is_depth_last else self.block
        vector = min(contiguous, LANE_PRODUCTS.vector_bytes // self.width)
        reads = ceil(extent * self.depth / vector)
        stride = self.block * (self.depth if is_depth_last else 1) * self.width
        return reads * self._cycles_of_read(factor, vector * self.width, stride)

    def _cycles_of_read(self, factor: int, vector_bytes: int, stride: int) -> int:
        """
        Return the cycles of one read of a warp, whose lanes along the factor read at a
        stride in bytes. Shared memory serves as many neighbouring lanes at once as fill
        its banks. Lanes along the other axis read the same elements: if these are
        neighbours, all lanes are served at once.
        """
        lanes = self._layout.lanes[1 + factor]
        is_shared_by_neighbours = self._layout.lanes[2] > 1 and factor == 0
        row = LANE_PRODUCTS.banks * BANK_BYTES
        served = self.lane_count if is_shared_by_neighbours else row // vector_bytes
        phases = max(1, self.lane_count // served)
        distinct = min(lanes, served)
        positions = row // vector_bytes
        step = max(1, stride // vector_bytes)
        return phases * ceil(distinct / (positions // gcd(positions, step)))

    @property
    def slowdown(self) -> float:
        """Slowdown of the multiplications by the order of the left factor."""
        return LANE_PRODUCTS.depth_last_slowdown if self.has_depth_last[0] else 1.0

    @property
    def register_bytes(self) -> int:
        """Bytes of the parts of the factors that a thread holds at a time."""
        return self.width * sum(
            extent * min(self.depth, LANE_PRODUCTS.vector_bytes // self.width)
            for extent in self.thread_extents
        )
