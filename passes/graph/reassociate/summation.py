"""
Helper of the rewrite of sums of products: building of sums along axes of tensors and
sums of windows of images, with a common interface.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.image_windows import Window
from tlf.dialects.graph.pooling import SumPool2dOp
from tlf.dialects.graph.reduction import CombiningOperation, ReduceKind
from tlf.dialects.graph.tensor_builder import TensorBuilder
from tlf.dialects.types import dtype_of, is_float, tensor_type
from tlf.passes.graph.permutations import reshape_to
from tlf.passes.op_replacement import is_in_planned_group


class Summation(abc.ABC):
    """A sum of the elements of an operand along some axes, or in windows."""

    @property
    @abc.abstractmethod
    def reduced_axes(self) -> Sequence[int]:
        """The reduced axes as negative indices: -1 is the last axis."""

    @abc.abstractmethod
    def sum_constant_by_multiplication(
        self, value: SSAValue, program: TensorBuilder
    ) -> SSAValue:
        """
        Return the sum of a value that is constant along the reduced axes: the value
        times the number of summed elements.
        """

    @abc.abstractmethod
    def sum_value(self, value: SSAValue, program: TensorBuilder) -> SSAValue:
        """
        Return the sum of a value that broadcasts to the operand, with unit axes for
        reduced ones.
        """

    @abc.abstractmethod
    def average_along_axes(
        self, value: SSAValue, along: Mapping[int, int], program: TensorBuilder
    ) -> tuple[SSAValue, Sequence[int]]:
        """
        Return the means of a tensor along some axes, and the permutation from its axes
        to those of the means. `along` maps the averaged axes to the corresponding
        reduced axes of the operand.
        """

    @property
    @abc.abstractmethod
    def element_count(self) -> int:
        """Number of summed elements per result, padding included."""


def float_summation_of(op: Operation) -> Summation | None:
    """Return an operation as a float sum without initial value, or None."""
    if not isinstance(op, CombiningOperation) or op.reduce_kind is not ReduceKind.SUM:
        return None
    if (
        op.init_value is not None
        or is_in_planned_group(op)
        or not is_float(op.accumulator_type)
    ):
        return None
    if isinstance(op, graph.ReduceOp):
        axis_sum = AxisSummation(op.axis_list, tensor_type(op.operand).get_shape())
        return axis_sum if axis_sum.reduced_axes else None
    if isinstance(op, SumPool2dOp):
        window_sum = WindowSummation(op.window, tensor_type(op.operand).get_shape()[2:])
        return (
            window_sum
            if window_sum.reduced_axes and window_sum.has_overlapping_windows
            else None
        )
    return None


@dataclass(frozen=True)
class AxisSummation(Summation):
    """A sum of a tensor of `shape` along `axes`, each over its whole extent."""

    axes: Sequence[int]
    shape: Sequence[int]
    """Shape of the operand."""

    @property
    def reduced_axes(self) -> Sequence[int]:
        rank = len(self.shape)
        return [axis - rank for axis in self.axes if self.shape[axis] > 1]

    @property
    def element_count(self) -> int:
        return prod(self.shape[axis] for axis in self.axes)

    def sum_constant_by_multiplication(
        self, value: SSAValue, program: TensorBuilder
    ) -> SSAValue:
        return program.mul(value, program.constant(self.element_count))

    def sum_value(self, value: SSAValue, program: TensorBuilder) -> SSAValue:
        rank = len(tensor_type(value).get_shape())
        axes = [axis + rank for axis in self.reduced_axes]
        return program.reduce(value, ReduceKind.SUM, axes, True)

    def average_along_axes(
        self, value: SSAValue, along: Mapping[int, int], program: TensorBuilder
    ) -> tuple[SSAValue, Sequence[int]]:
        """Return the means with averaged axes as unit axes, and the identity order."""
        shape = tensor_type(value).get_shape()
        weight = program.constant(1 / prod(shape[axis] for axis in along))
        weighted = program.mul(value, weight)
        mean = program.reduce(weighted, ReduceKind.SUM, list(along), True)
        return mean, range(len(shape))


@dataclass(frozen=True)
class WindowSummation(Summation):
    """Sums over sliding windows of images of shape N x C x image extents."""

    window: Window
    image_extents: Sequence[int]
    """Extents of the image axes."""

    @property
    def reduced_axes(self) -> Sequence[int]:
        """Image axes along which the window is not pointwise, as negative indices."""
        rank = self.window.rank
        return [
            n - rank
            for n in range(rank)
            if not self.window.restrict_to_axes([n]).is_pointwise
        ]

    @property
    def element_count(self) -> int:
        return prod(self.window.taps)

    @property
    def has_overlapping_windows(self) -> bool:
        """True if every window contains an element of the image."""
        return bool(self.window.count_window_elements(self.image_extents).all())

    def sum_constant_by_multiplication(
        self, value: SSAValue, program: TensorBuilder
    ) -> SSAValue:
        """Return `value` times the number of image elements in each window."""
        counts = self.window.count_window_elements(self.image_extents)
        if (counts == counts.flat[0]).all():
            return program.mul(value, program.constant(int(counts.flat[0])))
        factors = graph.ConstantOp(counts.astype(dtype_of(program.element)))
        return program.mul(value, program.insert(factors))

    def sum_value(self, value: SSAValue, program: TensorBuilder) -> SSAValue:
        """Return the window sums of `value`, padded to full rank by unit axes."""
        shape = tensor_type(value).get_shape()
        full = (1,) * (self.window.rank + 2 - len(shape)) + tuple(shape)
        return self._sum_windows_of_images(
            reshape_to(value, full, program.builder), self.window, program
        )

    def average_along_axes(
        self, value: SSAValue, along: Mapping[int, int], program: TensorBuilder
    ) -> tuple[SSAValue, Sequence[int]]:
        """Return window means of `value` along its image axes, and the axis order."""
        shape, rank = tensor_type(value).get_shape(), self.window.rank
        by_image_axis = {reduced + rank: axis for axis, reduced in along.items()}
        unchanged = [axis for axis in range(len(shape)) if axis not in along]
        order = [*unchanged, *(by_image_axis[n] for n in sorted(by_image_axis))]
        window = self.window.restrict_to_axes(by_image_axis)
        weight = program.constant(1 / prod(window.taps))
        weighted = self._permute_axes(program.mul(value, weight), order, program)
        unchanged_extents = [shape[axis] for axis in unchanged]
        spatial = [
            shape[by_image_axis[n]] if n in by_image_axis else 1 for n in range(rank)
        ]
        front = (
            unchanged_extents
            if len(unchanged_extents) == 2
            else [1, prod(unchanged_extents)]
        )
        images = reshape_to(weighted, [*front, *spatial], program.builder)
        means = self._sum_windows_of_images(images, window, program)
        extents = tensor_type(means).get_shape()[2:]
        result_shape = [
            *unchanged_extents,
            *(extents[n] for n in sorted(by_image_axis)),
        ]
        return reshape_to(means, result_shape, program.builder), order

    @staticmethod
    def _permute_axes(
        value: SSAValue, order: Sequence[int], program: TensorBuilder
    ) -> SSAValue:
        if list(order) == sorted(order):
            return value
        return program.insert(graph.TransposeOp(value, order))

    @staticmethod
    def _sum_windows_of_images(
        images: SSAValue, window: Window, program: TensorBuilder
    ) -> SSAValue:
        """Insert a `SumPool2dOp` on N x C `images` with the geometry of `window`."""
        return program.insert(
            SumPool2dOp(
                images, window.taps, window.strides, window.padding, window.dilation
            )
        )
