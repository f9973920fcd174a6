"""Sliding windows over images."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, IntegerType
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.graph.tensors import axes_attribute, shape_of
from tlf.dialects.graph.unfold import UnfoldOp
from tlf.dialects.interfaces import Array, Scalar, indexing_map
from tlf.support.affine.access import Access, Accesses

IMAGE_AXES = range(2, 4)
"""The axes of N x C x H x W images that windows move over."""


def padding_of(outside: Sequence[tuple[int, int]]) -> DenseArrayBase[IntegerType]:
    """The padding of images, N x C x axes, that lack elements before and after."""
    before = [low for low, _ in outside[2:]]
    return axes_attribute([*before, *(high for _, high in outside[2:])])


def _only(numbers: Sequence[int], kept: Sequence[bool], other: int) -> tuple[int, ...]:
    """The numbers that are kept, and another one in place of those that are not."""
    return tuple(n if keep else other for n, keep in zip(numbers, kept, strict=True))


@dataclass(frozen=True)
class Window:
    """
    Sliding windows of `taps` elements over the axes of images, N x C x axes. `padding`
    is that before the first element of each axis, then that after the last.
    """

    taps: tuple[int, ...]
    strides: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]

    def verify(self, rank: int) -> None:
        """Check the numbers by themselves, those of `rank` axes."""
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

    def along(self, axes: Collection[int]) -> Window:
        """The same windows along some axes, of one element along the others."""
        kept = [axis in axes for axis in range(self.rank)]
        return Window(
            _only(self.taps, kept, 1),
            _only(self.strides, kept, 1),
            _only(self.padding, 2 * kept, 0),
            _only(self.dilation, kept, 1),
        )

    def counts(self, images: Sequence[int]) -> Array:
        """
        Return the number of elements of the image in each window, for images of these
        extents along the axes.
        """
        counts = (self._counts(axis, extent) for axis, extent in enumerate(images))
        return reduce(np.multiply.outer, counts)

    def _counts(self, axis: int, extent: int) -> Array:
        """Return the number of positions of each window that lie within an axis."""
        windows = np.arange(self._extent(axis, extent)) * self.strides[axis]
        taps = np.arange(self.taps[axis]) * self.dilation[axis]
        places = windows[:, None] + taps - self.padding[axis]
        return ((places >= 0) & (places < extent)).sum(1)

    def extents(self, images: Sequence[int]) -> tuple[int, ...]:
        """Return the numbers of windows along the axes of images of a shape."""
        return tuple(self._extent(axis, images[2 + axis]) for axis in range(self.rank))

    def _extent(self, axis: int, extent: int) -> int:
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
        Return the access to the element that is read along each axis, given the
        iterators of windows and those of the elements of each window.
        """
        return tuple(
            Access(
                (
                    (positions[axis], self.strides[axis]),
                    *self._tap(axis, taps[axis]),
                ),
                offset=-self.padding[axis],
            )
            for axis in range(self.rank)
        )

    def _tap(self, axis: int, iterator: int) -> tuple[tuple[int, int], ...]:
        """
        Return the term of a window's element in an index; empty if there is only one.
        """
        return ((iterator, self.dilation[axis]),) if self.taps[axis] > 1 else ()

    def elements(self, images: Array, fill: Scalar) -> Iterator[Array]:
        """
        For each element of a window, in row-major order, what all windows have there,
        N x C x windows; `fill` outside of images.
        """
        sides = zip(self.padding[: self.rank], self.padding[self.rank :], strict=True)
        padded = np.pad(
            images,
            ((0, 0), (0, 0), *sides),
            constant_values=images.dtype.type(fill),
        )
        extents = self.extents(images.shape)
        for tap in np.ndindex(*self.taps):
            yield padded[:, :, *self._slices(tap, extents)]

    def _slices(self, tap: Sequence[int], extents: Sequence[int]) -> list[slice]:
        """The padded elements that one element of all windows meets."""
        return [
            slice(at * dilation, at * dilation + stride * (extent - 1) + 1, stride)
            for at, dilation, stride, extent in zip(
                tap, self.dilation, self.strides, extents, strict=True
            )
        ]

    def unfolded(self, images: SSAValue, fill: Scalar, groups: int = 1) -> UnfoldOp:
        """
        The windows of images, N x C x taps x windows; C becomes groups x C/groups where
        there are several groups.
        """
        count, channels, *_ = shape_of(images)
        per_group = channels // groups
        shape = [count, *((groups,) if groups > 1 else ()), per_group]
        first = len(shape)
        shape = [*shape, *self.taps, *self.extents(shape_of(images))]
        channel = Access.of(1)
        if groups > 1:
            channel = Access(((1, per_group), (2, 1)))
        last = first + self.rank
        spatial = self.accesses(
            range(last, last + self.rank),
            range(first, last),
        )
        gathered = indexing_map((Access.of(0), channel, *spatial), len(shape))
        return UnfoldOp(images, gathered.data, shape, fill)
