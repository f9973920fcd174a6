"""
Helper of passes on whole tensors: chains of reshapes and transposes as one permutation
of the digits that the axes of a tensor are split into.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from xdsl.builder import Builder
from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.types import tensor_type
from tlf.passes.graph.permutations import reshape_to


class Digit(NamedTuple):
    """Digit of the row-major index of a tensor, of more than one value."""

    stride: int
    """Distance between elements whose digits differ by 1."""
    extent: int


@dataclass(frozen=True)
class PermutedDigits:
    """
    Tensor with the elements of a source, whose axes merge digits of the source's index,
    the outermost first.
    """

    source: SSAValue
    axes: tuple[tuple[Digit, ...], ...]

    @staticmethod
    def of_chain(value: SSAValue) -> PermutedDigits:
        """
        Return a value as a permutation of the digits of the tensor at the start of the
        longest chain of reshapes and transposes that nothing else reads.
        """
        owner = value.owner
        if isinstance(owner, graph.ReshapeOp | graph.TransposeOp):
            operand = owner.operand
            if operand.has_one_use():
                chain = PermutedDigits.of_chain(operand)
                if (moved := chain._move(owner)) is not None:
                    return moved
        return PermutedDigits.of_tensor(value)

    @staticmethod
    def of_tensor(value: SSAValue) -> PermutedDigits:
        """Return a tensor as its own source, with one digit per axis."""
        shape = tensor_type(value).get_shape()
        strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
        digits = map(Digit, strides, shape)
        axes = tuple((digit,) if digit.extent > 1 else () for digit in digits)
        return PermutedDigits(value, axes)

    def axis_of_source(self, digit: Digit) -> int | None:
        """Return the axis of the source that contains a digit; None if it spans two."""
        shape = tensor_type(self.source).get_shape()
        for axis, extent in enumerate(shape):
            inner = prod(shape[axis + 1 :])
            if digit.stride >= inner and extent > 1:
                return axis if digit.stride * digit.extent <= inner * extent else None
        return None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the tensor."""
        return tuple(prod(digit.extent for digit in axis) for axis in self.axes)

    @property
    def keeps_order(self) -> bool:
        """True if the elements are in the order of the source."""
        strides = [digit.stride for axis in self.axes for digit in axis]
        return strides == sorted(strides, reverse=True)

    def _move(self, op: graph.ReshapeOp | graph.TransposeOp) -> PermutedDigits | None:
        """Return the result of an operation on the tensor; None if digits break."""
        if isinstance(op, graph.TransposeOp):
            axes = tuple(self.axes[axis] for axis in op.axis_list)
            return PermutedDigits(self.source, axes)
        digits = [digit for axis in self.axes for digit in axis]
        axes = _regroup_digits(digits, tensor_type(op.result).get_shape())
        return None if axes is None else PermutedDigits(self.source, axes)

    def build(self, builder: Builder) -> SSAValue:
        """Build the tensor by a reshape, a transpose and a reshape."""
        digits = [digit for axis in self.axes for digit in axis]
        ordered = sorted(digits, key=lambda digit: -digit.stride)
        split = reshape_to(self.source, [digit.extent for digit in ordered], builder)
        order = [ordered.index(digit) for digit in digits]
        if order != sorted(order):
            split = builder.insert(graph.TransposeOp(split, order)).result
        return reshape_to(split, self.shape, builder)


def _regroup_digits(
    digits: Sequence[Digit], shape: Sequence[int]
) -> tuple[tuple[Digit, ...], ...] | None:
    """Return digits in the same order, split into axes; None if extents do not fit."""
    remaining, axes = list(digits), list[tuple[Digit, ...]]()
    for extent in shape:
        axis, missing = list[Digit](), extent
        while missing > 1:
            stride, available = remaining.pop(0)
            if missing % available == 0:
                axis.append(Digit(stride, available))
                missing //= available
                continue
            if available % missing:
                return None
            inner = available // missing
            axis.append(Digit(stride * inner, missing))
            remaining.insert(0, Digit(stride, inner))
            missing = 1
        axes.append(tuple(axis))
    return tuple(axes)
