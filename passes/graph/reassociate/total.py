"""Sums along axes of tensors, and of the windows of images."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.decomposition import TensorProgram
from tlf.dialects.graph.pooling import SumPool2dOp
from tlf.dialects.graph.reduction import CombiningOperation, ReduceKind
from tlf.dialects.graph.window import Window
from tlf.dialects.replacement import is_planned
from tlf.dialects.types import dtype_of, is_float, tensor_type
from tlf.passes.graph.permutations import reshaped


class Total(abc.ABC):
    """Sum of the elements of an operand along some axes."""

    @property
    @abc.abstractmethod
    def places(self) -> Sequence[int]:
        """These axes, counted from the last one as -1."""

    @abc.abstractmethod
    def counted(self, value: SSAValue, program: TensorProgram) -> SSAValue:
        """
        Return the sum of a value that is invariant along these axes: the value, times
        the number of times that it is added up.
        """

    @abc.abstractmethod
    def added(self, value: SSAValue, program: TensorProgram) -> SSAValue:
        """The sum of what broadcasts to the operand, with all of its axes."""

    @abc.abstractmethod
    def averaged(
        self, value: SSAValue, along: Mapping[int, int], program: TensorProgram
    ) -> tuple[SSAValue, Sequence[int]]:
        """
        The means of a tensor along its axes `along`, each given with the place it is
        at in the operand; and which axis of the tensor each of their axes is.
        """

    @property
    @abc.abstractmethod
    def count(self) -> int:
        """Number of elements that are summed up, some of which may be zeros."""


def total_of(op: Operation) -> Total | None:
    """
    Return the sum that an operation computes, if it sums up several floats for each
    result and starts from 0; else None.
    """
    if not isinstance(op, CombiningOperation) or op.combination is not ReduceKind.SUM:
        return None
    if op.init_value is not None or is_planned(op) or not is_float(op.accumulator_type):
        return None
    if isinstance(op, graph.ReduceOp):
        along = AlongAxes(op.axis_list, tensor_type(op.operand).get_shape())
        return along if along.places else None
    if isinstance(op, SumPool2dOp):
        found = OfWindows(op.window, tensor_type(op.operand).get_shape()[2:])
        return found if found.places and found.is_met else None
    return None


@dataclass(frozen=True)
class AlongAxes(Total):
    """The sum along axes."""

    axes: Sequence[int]
    shape: Sequence[int]
    """That of the operand."""

    @property
    def places(self) -> Sequence[int]:
        rank = len(self.shape)
        return [axis - rank for axis in self.axes if self.shape[axis] > 1]

    @property
    def count(self) -> int:
        return prod(self.shape[axis] for axis in self.axes)

    def counted(self, value: SSAValue, program: TensorProgram) -> SSAValue:
        return program.mul(value, program.number(self.count))

    def added(self, value: SSAValue, program: TensorProgram) -> SSAValue:
        rank = len(tensor_type(value).get_shape())
        axes = [place + rank for place in self.places]
        return program.reduce(value, ReduceKind.SUM, axes, True)

    def averaged(
        self, value: SSAValue, along: Mapping[int, int], program: TensorProgram
    ) -> tuple[SSAValue, Sequence[int]]:
        shape = tensor_type(value).get_shape()
        part = program.number(1 / prod(shape[axis] for axis in along))
        parts = program.mul(value, part)
        mean = program.reduce(parts, ReduceKind.SUM, list(along), True)
        return mean, range(len(shape))


@dataclass(frozen=True)
class OfWindows(Total):
    """The sums of the windows of N x C x axes images."""

    window: Window
    images: Sequence[int]
    """The extents of these axes."""

    @property
    def places(self) -> Sequence[int]:
        rank = self.window.rank
        return [n - rank for n in range(rank) if not self.window.along([n]).is_point]

    @property
    def count(self) -> int:
        return prod(self.window.taps)

    @property
    def is_met(self) -> bool:
        """True if every window overlaps its image."""
        return bool(self.window.counts(self.images).all())

    def counted(self, value: SSAValue, program: TensorProgram) -> SSAValue:
        counts = self.window.counts(self.images)
        if (counts == counts.flat[0]).all():
            return program.mul(value, program.number(int(counts.flat[0])))
        numbers = graph.ConstantOp(counts.astype(dtype_of(program.element)))
        return program.mul(value, program.insert(numbers))

    def added(self, value: SSAValue, program: TensorProgram) -> SSAValue:
        shape = tensor_type(value).get_shape()
        full = (1,) * (self.window.rank + 2 - len(shape)) + tuple(shape)
        return self._pooled(
            reshaped(value, full, program.builder), self.window, program
        )

    def averaged(
        self, value: SSAValue, along: Mapping[int, int], program: TensorProgram
    ) -> tuple[SSAValue, Sequence[int]]:
        shape, rank = tensor_type(value).get_shape(), self.window.rank
        moved = {place + rank: axis for axis, place in along.items()}
        others = [axis for axis in range(len(shape)) if axis not in along]
        order = [*others, *(moved[n] for n in sorted(moved))]
        window = self.window.along(moved)
        part = program.number(1 / prod(window.taps))
        parts = self._permuted(program.mul(value, part), order, program)
        kept = [shape[axis] for axis in others]
        spatial = [shape[moved[n]] if n in moved else 1 for n in range(rank)]
        front = kept if len(kept) == 2 else [1, prod(kept)]
        images = reshaped(parts, [*front, *spatial], program.builder)
        means = self._pooled(images, window, program)
        extents = tensor_type(means).get_shape()[2:]
        found = [*kept, *(extents[n] for n in sorted(moved))]
        return reshaped(means, found, program.builder), order

    @staticmethod
    def _permuted(
        value: SSAValue, order: Sequence[int], program: TensorProgram
    ) -> SSAValue:
        if list(order) == sorted(order):
            return value
        return program.insert(graph.TransposeOp(value, order))

    @staticmethod
    def _pooled(images: SSAValue, window: Window, program: TensorProgram) -> SSAValue:
        return program.insert(
            SumPool2dOp(
                images, window.taps, window.strides, window.padding, window.dilation
            )
        )
