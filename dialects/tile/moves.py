"""Cutting tiles out of tensors, putting them back, and filling what lies outside."""

from collections.abc import Callable, Sequence
from typing import ClassVar, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    FloatAttr,
    IndexType,
    IntegerAttr,
    TensorType,
    i64,
)
from xdsl.dialects.utils import DynamicIndexList
from xdsl.dialects.utils.dynamic_index_list import (
    get_dynamic_index_list,
    split_dynamic_index_list,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryAllocEffect, Pure
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.access import Accesses, identity
from tlf.dialects.interfaces import (
    Array,
    ConstantInterface,
    Iterator,
    PositionInterface,
    parallel,
)
from tlf.dialects.types import (
    AnyTensor,
    dtype_of,
    scalar_attribute,
    scalar_value,
    tensor_type,
)

Index: TypeAlias = SSAValue | int
Number: TypeAlias = int | float


def _split(offsets: Sequence[Index]) -> tuple[DenseArrayBase, list[SSAValue]]:
    static, dynamic = split_dynamic_index_list(offsets, DYNAMIC_INDEX)
    return DenseArrayBase.from_list(i64, static), dynamic


class OffsetOperation(IRDLOperation):
    """An operation that acts on the box of a tensor that starts at some offsets."""

    offsets = var_operand_def(IndexType)
    static_offsets = prop_def(DenseArrayBase.constr(i64))

    @property
    def mixed_offsets(self) -> tuple[Index, ...]:
        """One offset per axis: a number, or an `index` value."""
        static = cast(Sequence[int], self.static_offsets.get_values())
        return tuple(get_dynamic_index_list(static, self.offsets, DYNAMIC_INDEX))

    def verify_offsets(self, rank: int) -> None:
        """Check that there is one offset per axis."""
        if len(self.static_offsets) != rank:
            raise VerifyException(
                f"expected {rank} offsets, one per axis, got {len(self.static_offsets)}"
            )
        static = cast(Sequence[int], self.static_offsets.get_values())
        if (expected := static.count(DYNAMIC_INDEX)) != len(self.offsets):
            raise VerifyException(
                f"expected {expected} values for dynamic offsets, "
                f"got {len(self.offsets)}"
            )


def verify_same_elements(left: AnyTensor, right: AnyTensor) -> None:
    """Check that two tensors have one element type and one rank."""
    if left.element_type != right.element_type:
        raise VerifyException(
            f"expected one element type, got {left.element_type} and "
            f"{right.element_type}"
        )
    if left.get_num_dims() != right.get_num_dims():
        raise VerifyException(
            f"expected tensors of one rank, got {left.get_num_dims()} and "
            f"{right.get_num_dims()}"
        )


def verify_number(number: Attribute | None, type_: AnyTensor) -> None:
    """Check that a number has the element type of a tensor."""
    if number is None:
        return
    found = number.type if isinstance(number, FloatAttr | IntegerAttr) else number
    if found != type_.element_type:
        raise VerifyException(
            f"expected a fill value of type {type_.element_type}, got {found}"
        )


@irdl_op_definition
class SliceOp(OffsetOperation):
    """
    Cut a tile out of a tensor. The result type gives its size.

    Elements outside of the source read as `fill`; without `fill` they are undefined. A
    slice into another memory level is a move, one within a level is a view.

    ```mlir
    %t = tile.slice %x[%i, 0] fill 0.0 : f32
        : tensor<100x64xf32> -> tensor<16x64xf32, #tile.encoding<L2>>
    ```
    """

    name = "tile.slice"

    source = operand_def(TensorType)
    fill = opt_prop_def(FloatAttr | IntegerAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    custom_directives = (DynamicIndexList,)
    assembly_format = (
        "$source `` custom<DynamicIndexList>($offsets, $static_offsets)"
        " (`fill` $fill^)? attr-dict `:` type($source) `->` type($result)"
    )

    def __init__(
        self,
        source: SSAValue,
        offsets: Sequence[Index],
        result_type: AnyTensor,
        fill: Number | None = None,
    ) -> None:
        static, dynamic = _split(offsets)
        number = (
            None if fill is None else scalar_attribute(fill, result_type.element_type)
        )
        super().__init__(
            operands=[source, dynamic],
            properties={"static_offsets": static, "fill": number},
            result_types=[result_type],
        )

    def verify_(self) -> None:
        source, result = tensor_type(self.source), tensor_type(self.result)
        self.verify_offsets(source.get_num_dims())
        verify_same_elements(source, result)
        verify_number(self.fill, result)


@irdl_op_definition
class DesliceOp(OffsetOperation):
    """
    Put a tile into a tensor at some offsets, and yield the tensor that results.

    Elements of the tile that fall outside of the destination are dropped, so that the
    last tile along an axis may be partial.

    ```mlir
    %r = tile.deslice %t into %o[%i, 0]
        : tensor<16x64xf32, #tile.encoding<L2>> into tensor<100x64xf32>
    ```
    """

    name = "tile.deslice"

    T: ClassVar = VarConstraint("T", base(TensorType))

    source = operand_def(TensorType)
    destination = operand_def(T)
    result = result_def(T)

    traits = traits_def(Pure())

    custom_directives = (DynamicIndexList,)
    assembly_format = (
        "$source `into` $destination `` custom<DynamicIndexList>($offsets, $static_offsets)"
        " attr-dict `:` type($source) `into` type($destination)"
    )

    def __init__(
        self, source: SSAValue, destination: SSAValue, offsets: Sequence[Index]
    ) -> None:
        static, dynamic = _split(offsets)
        super().__init__(
            operands=[source, destination, dynamic],
            properties={"static_offsets": static},
            result_types=[destination.type],
        )

    def verify_(self) -> None:
        source, destination = tensor_type(self.source), tensor_type(self.destination)
        self.verify_offsets(source.get_num_dims())
        verify_same_elements(source, destination)


@irdl_op_definition
class MaskOp(OffsetOperation, PositionInterface):
    """
    Set the elements of a tile whose place in a whole tensor lies outside of it.

    Element `e` of the tile has place `offsets + e`; it is kept where that place lies
    within `bounds`, and becomes `fill` elsewhere.

    ```mlir
    %m = tile.mask %t[%i, 0] bounds [100, 64] fill 0.0 : f32
        : tensor<16x64xf32, #tile.encoding<L1>>
    ```
    """

    name = "tile.mask"

    T: ClassVar = VarConstraint("T", base(TensorType))

    source = operand_def(T)
    bounds = prop_def(DenseArrayBase.constr(i64))
    fill = prop_def(FloatAttr | IntegerAttr)
    result = result_def(T)

    traits = traits_def(Pure())

    custom_directives = (DynamicIndexList,)
    assembly_format = (
        "$source `` custom<DynamicIndexList>($offsets, $static_offsets)"
        " `bounds` $bounds `fill` $fill attr-dict `:` type($source)"
    )

    def __init__(
        self,
        source: SSAValue,
        offsets: Sequence[Index],
        bounds: Sequence[int],
        fill: Number,
    ) -> None:
        static, dynamic = _split(offsets)
        super().__init__(
            operands=[source, dynamic],
            properties={
                "static_offsets": static,
                "bounds": DenseArrayBase.from_list(i64, bounds),
                "fill": scalar_attribute(fill, tensor_type(source).element_type),
            },
            result_types=[source.type],
        )

    def reference(self, *operands: Array) -> tuple[Array, ...]:
        source, *dynamic = operands
        offsets = get_dynamic_index_list(
            cast(Sequence[int], self.static_offsets.get_values()),
            cast(Sequence[SSAValue], [int(offset) for offset in dynamic]),
            DYNAMIC_INDEX,
        )
        result = np.full_like(source, scalar_value(self.fill))
        inside = tuple(
            slice(max(0, -offset), max(0, bound - offset))
            for offset, bound in zip(
                cast(Sequence[int], offsets), self.bounds.get_values(), strict=True
            )
        )
        result[inside] = source[inside]
        return (result,)

    def iterators(self) -> tuple[Iterator, ...]:
        return tuple(parallel(size) for size in tensor_type(self.source).get_shape())

    def operand_accesses(self) -> tuple[Accesses | None, ...]:
        rank = tensor_type(self.source).get_num_dims()
        return (identity(rank), *(None for _ in self.offsets))

    def result_accesses(self) -> tuple[Accesses, ...]:
        return (identity(tensor_type(self.source).get_num_dims()),)

    def tiled_at(
        self,
        operands: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        position: Sequence[Index],
        add: Callable[[Index, Index], Index],
    ) -> Operation:
        static = cast(Sequence[int], self.static_offsets.get_values())
        old = get_dynamic_index_list(static, operands[1:], DYNAMIC_INDEX)
        offsets = [add(*pair) for pair in zip(old, position, strict=True)]
        bounds = cast(Sequence[int], self.bounds.get_values())
        return MaskOp(operands[0], offsets, bounds, scalar_value(self.fill))

    def verify_(self) -> None:
        source = tensor_type(self.source)
        self.verify_offsets(source.get_num_dims())
        if len(self.bounds) != source.get_num_dims():
            raise VerifyException(
                f"expected {source.get_num_dims()} bounds, one per axis, "
                f"got {len(self.bounds)}"
            )
        verify_number(self.fill, source)


@irdl_op_definition
class RollOp(IRDLOperation):
    """
    Advance a rolling window: drop as many leading slices along `axis` as `next` has,
    and append those of `next`.

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
        verify_same_elements(window, next_)
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


@irdl_op_definition
class EmptyOp(IRDLOperation):
    """
    A tensor of undefined elements, to be written by `tile.deslice`.

    Each is a place of its own: two are never merged.

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
    A tile with all elements equal.

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

    def reference(self, *operands: Array) -> tuple[Array, ...]:
        type_ = tensor_type(self.result)
        value = scalar_value(self.value)
        return (np.full(type_.get_shape(), value, dtype_of(type_.element_type)),)

    def splat(self) -> Attribute:
        return self.value

    def iterators(self) -> tuple[Iterator, ...]:
        return tuple(parallel(size) for size in tensor_type(self.result).get_shape())

    def operand_accesses(self) -> tuple[Accesses | None, ...]:
        return ()

    def result_accesses(self) -> tuple[Accesses, ...]:
        return (identity(tensor_type(self.result).get_num_dims()),)

    def tiled(
        self, operands: Sequence[SSAValue], result_types: Sequence[Attribute]
    ) -> Operation:
        return FillOp(scalar_value(self.value), cast(AnyTensor, result_types[0]))

    def verify_(self) -> None:
        verify_number(self.value, tensor_type(self.result))


def moved(operation: Operation) -> bool:
    """Whether a slice or deslice moves its tile to another memory level."""
    match operation:
        case SliceOp():
            types = operation.source.type, operation.result.type
        case DesliceOp():
            types = operation.source.type, operation.destination.type
        case _:
            return False
    left, right = (cast(AnyTensor, type_).encoding for type_ in types)
    return left != right
