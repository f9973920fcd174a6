"""
Images of few channels, packed for loads: padded explicitly, with the channels and the
last axis of a pixel row as one axis, so that a row of a window is contiguous.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, prod

from xdsl.builder import Builder
from xdsl.ir import SSAValue

from tlf.dialects.graph.im2col import Im2colOp
from tlf.dialects.graph.image_windows import Window
from tlf.dialects.graph.movement import ReshapeOp, TransposeOp
from tlf.dialects.graph.padding import PadOp
from tlf.dialects.graph.tensor_types import shape_of
from tlf.dialects.interfaces import to_affine_map
from tlf.dialects.types import itemsize_of
from tlf.support.affine.index_access import IndexAccess

LOAD_BYTES = 16
"""Bytes that rows of packed images are a multiple of: the most of one load."""

MIN_PACKED_BYTES = 8
"""Least bytes of the channels of a packed pixel."""


@dataclass(frozen=True)
class PackedImages:
    """
    Images N x C x axes of few channels that windows read, without dilation along the
    last axis.
    """

    images: SSAValue
    window: Window

    @property
    def is_worthwhile(self) -> bool:
        """
        True if windows have several taps along rows, packed pixels fill loads, and
        loads of rows of the images themselves would be narrower.
        """
        window, item = self.window, itemsize_of(self.images)
        taps, stride = window.taps[-1], window.strides[-1]
        if taps == 1 or window.dilation[-1] > 1:
            return False
        row_bytes = gcd(taps, stride, window.padding[window.rank - 1]) * item
        packed_bytes = self._channel_count * item
        return packed_bytes >= MIN_PACKED_BYTES > row_bytes

    @property
    def _channel_count(self) -> int:
        """Channels of a packed pixel, a power of two."""
        return 1 << (shape_of(self.images)[1] - 1).bit_length()

    @property
    def _output_extents(self) -> tuple[int, ...]:
        return self.window.output_extents(shape_of(self.images))

    @property
    def _padded_extents(self) -> tuple[int, ...]:
        """
        Extents of the axes that windows slide over, with all that windows read, and
        with rows of whole loads.
        """
        axes = zip(
            self._output_extents,
            self.window.strides,
            self.window.taps,
            self.window.dilation,
            strict=True,
        )
        extents = [
            (count - 1) * stride + dilation * (taps - 1) + 1
            for count, stride, taps, dilation in axes
        ]
        pixel_bytes = self._channel_count * itemsize_of(self.images)
        pixels = max(1, LOAD_BYTES // pixel_bytes)
        extents[-1] = -(-extents[-1] // pixels) * pixels
        return tuple(extents)

    def gather_window_rows(self, builder: Builder) -> SSAValue:
        """Build the matrix of windows: windows x (outer taps, row taps, channels)."""
        rank, channels = self.window.rank, self._channel_count
        count, outputs = shape_of(self.images)[0], self._output_extents
        *outer, row_taps = self.window.taps
        basis = (
            (count, *outputs),
            (*outer, row_taps * channels),
        )
        taps = range(1 + rank, 2 * rank)
        spatial = [
            IndexAccess(((1 + axis, stride), (tap, dilation)))
            for axis, (stride, tap, dilation) in enumerate(
                zip(self.window.strides, taps, self.window.dilation, strict=False)
            )
        ]
        row = IndexAccess(((rank, self.window.strides[-1] * channels), (2 * rank, 1)))
        accesses = (IndexAccess.of_iterator(0), *spatial, row)
        map_ = to_affine_map(accesses, sum(map(len, basis))).data
        return builder.insert(Im2colOp(self._pack(builder), map_, basis)).result

    def _pack(self, builder: Builder) -> SSAValue:
        """Build the padded images, with channels last and merged with the last axis."""
        rank, count = self.window.rank, shape_of(self.images)[0]
        extents, channels = self._padded_extents, self._channel_count
        basis = ((count,), *((n,) for n in extents[:-1]), (extents[-1], channels))
        padding = self.window.padding[:rank]
        spatial = (
            IndexAccess(((1 + axis, 1),), offset=-before)
            for axis, before in enumerate(padding)
        )
        accesses = (
            IndexAccess.of_iterator(0),
            IndexAccess.of_iterator(1 + rank),
            *spatial,
        )
        map_ = to_affine_map(accesses, rank + 2).data
        return builder.insert(Im2colOp(self.images, map_, basis)).result

    def build_filter_rows(self, builder: Builder, filters: SSAValue) -> SSAValue:
        """Build the matrix of filters, F x C x taps, with the columns of windows."""
        count, depth, *taps = shape_of(filters)
        order = [0, *range(2, 2 + len(taps)), 1]
        moved = builder.insert(TransposeOp(filters, order)).result
        after = [0] * (2 + len(taps))
        after[-1] = self._channel_count - depth
        if any(after):
            moved = builder.insert(PadOp(moved, [0] * len(after), after)).result
        columns = prod(taps) * self._channel_count
        return builder.insert(ReshapeOp(moved, [count, columns])).result
