"""Window geometry of convolution and pooling operations over images."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, IntegerType
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.graph.tensor_types import integers_attribute, shape_of
from tlf.dialects.graph.unfold import UnfoldOp
from tlf.dialects.interfaces import Array, Scalar, to_affine_map
from tlf.support.affine.index_access import Accesses, IndexAccess

IMAGE_AXES = range(2, 4)
"""Axes of N x C x H x W images that windows slide over."""


def padding_of(outside: Sequence[tuple[int, int]]) -> DenseArrayBase[IntegerType]:
    """Return the padding property, given (before, after) counts along all axes."""
    before = [low for low, _ in outside[2:]]
    return integers_attribute([*before, *(high for _, high in outside[2:])])


def _select_or_default(
    numbers: Sequence[int], kept: Sequence[bool], other: int
) -> tuple[int, ...]:
    """Return the numbers with unselected ones replaced by a default."""
    return tuple(n if keep else other for n, keep in zip(numbers, kept, strict=True))


@dataclass(frozen=True)
class Window:
    """
    Sliding windows of `taps` elements over the axes of images, N x C x axes. `padding`
    lists the padding before the first element of each axis, then after the last.
    """

    taps: tuple[int, ...]
    strides: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]

    def verify(self, rank: int) -> None:
        """Check the parameters of windows over `rank` axes, independently of images."""
        checks = (
            ("kernel", self.taps, rank, 1),
            ("strides", self.strides, rank, 1),
            ("padding", self.padding, 2 * rank, 0),
            ("dilation", self.dilation, rank, 1),
        )
        for what, numbers, count, least in checks:
            if len(numbers) != count or min(numbers) < least:
                raise VerifyException(
                    f"expected {count} numbers of at least {least} for {what}, "
                    f"got {list(numbers)}"
                )

    @property
    def rank(self) -> int:
        """Number of axes that windows slide over."""
        return len(self.taps)

    @property
    def is_point(self) -> bool:
        """True if every window is one element, and every element has a window."""
        ones = (*self.taps, *self.strides)
        return all(each == 1 for each in ones) and not any(self.padding)

    def restrict_to_axes(self, axes: Collection[int]) -> Window:
        """Return the window restricted to some axes, with one tap along the others."""
        selected = [axis in axes for axis in range(self.rank)]
        return Window(
            _select_or_default(self.taps, selected, 1),
            _select_or_default(self.strides, selected, 1),
            _select_or_default(self.padding, 2 * selected, 0),
            _select_or_default(self.dilation, selected, 1),
        )

    def count_elements(self, images: Sequence[int]) -> Array:
        """
        Return the number of image elements in each window; `images` are the extents of
        the image along the axes of the window.
        """
        counts = (
            self._count_elements_along(axis, extent)
            for axis, extent in enumerate(images)
        )
        return reduce(np.multiply.outer, counts)

    def _count_elements_along(self, axis: int, extent: int) -> Array:
        """Return the number of in-bounds elements of each window along an axis."""
        windows = np.arange(self._output_extent(axis, extent)) * self.strides[axis]
        taps = np.arange(self.taps[axis]) * self.dilation[axis]
        positions = windows[:, None] + taps - self.padding[axis]
        return ((positions >= 0) & (positions < extent)).sum(1)

    def output_extents(self, images: Sequence[int]) -> tuple[int, ...]:
        """Return the number of windows along each axis of images of a shape."""
        return tuple(
            self._output_extent(axis, images[2 + axis]) for axis in range(self.rank)
        )

    def _output_extent(self, axis: int, extent: int) -> int:
        padded = extent + self.padding[axis] + self.padding[self.rank + axis]
        span = self.dilation[axis] * (self.taps[axis] - 1) + 1
        if padded < span:
            raise VerifyException(
                f"expected a padded image of at least {span} along axis {2 + axis}, "
                f"got {padded}"
            )
        return (padded - span) // self.strides[axis] + 1

    def accesses(self, positions: Sequence[int], taps: Sequence[int]) -> Accesses:
        """
        Return the access along each axis, given the iterators of windows and the
        iterators of the elements of a window.
        """
        return tuple(
            IndexAccess(
                (
                    (positions[axis], self.strides[axis]),
                    *self._tap_term(axis, taps[axis]),
                ),
                offset=-self.padding[axis],
            )
            for axis in range(self.rank)
        )

    def _tap_term(self, axis: int, iterator: int) -> tuple[tuple[int, int], ...]:
        """Return the term of a tap iterator in an index; empty for a single tap."""
        return ((iterator, self.dilation[axis]),) if self.taps[axis] > 1 else ()

    def iterate_taps(self, images: Array, fill: Scalar) -> Iterator[Array]:
        """
        Yield, for each tap in row-major order, the elements of all windows, N x C x
        windows, with `fill` outside of the images.
        """
        sides = zip(self.padding[: self.rank], self.padding[self.rank :], strict=True)
        padded = np.pad(
            images,
            ((0, 0), (0, 0), *sides),
            constant_values=images.dtype.type(fill),
        )
        extents = self.output_extents(images.shape)
        for tap in np.ndindex(*self.taps):
            yield padded[:, :, *self._tap_slices(tap, extents)]

    def _tap_slices(self, tap: Sequence[int], extents: Sequence[int]) -> list[slice]:
        """Return the slices of the padded images that one tap reads."""
        return [
            slice(
                index * dilation, index * dilation + stride * (extent - 1) + 1, stride
            )
            for index, dilation, stride, extent in zip(
                tap, self.dilation, self.strides, extents, strict=True
            )
        ]

    def build_unfold(self, images: SSAValue, fill: Scalar, groups: int = 1) -> UnfoldOp:
        """
        Build the unfold of images into N x C x taps x windows, where C becomes groups x
        C/groups if there are several groups.
        """
        count, channels, *_ = shape_of(images)
        per_group = channels // groups
        shape = [count, *((groups,) if groups > 1 else ()), per_group]
        first = len(shape)
        shape = [*shape, *self.taps, *self.output_extents(shape_of(images))]
        channel = IndexAccess.of(1)
        if groups > 1:
            channel = IndexAccess(((1, per_group), (2, 1)))
        last = first + self.rank
        spatial = self.accesses(
            range(last, last + self.rank),
            range(first, last),
        )
        map_ = to_affine_map((IndexAccess.of(0), channel, *spatial), len(shape))
        return UnfoldOp(images, map_.data, shape, fill)
