"""Interface of operations that can run on tensors with two axes collapsed into one."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from tlf.dialects.encoding_attribute import layout_of
from tlf.dialects.interfaces import TilingInterface
from tlf.dialects.mixed_offsets import Index


class AxisCollapsingInterface(TilingInterface):
    """
    Operation with properties that count elements along axes, so that collapsing two
    axes must rewrite its properties.
    """

    @abc.abstractmethod
    def collapsed_implementation(
        self,
        operands: Sequence[SSAValue],
        axis: int,
        scale_index: Callable[[Index, int], Index],
    ) -> Operation | None:
        """
        Build the operation on operands whose axis `axis` is collapsed with the next
        axis; `None` if the operation cannot be collapsed. `scale_index` builds the
        product of an index and an integer.
        """


def collapse_axes_of_shape(shape: Sequence[int], axis: int) -> tuple[int, ...]:
    """
    Return a shape with axes `axis` and `axis + 1` merged into `axis`, followed by an
    axis of extent 1.
    """
    extent = shape[axis] * shape[axis + 1]
    return (*shape[:axis], extent, 1, *shape[axis + 2 :])


def find_collapsed_axis(
    shape: Sequence[int], result_shape: Sequence[int]
) -> int | None:
    """
    Return the axis whose merge with the next axis turns `shape` into `result_shape`;
    `None` if there is none.
    """
    if len(shape) != len(result_shape):
        return None
    for axis in range(len(shape) - 1):
        if shape[axis + 1] != 1 and collapse_axes_of_shape(shape, axis) == tuple(
            result_shape
        ):
            return axis
    return None


def collapse_axes_of_type(
    type_: TensorType[Attribute], axis: int
) -> TensorType[Attribute] | None:
    """
    Return a tensor type with axes `axis` and `axis + 1` merged into `axis`; `None` if
    they are not adjacent in the memory layout, in this order.
    """
    shape = type_.get_shape()
    order = list(layout_of(type_) or range(len(shape)))
    if order.index(axis + 1) != order.index(axis) + 1:
        return None
    return TensorType(
        type_.element_type, collapse_axes_of_shape(shape, axis), type_.encoding
    )
