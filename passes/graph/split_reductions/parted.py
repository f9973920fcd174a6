"""Values with an axis in parts."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.types import tensor_type
from tlf.passes.graph.permutations import reshaped


@dataclass(frozen=True)
class Parted:
    """
    Values of each part of an axis, stacked along an axis of their own: in front of the
    axis that is in parts, or of its position before it was reduced.
    """

    value: SSAValue
    axis: int

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents, that along the parts among them."""
        return tensor_type(self.value).get_shape()

    @property
    def behind(self) -> int:
        """Number of axes behind that of the parts."""
        return len(self.shape) - self.axis - 1

    def moved(self, axis: int, builder: Builder) -> Parted:
        """The same with the parts along another axis, the others in their order."""
        order = [each for each in range(len(self.shape)) if each != self.axis]
        order.insert(axis, self.axis)
        shape = [self.shape[each] for each in order]
        long = [each for each in order if self.shape[each] != 1]
        if long == sorted(long):
            return Parted(reshaped(self.value, shape, builder), axis)
        moved = graph.TransposeOp(self.value, order)
        return Parted(builder.insert(moved).result, axis)


def parted(value: SSAValue, axis: int, parts: int, builder: Builder) -> Parted:
    """A whole value with an axis in parts."""
    shape = list(tensor_type(value).get_shape())
    shape[axis : axis + 1] = [parts, shape[axis] // parts]
    return Parted(reshaped(value, shape, builder), axis)


def spread(value: SSAValue, axis: int, builder: Builder) -> SSAValue:
    """A value with one more axis, of extent 1."""
    shape = tensor_type(value).get_shape()
    return reshaped(value, (*shape[:axis], 1, *shape[axis:]), builder)
