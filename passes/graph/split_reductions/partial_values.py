"""
Helper of the pass `graph-split-k-reductions`: partial values, which are tensors with an
additional axis for the parts of a split axis, and building of reshapes to them.
"""

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
    A tensor with an axis of parts, directly before the split axis or before the former
    position of the reduced split axis.
    """

    value: SSAValue
    parts_axis: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the tensor, including the axis of the parts."""
        return tensor_type(self.value).get_shape()

    @property
    def trailing_axis_count(self) -> int:
        """Number of axes after the axis of the parts."""
        return len(self.shape) - self.parts_axis - 1

    def move_parts_axis(self, axis: int, builder: Builder) -> PartialValues:
        """Move the axis of the parts, and keep the order of the other axes."""
        order = [each for each in range(len(self.shape)) if each != self.parts_axis]
        order.insert(axis, self.parts_axis)
        shape = [self.shape[each] for each in order]
        non_unit = [each for each in order if self.shape[each] != 1]
        if non_unit == sorted(non_unit):
            return PartialValues(reshape_to(self.value, shape, builder), axis)
        transpose = graph.TransposeOp(self.value, order)
        return PartialValues(builder.insert(transpose).result, axis)


def split_axis_into_parts(
    value: SSAValue, axis: int, part_count: int, builder: Builder
) -> PartialValues:
    """
    Split an axis of a value into parts. Windows read as rows are read in parts.
    """
    shape = list(tensor_type(value).get_shape())
    shape[axis : axis + 1] = [part_count, shape[axis] // part_count]
    gather = value.owner
    if isinstance(gather, graph.Im2colOp):
        if (reshaped := gather.build_reshaped(shape)) is not None:
            reshaped.location = gather.location
            return PartialValues(builder.insert(reshaped).result, axis)
    return PartialValues(reshape_to(value, shape, builder), axis)


def insert_unit_axis(value: SSAValue, axis: int, builder: Builder) -> SSAValue:
    """Insert a unit axis into a value."""
    shape = tensor_type(value).get_shape()
    return reshape_to(value, (*shape[:axis], 1, *shape[axis:]), builder)
