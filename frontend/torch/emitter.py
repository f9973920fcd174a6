"""
Import of ATen operations from PyTorch: builder of operations of `graph`, with which the
converters emit their results.
"""

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
from tlf.dialects.graph.tensor_types import element_type_of_value, shape_of
from tlf.dialects.interfaces import Array
from tlf.dialects.product_precision import IEEE
from tlf.dialects.types import (
    AnyTensor,
    accumulator_type_of,
    dtype_of,
    is_16_bit_float,
    is_float,
)
from tlf.frontend.torch.f32_precision import F32Precision, ProductKind

Number = bool | int | float
Operand = SSAValue | Number
"""Tensor, or Python number that takes the type of the other operands."""


class EmptyTensor:
    """Marker for a tensor without elements."""


EMPTY_TENSOR = EmptyTensor()


def wrap_integer(value: int, bit_width: int) -> int:
    """Wrap an integer to the two's complement range of a width."""
    return (value + (1 << bit_width - 1)) % (1 << bit_width) - (1 << bit_width - 1)


@dataclass
class Emitter:
    """
    Builder of operations at an insertion point, for an ATen operation with results of
    types `results`.
    """

    builder: Builder
    results: tuple[AnyTensor, ...]
    location: LocationAttr = field(default_factory=UnknownLoc)
    f32_precision: F32Precision = field(default_factory=F32Precision)

    @property
    def result_type(self) -> AnyTensor:
        """Type of the first result."""
        return self.results[0]

    @property
    def result_shape(self) -> tuple[int, ...]:
        """Shape of the first result."""
        return self.result_type.get_shape()

    @property
    def result_element(self) -> Attribute:
        """Element type of the first result."""
        return self.result_type.element_type

    @property
    def wide_element(self) -> Attribute:
        """Element type in which formulas of the first result are computed."""
        return (
            accumulator_type_of(self.result_element)
            if is_float(self.result_element)
            else self.result_element
        )

    def precision_of_factor(self, factor: SSAValue, kind: ProductKind) -> str:
        """
        Return the precision of a product with `factor`: `ieee` unless it is of f32.
        """
        if element_type_of_value(factor) != f32:
            return IEEE
        return self.f32_precision.of_product(kind) or IEEE

    def matmul(
        self,
        lhs: SSAValue,
        rhs: SSAValue,
        element: Attribute | None = None,
        kind: ProductKind = "matmul",
    ) -> SSAValue:
        """Emit a matrix product with elements of the type of `lhs`, or `element`."""
        precision = self.precision_of_factor(lhs, kind)
        return self.emit(graph.MatmulOp(lhs, rhs, precision=precision, element=element))

    def emit(self, op: Operation) -> SSAValue:
        """Insert an operation, and return its first result."""
        return self.emit_all(op)[0]

    def emit_all(self, op: Operation) -> Sequence[SSAValue]:
        """Insert an operation, and return its results."""
        op.location = self.location
        return self.builder.insert(op).results

    def emit_scalar(self, value: Number, element: Attribute) -> SSAValue:
        """Emit a scalar constant. Integers wrap to the range of the type."""
        dtype = dtype_of(element)
        if dtype.kind == "i" and type(value) is int:
            value = wrap_integer(value, 8 * dtype.itemsize)
        return self.emit(graph.ConstantOp.from_splat(value, TensorType(element, [])))

    def emit_constant(self, array: Array, element: Attribute) -> SSAValue:
        """Emit a constant."""
        return self.emit(graph.ConstantOp(array, TensorType(element, array.shape)))

    def cast(self, value: Operand, element: Attribute) -> SSAValue:
        """
        Return `value` cast to an element type: a new scalar for numbers, and `value`
        itself if it has the type.
        """
        if not isinstance(value, SSAValue):
            return self.emit_scalar(value, element)
        if element_type_of_value(value) == element:
            return value
        return self.emit(graph.CastOp(value, element))

    def to_result(self, value: SSAValue) -> SSAValue:
        """Convert a value to the type and shape of the result."""
        return self.broadcast(self.cast(value, self.result_element), self.result_shape)

    def emit_elementwise(
        self,
        op_type: type[IRDLOperation],
        *operands: Operand,
        element: Attribute | None = None,
    ) -> SSAValue:
        """
        Emit an elementwise operation on operands cast to `element`, by default that of
        the result.
        """
        operand_element = self.result_element if element is None else element
        return self.emit(
            op_type(*(self.cast(each, operand_element) for each in operands))
        )

    def emit_elementwise_wide(
        self, op_type: type[IRDLOperation], *operands: Operand
    ) -> SSAValue:
        """
        Emit an elementwise operation in the type of the result. If 16 bits cannot
        represent a number or scalar operand, it is computed in f32 and rounded once.
        """
        if not any(self._needs_promotion(each) for each in operands):
            return self.emit_elementwise(op_type, *operands)
        return self.to_result(
            self.emit_elementwise(op_type, *operands, element=self.wide_element)
        )

    def _needs_promotion(self, value: Operand) -> bool:
        """
        Return `True` if a number or a scalar may lose precision when it is rounded to
        16 bits.
        """
        if not is_16_bit_float(self.result_element):
            return False
        if isinstance(value, SSAValue):
            return not shape_of(value) and element_type_of_value(value) in (
                f32,
                f64,
                i32,
                i64,
            )
        with np.errstate(all="ignore"):
            rounded = np.float64(value).astype(dtype_of(self.result_element))
        return float(rounded) != value

    def round_then_promote(self, value: Operand) -> SSAValue:
        """Emit a cast to the type of the result, then one to the wide type."""
        return self.cast(self.cast(value, self.result_element), self.wide_element)

    def add(self, lhs: Operand, rhs: Operand, element: Attribute) -> SSAValue:
        """Emit a sum in an element type."""
        return self.emit_elementwise(graph.AddOp, lhs, rhs, element=element)

    def sub(self, lhs: Operand, rhs: Operand, element: Attribute) -> SSAValue:
        """Emit a difference in an element type."""
        return self.emit_elementwise(graph.SubOp, lhs, rhs, element=element)

    def mul(self, lhs: Operand, rhs: Operand, element: Attribute) -> SSAValue:
        """Emit a product in an element type."""
        return self.emit_elementwise(graph.MulOp, lhs, rhs, element=element)

    def div(self, lhs: Operand, rhs: Operand, element: Attribute) -> SSAValue:
        """Emit a quotient in an element type."""
        return self.emit_elementwise(graph.DivOp, lhs, rhs, element=element)

    def compare(
        self, lhs: Operand, rhs: Operand, relation: str, element: Attribute
    ) -> SSAValue:
        """
        Emit an elementwise comparison of operands cast to `element`, f32 for Booleans.
        """
        if element == i1:
            lhs, rhs = (self.cast(each, f32) for each in (lhs, rhs))
        else:
            lhs, rhs = (self.cast(each, element) for each in (lhs, rhs))
        return self.emit(graph.CompareOp(lhs, rhs, relation))

    def select(
        self, condition: SSAValue, lhs: Operand, rhs: Operand, element: Attribute
    ) -> SSAValue:
        """
        Emit a selection of `lhs` where the condition is true, and of `rhs` elsewhere.
        """
        operands = [self.cast(each, element) for each in (lhs, rhs)]
        return self.emit(graph.SelectOp(self.to_bool(condition), *operands))

    def to_bool(self, value: SSAValue) -> SSAValue:
        """Emit a test that elements are not zero."""
        element = element_type_of_value(value)
        return value if element == i1 else self.compare(value, 0, "ne", element)

    def reduce(
        self, value: SSAValue, kind: str, axes: Sequence[int], keepdims: bool = False
    ) -> SSAValue:
        """Emit a sum, product, maximum or minimum along axes."""
        if not axes:
            return value
        return self.emit(graph.ReduceOp(value, kind, axes, keepdims))

    def reshape(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """Emit a reshape."""
        if shape_of(value) == tuple(shape):
            return value
        return self.emit(graph.ReshapeOp(value, shape))

    def permute(self, value: SSAValue, order: Sequence[int]) -> SSAValue:
        """Emit a permutation of axes."""
        if list(order) == list(range(len(order))):
            return value
        return self.emit(graph.TransposeOp(value, order))

    def broadcast(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """Emit a broadcast to a shape."""
        if shape_of(value) == tuple(shape):
            return value
        return self.emit(graph.BroadcastOp(value, shape))

    def concat(self, values: Sequence[SSAValue], axis: int) -> SSAValue:
        """Emit a concatenation along an axis."""
        if len(values) == 1:
            return values[0]
        return self.emit(graph.ConcatOp(values, axis))

    def slice(
        self, value: SSAValue, axis: int, start: int, stop: int, step: int = 1
    ) -> SSAValue:
        """
        Emit `start:stop:step` of one axis; return `value` if the shape stays the same.
        """
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
        """
        Emit a padding with `fill` by `low` and `high` elements per axis; negative
        numbers crop.
        """
        extents = shape_of(value)
        bounds = zip(extents, low, high, strict=True)
        if any(
            extent + min(before_width, 0) + min(after_width, 0) <= 0
            for extent, before_width, after_width in bounds
        ):
            shape = [sum(each) for each in zip(extents, low, high, strict=True)]
            return self.broadcast(
                self.emit_scalar(fill, element_type_of_value(value)), shape
            )
        for axis, (before, after) in enumerate(zip(low, high, strict=True)):
            extent = shape_of(value)[axis]
            start, stop = max(-before, 0), extent - max(-after, 0)
            value = self.slice(value, axis, start, stop)
        low, high = ([max(width, 0) for width in side] for side in (low, high))
        if not any(low) and not any(high):
            return value
        return self.emit(graph.PadOp(value, low, high, fill))

    def emit_iota(self, extent: int, element: Attribute) -> SSAValue:
        """Emit the integers from 0 to `extent - 1`."""
        return self.emit(graph.IotaOp(TensorType(element, [extent]), 0))

    def take_at_indices(
        self, value: SSAValue, indices: Sequence[int], axis: int
    ) -> SSAValue:
        """Emit a gather of the elements at known indices along an axis."""
        constant = self.emit_constant(np.asarray(indices, np.int64), i64)
        return self.emit(graph.TakeOp(value, constant, axis))
