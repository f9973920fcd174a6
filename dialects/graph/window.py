"""How windows move over images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.access import Access, Accesses
from tlf.dialects.graph.tensors import shape_of
from tlf.dialects.graph.unfold import UnfoldOp
from tlf.dialects.interfaces import Scalar, indexing_map


@dataclass(frozen=True)
class Window:
    """
    How windows of `taps` rows and columns move over images. `padding` is top, left,
    bottom, right.
    """

    taps: tuple[int, ...]
    strides: tuple[int, ...] = (1, 1)
    padding: tuple[int, ...] = (0, 0, 0, 0)
    dilation: tuple[int, ...] = (1, 1)

    def verify(self) -> None:
        """Check the numbers by themselves."""
        checks = (
            ("kernel", self.taps, 2, 1),
            ("strides", self.strides, 2, 1),
            ("padding", self.padding, 4, 0),
            ("dilation", self.dilation, 2, 1),
        )
        for what, numbers, count, least in checks:
            if len(numbers) != count or min(numbers) < least:
                raise VerifyException(
                    f"expected {count} numbers of at least {least} for {what}, "
                    f"got {list(numbers)}"
                )

    @property
    def is_point(self) -> bool:
        """Whether every window is one element, and every element has one."""
        ones = (*self.taps, *self.strides)
        return all(each == 1 for each in ones) and not any(self.padding)

    def extents(self, images: Sequence[int]) -> tuple[int, ...]:
        """How many windows there are along rows and columns of N x C x H x W images."""
        return tuple(self._extent(axis, images[2 + axis]) for axis in range(2))

    def _extent(self, axis: int, extent: int) -> int:
        padded = extent + self.padding[axis] + self.padding[2 + axis]
        span = self.dilation[axis] * (self.taps[axis] - 1) + 1
        if padded < span:
            raise VerifyException(
                f"expected a padded image of at least {span} along axis {2 + axis}, "
                f"got {padded}"
            )
        return (padded - span) // self.strides[axis] + 1

    def accesses(self, positions: Sequence[int], taps: Sequence[int]) -> Accesses:
        """
        Which row and column is read, given the iterators of windows, and those of the
        elements of each.
        """
        return tuple(
            Access(
                (
                    (positions[axis], self.strides[axis]),
                    *self._tap(axis, taps[axis]),
                ),
                offset=-self.padding[axis],
            )
            for axis in range(2)
        )

    def _tap(self, axis: int, iterator: int) -> tuple[tuple[int, int], ...]:
        """What the element of a window adds to an index: nothing if there is one."""
        return ((iterator, self.dilation[axis]),) if self.taps[axis] > 1 else ()

    def slices(self, tap: Sequence[int], extents: Sequence[int]) -> list[slice]:
        """The padded rows and columns that one element of all windows meets."""
        return [
            slice(at * dilation, at * dilation + stride * (extent - 1) + 1, stride)
            for at, dilation, stride, extent in zip(
                tap, self.dilation, self.strides, extents, strict=True
            )
        ]

    def unfolded(self, images: SSAValue, fill: Scalar, groups: int = 1) -> UnfoldOp:
        """
        The windows of images, as N x C x KH x KW x OH x OW; C becomes groups x
        C/groups where there are several groups.
        """
        count, channels, *_ = shape_of(images)
        per_group = channels // groups
        shape = [count, *((groups,) if groups > 1 else ()), per_group]
        rank = len(shape)
        shape = [*shape, *self.taps, *self.extents(shape_of(images))]
        channel = Access.of(1)
        if groups > 1:
            channel = Access(((1, per_group), (2, 1)))
        spatial = self.accesses((rank + 2, rank + 3), (rank, rank + 1))
        gathered = indexing_map((Access.of(0), channel, *spatial), len(shape))
        return UnfoldOp(images, gathered.data, shape, fill)
