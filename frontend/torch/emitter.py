"""A builder of graph operations for the converters of ATen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import (
    LocationAttr,
    TensorType,
    UnknownLoc,
    f32,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import element_of, shape_of
from tlf.dialects.interfaces import Array
from tlf.dialects.types import (
    AnyTensor,
    accumulator_of,
    dtype_of,
    is_16_bit_float,
    is_float,
)

Number = bool | int | float
Operand = SSAValue | Number
"""A tensor, or a number of Python, which takes the type of what it meets."""


class EmptyTensor:
    """Marker for a tensor without elements."""


EMPTY_TENSOR = EmptyTensor()


def wrap_integer(value: int, width: int) -> int:
    """Wrap an integer to the two's complement range of a width."""
    return (value + (1 << width - 1)) % (1 << width) - (1 << width - 1)


@dataclass
class Emitter:
    """
    Builds operations at one place of a program, for an operation of ATen with results
    of types `results`.
    """

    builder: Builder
    results: tuple[AnyTensor, ...]
    location: LocationAttr = field(default_factory=UnknownLoc)

    @property
    def type(self) -> AnyTensor:
        """The type of the first result."""
        return self.results[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the first result."""
        return self.type.get_shape()

    @property
    def element(self) -> Attribute:
        """The element type of the first result."""
        return self.type.element_type

    @property
    def wide(self) -> Attribute:
        """The element type to compute formulas of the first result in."""
        return accumulator_of(self.element) if is_float(self.element) else self.element

    def emit(self, op: Operation) -> SSAValue:
        """The first result of an operation, put into the program."""
        return self.emit_all(op)[0]

    def emit_all(self, op: Operation) -> Sequence[SSAValue]:
        """The results of an operation, put into the program."""
        op.location = self.location
        return self.builder.insert(op).results

    def scalar(self, value: Number, element: Attribute) -> SSAValue:
        """A scalar. Integers that a type has not wrap around."""
        dtype = dtype_of(element)
        if dtype.kind == "i" and type(value) is int:
            value = wrap_integer(value, 8 * dtype.itemsize)
        return self.emit(graph.ConstantOp.from_splat(value, TensorType(element, [])))

    def constant(self, array: Array, element: Attribute) -> SSAValue:
        """A constant."""
        return self.emit(graph.ConstantOp(array, TensorType(element, array.shape)))

    def cast(self, value: Operand, element: Attribute) -> SSAValue:
        """The value in an element type."""
        if not isinstance(value, SSAValue):
            return self.scalar(value, element)
        if element_of(value) == element:
            return value
        return self.emit(graph.CastOp(value, element))

    def to_result(self, value: SSAValue) -> SSAValue:
        """Convert a value to the type and shape of the result."""
        return self.broadcast(self.cast(value, self.element), self.shape)

    def apply(
        self,
        kind: type[IRDLOperation],
        *operands: Operand,
        element: Attribute | None = None,
    ) -> SSAValue:
        """An elementwise operation, its operands in the type of the result."""
        wanted = self.element if element is None else element
        return self.emit(kind(*(self.cast(each, wanted) for each in operands)))

    def apply_wide(self, kind: type[IRDLOperation], *operands: Operand) -> SSAValue:
        """
        An elementwise operation in the type of the result, but for numbers and scalars
        that 16 bits do not hold: with them it is computed in f32 and rounded once.
        """
        if not any(self._needs_promotion(each) for each in operands):
            return self.apply(kind, *operands)
        return self.to_result(self.apply(kind, *operands, element=self.wide))

    def _needs_promotion(self, value: Operand) -> bool:
        """
        Return `True` if a number or a scalar may lose precision when it is rounded to
        16 bits.
        """
        if not is_16_bit_float(self.element):
            return False
        if isinstance(value, SSAValue):
            return not shape_of(value) and element_of(value) in (f32, f64, i32, i64)
        with np.errstate(all="ignore"):
            held = np.float64(value).astype(dtype_of(self.element))
        return float(held) != value

    def round_then_promote(self, value: Operand) -> SSAValue:
        """Round a value to the type of the result, then promote it."""
        return self.cast(self.cast(value, self.element), self.wide)

    def add(self, lhs: Operand, rhs: Operand, element: Attribute) -> SSAValue:
        """The sum, in an element type."""
        return self.apply(graph.AddOp, lhs, rhs, element=element)

    def sub(self, lhs: Operand, rhs: Operand, element: Attribute) -> SSAValue:
        """The difference, in an element type."""
        return self.apply(graph.SubOp, lhs, rhs, element=element)

    def mul(self, lhs: Operand, rhs: Operand, element: Attribute) -> SSAValue:
        """The product, in an element type."""
        return self.apply(graph.MulOp, lhs, rhs, element=element)

    def div(self, lhs: Operand, rhs: Operand, element: Attribute) -> SSAValue:
        """The quotient, in an element type."""
        return self.apply(graph.DivOp, lhs, rhs, element=element)

    def compare(
        self, lhs: Operand, rhs: Operand, relation: str, element: Attribute
    ) -> SSAValue:
        """Emit the comparison of two tensors in an element type."""
        if element == i1:
            lhs, rhs = (self.cast(each, f32) for each in (lhs, rhs))
        else:
            lhs, rhs = (self.cast(each, element) for each in (lhs, rhs))
        return self.emit(graph.CompareOp(lhs, rhs, relation))

    def select(
        self, condition: SSAValue, lhs: Operand, rhs: Operand, element: Attribute
    ) -> SSAValue:
        """
        Emit the selection of `lhs` where the condition holds, and of `rhs` elsewhere.
        """
        chosen = [self.cast(each, element) for each in (lhs, rhs)]
        return self.emit(graph.SelectOp(self.to_bool(condition), *chosen))

    def to_bool(self, value: SSAValue) -> SSAValue:
        """Emit the test that elements are not zero."""
        element = element_of(value)
        return value if element == i1 else self.compare(value, 0, "ne", element)

    def reduce(
        self, value: SSAValue, kind: str, axes: Sequence[int], keepdims: bool = False
    ) -> SSAValue:
        """The sum, product, maximum or minimum along axes."""
        if not axes:
            return value
        return self.emit(graph.ReduceOp(value, kind, axes, keepdims))

    def reshape(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """The value under another shape."""
        if shape_of(value) == tuple(shape):
            return value
        return self.emit(graph.ReshapeOp(value, shape))

    def permute(self, value: SSAValue, order: Sequence[int]) -> SSAValue:
        """The value with its axes in another order."""
        if list(order) == list(range(len(order))):
            return value
        return self.emit(graph.TransposeOp(value, order))

    def broadcast(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """The value repeated to a shape."""
        if shape_of(value) == tuple(shape):
            return value
        return self.emit(graph.BroadcastOp(value, shape))

    def concat(self, values: Sequence[SSAValue], axis: int) -> SSAValue:
        """Tensors one after the other along an axis."""
        if len(values) == 1:
            return values[0]
        return self.emit(graph.ConcatOp(values, axis))

    def slice(
        self, value: SSAValue, axis: int, start: int, stop: int, step: int = 1
    ) -> SSAValue:
        """Some of the elements along an axis."""
        shape = shape_of(value)
        offsets, sizes, strides = [0] * len(shape), list(shape), [1] * len(shape)
        offsets[axis], strides[axis] = start, step
        sizes[axis] = -(-(stop - start) // step)
        if sizes == list(shape):
            return value
        return self.emit(graph.SliceOp(value, offsets, sizes, strides))

    def pad(
        self, value: SSAValue, low: Sequence[int], high: Sequence[int], fill: Number = 0
    ) -> SSAValue:
        """The value with `fill` around it; negative widths crop."""
        extents = shape_of(value)
        kept = zip(extents, low, high, strict=True)
        if any(extent + min(one, 0) + min(two, 0) <= 0 for extent, one, two in kept):
            shape = [sum(each) for each in zip(extents, low, high, strict=True)]
            return self.broadcast(self.scalar(fill, element_of(value)), shape)
        for axis, (before, after) in enumerate(zip(low, high, strict=True)):
            extent = shape_of(value)[axis]
            start, stop = max(-before, 0), extent - max(-after, 0)
            value = self.slice(value, axis, start, stop)
        low, high = ([max(width, 0) for width in side] for side in (low, high))
        if not any(low) and not any(high):
            return value
        return self.emit(graph.PadOp(value, low, high, fill))

    def iota(self, extent: int, element: Attribute) -> SSAValue:
        """The numbers from 0, `extent` of them."""
        return self.emit(graph.IotaOp(TensorType(element, [extent]), 0))

    def take(self, value: SSAValue, indices: Sequence[int], axis: int) -> SSAValue:
        """The elements at known indices along an axis."""
        places = self.constant(np.asarray(indices, np.int64), i64)
        return self.emit(graph.TakeOp(value, places, axis))
