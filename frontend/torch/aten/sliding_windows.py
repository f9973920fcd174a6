"""
Import of ATen window operations from PyTorch: parameters of sliding windows over any
number of axes, and their elements gathered by an operation of `graph`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import shape_of
from tlf.frontend.torch.emitter import Emitter, Number


def broadcast_to_axes(values: int | Sequence[int], rank: int) -> tuple[int, ...]:
    """Return one number per axis, given one per axis or one for all axes."""
    if isinstance(values, int):
        return (values,) * rank
    return tuple(values) * (rank if len(values) == 1 else 1)


@dataclass(frozen=True)
class SlidingWindows:
    """Sliding windows over the last axes of a tensor; one number per axis."""

    taps: tuple[int, ...]
    strides: tuple[int, ...]
    low_padding: tuple[int, ...]
    """
    Number of positions by which the first window extends before the first element.
    """
    dilation: tuple[int, ...]

    def high_padding(
        self, extents: Sequence[int], window_counts: Sequence[int]
    ) -> tuple[int, ...]:
        """
        Return the number of positions by which the last of `window_counts` windows
        extends after the last element of each axis; at least the number by which the
        first window extends before the first element.
        """
        parameters = zip(
            self.taps,
            self.strides,
            self.low_padding,
            self.dilation,
            extents,
            window_counts,
            strict=True,
        )
        return tuple(
            max(low, (count - 1) * stride + by * (tap - 1) + 1 - low - extent)
            for tap, stride, low, by, extent, count in parameters
        )

    def gather_window_elements(
        self, emitter: Emitter, x: SSAValue, window_counts: Sequence[int], fill: Number
    ) -> SSAValue:
        """
        Emit the elements of windows, `window_counts` per axis: from shape (outer, axes)
        to (outer, taps, counts). Out-of-bounds elements are `fill`.
        """
        rank = len(self.taps)
        outer = shape_of(x)[:-rank]
        shape = (*outer, *self.taps, *window_counts)
        axes = [AffineExpr.dimension(axis) for axis in range(len(shape))]
        results = axes[: len(outer)]
        for axis in range(rank):
            tap = axes[len(outer) + axis] * self.dilation[axis]
            start = axes[len(outer) + rank + axis] * self.strides[axis]
            results.append(start + tap + AffineExpr.constant(-self.low_padding[axis]))
        map_ = AffineMap(len(shape), 0, tuple(results))
        return emitter.emit(graph.UnfoldOp(x, map_, shape, fill))
