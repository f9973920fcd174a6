"""Helper of passes on reductions: adjacent reduced axes of tensors as one axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, SSAValue

from tlf.dialects import graph
from tlf.dialects.interfaces import ElementwiseInterface
from tlf.dialects.types import tensor_type


@dataclass(frozen=True)
class MergedAxes:
    """Axes of a tensor in spans, each of which becomes one axis."""

    shape: tuple[int, ...]
    """Shape of the tensor."""
    spans: tuple[range, ...]
    """Axes of each span, in order."""
    reduced_axes: tuple[int, ...]
    """Spans that a reduction reduces."""

    @staticmethod
    def of_reduction(op: graph.ReduceOp) -> MergedAxes:
        """
        Return the spans of adjacent reduced axes of a reduction, and of axes of one
        element with a neighbour; each axis if it reduces no adjacent ones.
        """
        shape = tensor_type(op.operand).get_shape()
        reduced = [axis for axis in op.axis_list if shape[axis] > 1]
        spans = list[list[int]]()
        for axis, extent in enumerate(shape):
            last = [each for each in spans[-1] if shape[each] > 1] if spans else []
            joins = axis in reduced and set(last) <= set(reduced)
            if spans and (extent == 1 or not last or joins):
                spans[-1].append(axis)
            else:
                spans.append([axis])
        if not any(len(set(reduced).intersection(span)) > 1 for span in spans):
            return MergedAxes.of_single_axes(op)
        long = [n for n, span in enumerate(spans) if not set(reduced).isdisjoint(span)]
        ranges = (range(span[0], span[-1] + 1) for span in spans)
        return MergedAxes(shape, tuple(ranges), tuple(long))

    @staticmethod
    def of_single_axes(op: graph.ReduceOp) -> MergedAxes:
        """Return the axes of the operand of a reduction, each as a span."""
        shape = tensor_type(op.operand).get_shape()
        spans = tuple(range(axis, axis + 1) for axis in range(len(shape)))
        long = tuple(axis for axis in op.axis_list if shape[axis] > 1)
        return MergedAxes(shape, spans, long)

    @property
    def merges_none(self) -> bool:
        """True if each span is one axis."""
        return len(self.spans) == len(self.shape)

    @property
    def merged_shape(self) -> tuple[int, ...]:
        """Shape of the tensor by spans."""
        return self.shape_of(self.shape)

    def has_merged_shape(self, value: SSAValue) -> bool:
        """Return `True` if a value has the shape by spans."""
        return tensor_type(value).get_shape() == self.merged_shape

    def can_rebuild(self, op: Operation) -> bool:
        """
        Return `True` if an operation can compute the result by spans: a view between
        both shapes, or an elementwise operation whose operands can be reshaped.
        """
        if self.has_merged_shape(op.results[0]):
            return isinstance(op, ElementwiseInterface)
        if tensor_type(op.results[0]).get_shape() != self.shape:
            return False
        if isinstance(op, ElementwiseInterface):
            return all(map(self._can_reshape, op.operands))
        return self.has_merged_shape(op.operands[0])

    def _can_reshape(self, value: SSAValue) -> bool:
        """
        Return `True` if a value, which broadcasts to the shape, has the extents of the
        shape along all axes of a span, or repeats along all of them.
        """
        extents = self._aligned_shape_of(tensor_type(value).get_shape())
        return all(
            prod(extents[axis] for axis in span) in (1, self._extent_of(span))
            for span in self.spans
        )

    def shape_of(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return a shape, which broadcasts to that of the tensor, by spans."""
        extents = self._aligned_shape_of(shape)
        return tuple(prod(extents[axis] for axis in span) for span in self.spans)

    def _extent_of(self, span: range) -> int:
        return prod(self.shape[axis] for axis in span)

    def _aligned_shape_of(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return a shape with leading axes of extent 1, as many as the tensor has."""
        return (1,) * (len(self.shape) - len(shape)) + tuple(shape)
