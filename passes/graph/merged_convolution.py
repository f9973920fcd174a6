"""
Helper of the pass `graph-merge-convolutions`: the one convolution that computes the
results of a family.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.correlation_rows import CorrelationRowsInterface
from tlf.dialects.graph.image_windows import Window
from tlf.dialects.graph.stored_images import CHANNEL_AXIS
from tlf.dialects.graph.tensor_types import to_integers_attribute
from tlf.dialects.types import tensor_type, tensor_type_like
from tlf.passes.graph.convolution_family import FIRST_WINDOW_AXIS, ConvolutionFamily
from tlf.passes.graph.permutations import reshape_to
from tlf.passes.graph.permuted_digits import Digit, PermutedDigits


@dataclass(frozen=True)
class MergedConvolution:
    """
    Convolution with the filters of all members of a family, whose windows contain those
    of the members.

    Where a concatenation interleaves windows, a window may be combined with the next
    windows of the first members instead of its own: members are rotated. Then there is
    one window more, and results before the first one are dropped.
    """

    family: ConvolutionFamily
    rotations: tuple[int, ...]
    """
    Number of members, along each axis of the family, that are combined with the windows
    before theirs.
    """

    @staticmethod
    def candidates_of(family: ConvolutionFamily) -> Iterator[MergedConvolution]:
        """
        Yield the convolution without rotation, and the one with the smallest windows if
        these are smaller.
        """
        none = (0,) * len(family.axes)
        plain = MergedConvolution(family, none)
        if plain.window is not None:
            yield plain
        rotations: list[int] = list(none)
        for level, count in enumerate(family.counts):
            if (axis := family.window_axis_before(level)) is None:
                continue
            taps = {
                each: plain._rotate(level, each)._tap_count_along(axis)
                for each in range(count)
            }
            rotations[level] = min(taps, key=lambda each: taps[each])
        rotated = MergedConvolution(family, tuple(rotations))
        if any(rotations) and rotated.window is not None:
            yield rotated

    @property
    def drops_results(self) -> bool:
        """True if results before the first one are computed and dropped."""
        return any(self.rotations)

    @property
    def window(self) -> Window | None:
        """Smallest window that contains all others; None if their grids differ."""
        own, image = self.family.window, tensor_type(self.family.first.images)
        taps, low, high = list[int](), list[int](), list[int]()
        for axis, extent in enumerate(image.get_shape()[FIRST_WINDOW_AXIS:]):
            starts, ends = self._ranges_along(axis)
            if any((each - starts[0]) % own.dilation[axis] for each in starts):
                return None
            taps.append(self._tap_count_along(axis))
            low.append(-min(starts))
            last = (self._window_counts[axis] - 1) * own.strides[axis]
            high.append(max(0, last + max(ends) + 1 - extent))
        if min(low) < 0:
            return None
        union = Window(tuple(taps), own.strides, (*low, *high), own.dilation)
        counts = union.output_extents(image.get_shape())
        return union if counts == self._window_counts else None

    def _rotate(self, level: int, count: int) -> MergedConvolution:
        """Return the convolution with another number of rotated members."""
        rotations = list(self.rotations)
        rotations[level] = count
        return MergedConvolution(self.family, tuple(rotations))

    @property
    def _window_counts(self) -> tuple[int, ...]:
        """Number of windows along each axis."""
        counts = list(self.family.window_counts)
        for level, rotation in enumerate(self.rotations):
            axis = self.family.window_axis_before(level)
            if rotation and axis is not None:
                counts[axis] += 1
        return tuple(counts)

    def _tap_count_along(self, axis: int) -> int:
        """Return the number of taps along an axis."""
        starts, ends = self._ranges_along(axis)
        distance = self.family.window.dilation[axis]
        return (max(ends) - min(starts)) // distance + 1

    def _ranges_along(self, axis: int) -> tuple[list[int], list[int]]:
        """Return the positions of the first and the last tap of each member."""
        starts, ends = list[int](), list[int]()
        for number, member in self.family.members.items():
            window = member.correlation.window
            shift = sum(self._window_shifts(number, axis)) * window.strides[axis]
            starts.append(-window.padding[axis] - shift)
            ends.append(starts[-1] + window.dilation[axis] * (window.taps[axis] - 1))
        return starts, ends

    def _window_shifts(self, number: Sequence[int], axis: int) -> Iterator[int]:
        """Yield the windows along an axis by which the levels shift a member."""
        numbers = zip(number, self.rotations, self.family.counts, strict=True)
        for level, (each, rotation, count) in enumerate(numbers):
            if rotation and self.family.window_axis_before(level) == axis:
                yield (each + rotation) // count

    def build_convolution(self, builder: Builder) -> Operation:
        """Build the convolution."""
        members, window = self._members_in_order(), self.window
        assert window is not None
        filters = [
            _pad_filters(builder, member, window, self._low_taps(number, window))
            for number, member in members
        ]
        joined = builder.insert(graph.ConcatOp(filters, 0)).result
        first = self.family.first
        type_ = tensor_type(first.results[0])
        merged = type(first).create(
            operands=[first.images, joined],
            result_types=[tensor_type_like(type_, self._shape, type_.element_type)],
            properties=dict(first.properties)
            | {"padding": to_integers_attribute(window.padding)},
            attributes=dict(first.attributes),
        )
        merged.location = first.location
        return builder.insert(merged)

    @property
    def _shape(self) -> tuple[int, ...]:
        """Shape of the result."""
        images, filters, *_ = tensor_type(self.family.first.results[0]).get_shape()
        return images, filters * len(self.family.members), *self._window_counts

    def _members_in_order(
        self,
    ) -> list[tuple[tuple[int, ...], CorrelationRowsInterface]]:
        """Return the members in the order of their filters, with their positions."""
        counts, rotations = self.family.counts, self.rotations
        numbers = [
            tuple(
                (each - rotation) % count
                for each, rotation, count in zip(place, rotations, counts, strict=True)
            )
            for place in product(*map(range, counts))
        ]
        return [(number, self.family.members[number]) for number in numbers]

    def _low_taps(self, number: Sequence[int], union: Window) -> list[int]:
        """Return the taps before those of a member along each axis."""
        window = self.family.members[tuple(number)].correlation.window
        shifts = (sum(self._window_shifts(number, axis)) for axis in range(union.rank))
        return [
            (wide - own - shift * stride) // distance
            for wide, own, shift, stride, distance in zip(
                union.padding[: union.rank],
                window.padding[: union.rank],
                shifts,
                union.strides,
                union.dilation,
                strict=True,
            )
        ]

    def build_concatenation(self, builder: Builder, merged: SSAValue) -> SSAValue:
        """Build the concatenation from the result of the convolution."""
        permuted = PermutedDigits(merged, self._axes_of_result())
        wanted = tensor_type(self.family.concat.result).get_shape()
        if not self.drops_results:
            return permuted.build(builder)
        offsets, sizes, axes = list[int](), list[int](), list[tuple[Digit, ...]]()
        dropped = dict(zip(self.family.axes, self.rotations, strict=True))
        for axis, digits in enumerate(permuted.axes):
            rotation = dropped.get(axis, 0)
            if rotation:
                run = wanted[axis] // self.family.counts[self.family.axes.index(axis)]
                axes[-1] += digits
                sizes[-1] *= wanted[axis]
                offsets[-1] = rotation * run
            elif wanted[axis] > 1 or not axes:
                axes.append(digits)
                sizes.append(wanted[axis])
                offsets.append(0)
        whole = PermutedDigits(merged, tuple(axes)).build(builder)
        kept = builder.insert(graph.SliceOp(whole, offsets, sizes)).result
        return reshape_to(kept, wanted, builder)

    def _axes_of_result(self) -> tuple[tuple[Digit, ...], ...]:
        """Return the digits of the result that the axes of the concatenation merge."""
        axes = [
            tuple(self._digit_of_result(digit) for digit in axis)
            for axis in self.family.permutation.axes
        ]
        filters = tensor_type(self.family.permutation.source).get_shape()[CHANNEL_AXIS]
        counts, windows = self.family.counts, prod(self._window_counts)
        for level, axis in enumerate(self.family.axes):
            inner = filters * prod(counts[level + 1 :]) * windows
            axes[axis] = (Digit(inner, counts[level]), *axes[axis])
        return tuple(axes)

    def _digit_of_result(self, digit: Digit) -> Digit:
        """Return the digit of the result for a digit of a member's result."""
        permutation, shape = self.family.permutation, self._shape
        before = tensor_type(permutation.source).get_shape()
        axis = permutation.axis_of_source(digit)
        assert axis is not None
        stride = digit.stride // prod(before[axis + 1 :]) * prod(shape[axis + 1 :])
        is_window = axis >= FIRST_WINDOW_AXIS and digit.extent == before[axis]
        return Digit(stride, shape[axis] if is_window else digit.extent)


def _pad_filters(
    builder: Builder,
    member: CorrelationRowsInterface,
    union: Window,
    low: Sequence[int],
) -> SSAValue:
    """Build the filters of a member with zeros at the taps that it lacks."""
    taps = zip(union.taps, member.correlation.window.taps, low, strict=True)
    high = [wide - own - before for wide, own, before in taps]
    if not any((*low, *high)):
        return member.operands[1]
    pad = graph.PadOp(member.operands[1], [0, 0, *low], [0, 0, *high])
    return builder.insert(pad).result
