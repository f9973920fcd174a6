"""Reads of windows as the rows of a tile: contiguous bytes and footprints in memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import gcd, prod

from tlf.planner.cost.gpu.global_tensor import GlobalTensor
from tlf.planner.settings.gpu_calibration import TRITON_CALIBRATION
from tlf.support.affine.delinearized_access import DelinearizedAccess, Digit
from tlf.support.affine.index_access import Box


@dataclass(frozen=True)
class WindowRead:
    """Read of a stored tensor over the digits of the axes of a value."""

    tensor: GlobalTensor
    access: DelinearizedAccess

    def contiguous_bytes(self, box: Box) -> int:
        """Return the bytes of each contiguous run that a tile reads, at most."""
        if (digit := self._contiguous_digit) is None:
            return self.tensor.item_bytes
        spans = self.access.digit_spans([interval.size for interval in box])
        return spans[self.access.digits.index(digit)] * self.tensor.item_bytes

    def aligned_load_bytes(self, box: Box) -> int:
        """
        Return the bytes that a thread can load at once: elements of one run, of which
        each starts at a multiple of these bytes.
        """
        item = self.tensor.item_bytes
        digit = self._contiguous_digit
        if digit is None or digit.stride > 1:
            return item
        run = gcd(box[digit.axis].size, digit.extent) * item
        strides = (
            stride
            for axis, stride in enumerate(self.tensor.strides)
            if axis != self._contiguous_axis and self.tensor.shape[axis] > 1
        )
        limits = (run, self._run_alignment, *strides)
        return max(item, gcd(TRITON_CALIBRATION.vector_bytes, *limits))

    def sector_bytes_per_byte(self, run_bytes: int, sector_bytes: int) -> float:
        """Return the bytes in the sectors of a run, divided by its own."""
        is_aligned = self._run_alignment % sector_bytes == 0
        if run_bytes % sector_bytes == 0 and is_aligned:
            return 1.0
        return (run_bytes + sector_bytes - self.tensor.item_bytes) / run_bytes

    def footprint_bytes(self, box: Box) -> float:
        """
        Return an estimate of the bytes of all elements that are read for a box of the
        value: those of the smallest box that contains them, at most one per element.
        """
        tile = [interval.size for interval in box]
        spans = self.access.digit_spans(tile)
        count = 1
        for access, extent in zip(self.access.accesses, self.tensor.shape, strict=True):
            low, high = access.index_bounds(spans)
            count *= min(extent, high - low + 1)
        inside = map(min, tile, self.access.shape)
        return float(min(count, prod(inside)) * self.tensor.item_bytes)

    def mean_footprint_bytes(self, box: Box) -> float:
        """
        Return the bytes of the smallest box that contains all elements which are read
        for a box of the value, in the mean over its offsets.
        """
        sizes = [interval.size for interval in box]
        spans = [
            min(digit.extent, 1 + (sizes[digit.axis] - 1) / digit.stride)
            for digit in self.access.digits
        ]
        count = float(self.tensor.item_bytes)
        for access, extent in zip(self.access.accesses, self.tensor.shape, strict=True):
            steps = (abs(factor) * (spans[dim] - 1) for dim, factor in access.terms)
            count *= min(extent, 1 + sum(steps))
        return count

    def footprint_row_bytes(self, box: Box) -> int:
        """Return the contiguous bytes of the smallest box around all elements."""
        item, axis = self.tensor.item_bytes, self._contiguous_axis
        if axis is None:
            return item
        spans = self.access.digit_spans([interval.size for interval in box])
        low, high = self.access.accesses[axis].index_bounds(spans)
        return min(self.tensor.shape[axis], high - low + 1) * item

    def line_bytes_per_byte(self, box: Box, warp_bytes: int, line_bytes: int) -> float:
        """
        Return the bytes of the lines that the threads of a warp access at once, divided
        by the `warp_bytes` that they load, at most.
        """
        step = self._innermost_step
        if step <= 1:
            run = min(self.contiguous_bytes(box), warp_bytes)
            return self.sector_bytes_per_byte(run, line_bytes)
        spans = self.access.digit_spans([interval.size for interval in box])
        loaded = min(spans[-1] * self.tensor.item_bytes, warp_bytes)
        return (loaded * step + line_bytes - self.tensor.item_bytes) / loaded

    @cached_property
    def _innermost_step(self) -> int:
        """Distance along the contiguous axis of neighbours along the last digit."""
        if self._contiguous_axis is None:
            return 1
        access = self.access.accesses[self._contiguous_axis]
        return abs(access.coefficient_of(len(self.access.digits) - 1))

    @property
    def padded_axis_count(self) -> int:
        """Number of axes along which elements are read from outside of the tensor."""
        bounds = (
            each.index_bounds(self.access.domain_extents)
            for each in self.access.accesses
        )
        pairs = zip(bounds, self.tensor.shape, strict=True)
        return sum(low < 0 or high >= extent for (low, high), extent in pairs)

    @cached_property
    def _contiguous_axis(self) -> int | None:
        """Innermost axis in memory with several elements."""
        order = self.tensor.axis_order
        return next(
            (axis for axis in reversed(order) if self.tensor.shape[axis] > 1), None
        )

    @cached_property
    def _contiguous_digit(self) -> Digit | None:
        """Digit with the longest runs of those that move by single elements."""
        if self._contiguous_axis is None:
            return None
        access = self.access.accesses[self._contiguous_axis]
        digits = (
            self.access.digits[dimension]
            for dimension, factor in access.terms
            if factor == 1
        )
        order = ((digit.stride, -digit.extent, digit) for digit in digits)
        return min(order, key=lambda each: each[:2], default=(0, 0, None))[2]

    @cached_property
    def _run_alignment(self) -> int:
        """Bytes that the starts of all runs are multiples of, or 0 for no limit."""
        if self._contiguous_axis is None:
            return self.tensor.item_bytes
        access, run = (
            self.access.accesses[self._contiguous_axis],
            self._contiguous_digit,
        )
        others = [
            factor
            for dimension, factor in access.terms
            if self.access.digits[dimension] != run
        ]
        return gcd(access.offset, *others) * self.tensor.item_bytes
