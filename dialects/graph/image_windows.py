"""Window geometry of the convolution and pooling operations of the `graph` dialect."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, IntegerType
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.graph.tensor_types import shape_of, to_integers_attribute
from tlf.dialects.graph.unfold import UnfoldOp
from tlf.dialects.interfaces import Array, Scalar, to_affine_map
from tlf.support.affine.index_access import Accesses, IndexAccess

IMAGE_AXES = range(2, 4)
"""Axes of N x C x H x W images that windows slide over."""


def to_padding_property(
    padding_counts: Sequence[tuple[int, int]],
) -> DenseArrayBase[IntegerType]:
    """Return the padding property, given (before, after) counts along all axes."""
    before = [low for low, _ in padding_counts[2:]]
    return to_integers_attribute([*before, *(high for _, high in padding_counts[2:])])


def _replace_unselected_numbers(
    numbers: Sequence[int], is_selected: Sequence[bool], default: int
) -> tuple[int, ...]:
    """Return the numbers with unselected ones replaced by a default."""
    return tuple(
        n if keep else default for n, keep in zip(numbers, is_selected, strict=True)
    )


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

    def verify_parameters(self, rank: int) -> None:
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
    def is_pointwise(self) -> bool:
        """True if every window is one element, and every element has a window."""
        ones = (*self.taps, *self.strides)
        return all(each == 1 for each in ones) and not any(self.padding)

    def restrict_to_axes(self, axes: Collection[int]) -> Window:
        """Return the window restricted to some axes, with one tap along the others."""
        selected = [axis in axes for axis in range(self.rank)]
        return Window(
            _replace_unselected_numbers(self.taps, selected, 1),
            _replace_unselected_numbers(self.strides, selected, 1),
            _replace_unselected_numbers(self.padding, 2 * selected, 0),
            _replace_unselected_numbers(self.dilation, selected, 1),
        )

    def count_window_elements(self, image_extents: Sequence[int]) -> Array:
        """
        Return the number of image elements in each window; `image_extents` are the
        extents of the image along the axes of the window.
        """
        counts = (
            self._count_window_elements_along(axis, extent)
            for axis, extent in enumerate(image_extents)
        )
        return reduce(np.multiply.outer, counts)

    def _count_window_elements_along(self, axis: int, image_extent: int) -> Array:
        """Return the number of in-bounds elements of each window along an axis."""
        windows = (
            np.arange(self._output_extent(axis, image_extent)) * self.strides[axis]
        )
        taps = np.arange(self.taps[axis]) * self.dilation[axis]
        positions = windows[:, None] + taps - self.padding[axis]
        return ((positions >= 0) & (positions < image_extent)).sum(1)

    def output_extents(self, image_shape: Sequence[int]) -> tuple[int, ...]:
        """Return the number of windows along each axis of images of a shape."""
        return tuple(
            self._output_extent(axis, image_shape[2 + axis])
            for axis in range(self.rank)
        )

    def _output_extent(self, axis: int, image_extent: int) -> int:
        """
        Return the number of windows along `axis`; raise `VerifyException` if the padded
        image is shorter than a window.
        """
        padded = image_extent + self.padding[axis] + self.padding[self.rank + axis]
        span = self.dilation[axis] * (self.taps[axis] - 1) + 1
        if padded < span:
            raise VerifyException(
                f"expected a padded image of at least {span} along axis {2 + axis}, "
                f"got {padded}"
            )
        return (padded - span) // self.strides[axis] + 1

    def image_accesses(
        self, window_iterators: Sequence[int], tap_iterators: Sequence[int]
    ) -> Accesses:
        """
        Return the access along each axis, given the iterators of windows and the
        iterators of the elements of a window.
        """
        return tuple(
            IndexAccess(
                (
                    (window_iterators[axis], self.strides[axis]),
                    *self._tap_index_term(axis, tap_iterators[axis]),
                ),
                offset=-self.padding[axis],
            )
            for axis in range(self.rank)
        )

    def _tap_index_term(self, axis: int, iterator: int) -> tuple[tuple[int, int], ...]:
        """Return the term of a tap iterator in an index; empty for a single tap."""
        return ((iterator, self.dilation[axis]),) if self.taps[axis] > 1 else ()

    def iterate_tap_arrays(self, images: Array, fill: Scalar) -> Iterator[Array]:
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
            yield padded[:, :, *self._image_slices_of_tap(tap, extents)]

    def _image_slices_of_tap(
        self, tap_index: Sequence[int], window_counts: Sequence[int]
    ) -> list[slice]:
        """
        Return, per axis that windows slide over, the strided slice of the padded images
        that one tap of all windows reads.
        """
        return [
            slice(
                index * dilation, index * dilation + stride * (extent - 1) + 1, stride
            )
            for index, dilation, stride, extent in zip(
                tap_index, self.dilation, self.strides, window_counts, strict=True
            )
        ]

    def build_unfold(
        self, images: SSAValue, fill: Scalar, group_count: int = 1
    ) -> UnfoldOp:
        """
        Build the unfold of images into N x C x taps x windows, where C becomes groups x
        C/groups if there are several groups.
        """
        count, channels, *_ = shape_of(images)
        per_group = channels // group_count
        shape = [count, *((group_count,) if group_count > 1 else ()), per_group]
        first = len(shape)
        shape = [*shape, *self.taps, *self.output_extents(shape_of(images))]
        channel = IndexAccess.of_iterator(1)
        if group_count > 1:
            channel = IndexAccess(((1, per_group), (2, 1)))
        last = first + self.rank
        spatial = self.image_accesses(
            range(last, last + self.rank),
            range(first, last),
        )
        map_ = to_affine_map(
            (IndexAccess.of_iterator(0), channel, *spatial), len(shape)
        )
        return UnfoldOp(images, map_.data, shape, fill)
