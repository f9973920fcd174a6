"""Partial values: tensors with one more axis, for the parts of a split axis."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.types import tensor_type
from tlf.passes.graph.permutations import reshape_to


@dataclass(frozen=True)
class PartialValues:
    """
    A tensor with an axis for the parts: in front of the split axis, or of its position
    before it was reduced.
    """

    value: SSAValue
    axis: int

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents, that along the parts among them."""
        return tensor_type(self.value).get_shape()

    @property
    def trailing_axes(self) -> int:
        """Number of axes behind that of the parts."""
        return len(self.shape) - self.axis - 1

    def move_parts_axis(self, axis: int, builder: Builder) -> PartialValues:
        """Move the axis of the parts, the others in their order."""
        order = [each for each in range(len(self.shape)) if each != self.axis]
        order.insert(axis, self.axis)
        shape = [self.shape[each] for each in order]
        long = [each for each in order if self.shape[each] != 1]
        if long == sorted(long):
            return PartialValues(reshape_to(self.value, shape, builder), axis)
        moved = graph.TransposeOp(self.value, order)
        return PartialValues(builder.insert(moved).result, axis)


def partition_axis(
    value: SSAValue, axis: int, parts: int, builder: Builder
) -> PartialValues:
    """Split an axis of a value into parts."""
    shape = list(tensor_type(value).get_shape())
    shape[axis : axis + 1] = [parts, shape[axis] // parts]
    return PartialValues(reshape_to(value, shape, builder), axis)


def insert_unit_axis(value: SSAValue, axis: int, builder: Builder) -> SSAValue:
    """Insert a unit axis into a value."""
    shape = tensor_type(value).get_shape()
    return reshape_to(value, (*shape[:axis], 1, *shape[axis:]), builder)
