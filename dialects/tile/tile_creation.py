"""
Operations `tile.empty`, `tile.fill` and `tile.roll`, which create tiles: empty, filled,
and an advanced rolling window.
"""

from collections.abc import Sequence
from typing import ClassVar, cast

import numpy as np
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, TensorType, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import MemoryAllocEffect, Pure
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.interfaces import Array, ConstantInterface, LoopDim, parallel_dim
from tlf.dialects.tile.tile_extents import (
    Number,
    verify_equal_element_types_and_ranks,
    verify_fill_element_type,
)
from tlf.dialects.types import (
    AnyTensor,
    dtype_of,
    scalar_attribute,
    scalar_value,
    tensor_type,
)
from tlf.support.affine.index_access import Accesses, identity_accesses


@irdl_op_definition
class EmptyOp(IRDLOperation):
    """
    Create a tensor of undefined elements, to be written by `tile.deslice`.

    Every result is a distinct buffer: two `tile.empty` are never merged.

    ```mlir
    %e = tile.empty : tensor<100x64xf32>
    ```
    """

    name = "tile.empty"

    result = result_def(TensorType)

    traits = traits_def(MemoryAllocEffect())

    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, result_type: Attribute) -> None:
        super().__init__(result_types=[result_type])


@irdl_op_definition
class FillOp(IRDLOperation, ConstantInterface):
    """
    Create a tile whose elements are all equal.

    ```mlir
    %z = tile.fill 0.0 : f32 : tensor<16x64xf32, #tile.encoding<L1>>
    ```
    """

    name = "tile.fill"

    value = prop_def(FloatAttr | IntegerAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    assembly_format = "$value attr-dict `:` type($result)"

    def __init__(self, value: Number, result_type: AnyTensor) -> None:
        number = scalar_attribute(value, result_type.element_type)
        super().__init__(properties={"value": number}, result_types=[result_type])

    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        type_ = tensor_type(self.result)
        value = scalar_value(self.value)
        return (np.full(type_.get_shape(), value, dtype_of(type_.element_type)),)

    def splat_attribute(self) -> Attribute:
        return self.value

    def iteration_domain(self) -> tuple[LoopDim, ...]:
        return tuple(
            parallel_dim(size) for size in tensor_type(self.result).get_shape()
        )

    def indexing_maps(self) -> tuple[Accesses | None, ...]:
        return ()

    def result_indexing_maps(self) -> tuple[Accesses, ...]:
        return (identity_accesses(tensor_type(self.result).get_num_dims()),)

    def tiled_implementation(
        self, operands: Sequence[SSAValue], result_types: Sequence[Attribute]
    ) -> Operation:
        return FillOp(scalar_value(self.value), cast(AnyTensor, result_types[0]))

    def verify_(self) -> None:
        verify_fill_element_type(self.value, tensor_type(self.result))


@irdl_op_definition
class RollOp(IRDLOperation):
    """
    Advance a rolling window: drop as many leading slices along `axis` as `next` has,
    and append the slices of `next`.

    ```mlir
    %v = tile.roll %window, %next axis 0
        : tensor<4x64xf32, #tile.encoding<L2>>, tensor<2x64xf32, #tile.encoding<L2>>
    ```
    """

    name = "tile.roll"

    T: ClassVar = VarConstraint("T", base(TensorType))

    window = operand_def(T)
    next = operand_def(TensorType)
    axis = prop_def(IntegerAttr.constr(i64))
    result = result_def(T)

    traits = traits_def(Pure())

    assembly_format = (
        "$window `,` $next `axis` $axis attr-dict `:` type($window) `,` type($next)"
    )

    def __init__(self, window: SSAValue, next_: SSAValue, axis: int) -> None:
        super().__init__(
            operands=[window, next_],
            properties={"axis": IntegerAttr(axis, i64)},
            result_types=[window.type],
        )

    def verify_(self) -> None:
        window, next_ = tensor_type(self.window), tensor_type(self.next)
        verify_equal_element_types_and_ranks(window, next_)
        axis = self.axis.value.data
        if not 0 <= axis < window.get_num_dims():
            raise VerifyException(
                f"expected an axis below {window.get_num_dims()}, got {axis}"
            )
        shape = list(window.get_shape())
        expected = list(shape)
        expected[axis] = min(shape[axis], next_.get_shape()[axis])
        if expected != list(next_.get_shape()):
            raise VerifyException(
                f"expected the next slices to fit the window {window}, got {next_}"
            )
