"""Interface of operations that can run on tensors with two axes collapsed into one."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from tlf.dialects.encoding import layout_of
from tlf.dialects.interfaces import TilingInterface
from tlf.support.affine.mixed_offsets import Index


class CollapsingInterface(TilingInterface):
    """
    An operation whose properties count elements along axes, so that it must be told
    where two of them become one.
    """

    @abc.abstractmethod
    def collapsed_implementation(
        self,
        operands: Sequence[SSAValue],
        axis: int,
        scaled: Callable[[Index, int], Index],
    ) -> Operation | None:
        """
        Return the computation on operands whose axis `axis` is collapsed with the next.
        `scaled` builds the product of an index and a number.
        """


def collapsed_shape(shape: Sequence[int], axis: int) -> tuple[int, ...]:
    """A shape with the elements of two axes along the first of them."""
    extent = shape[axis] * shape[axis + 1]
    return (*shape[:axis], extent, 1, *shape[axis + 2 :])


def collapsed_axis(shape: Sequence[int], seen: Sequence[int]) -> int | None:
    """The first of two axes of a shape whose elements another shape has along it."""
    if len(shape) != len(seen):
        return None
    for axis in range(len(shape) - 1):
        if shape[axis + 1] != 1 and collapsed_shape(shape, axis) == tuple(seen):
            return axis
    return None


def collapsed_type(
    type_: TensorType[Attribute], axis: int
) -> TensorType[Attribute] | None:
    """
    A tensor with the elements of two axes along the first of them; None where the
    second one does not follow the first one in memory.
    """
    shape = type_.get_shape()
    order = list(layout_of(type_) or range(len(shape)))
    if order.index(axis + 1) != order.index(axis) + 1:
        return None
    return TensorType(type_.element_type, collapsed_shape(shape, axis), type_.encoding)
