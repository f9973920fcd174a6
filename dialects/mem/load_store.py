"""Operations `mem.load` and `mem.store` between buffers and tensor values."""

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    AffineMapAttr,
    DenseArrayBase,
    MemRefType,
    TensorType,
    i64,
)
from xdsl.dialects.utils import DynamicIndexList
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.mem.box_operations import (
    BoxOperation,
    DestinationOperation,
    OutOfBoundsFillOperation,
    SourceOperation,
)
from tlf.dialects.mem.buffer_checks import level_of, verify_is_no_window, verify_sizes
from tlf.dialects.mem.number_literals import Number, to_number_attribute
from tlf.dialects.mixed_offsets import Index, OffsetOperation, split_offsets
from tlf.dialects.shared_attributes import share_integer_array
from tlf.support.affine.linear_access import linear_accesses_of_map


class ValueResultOperation(SourceOperation):
    """Base of operations that load elements of a buffer into a value, an SSA tensor."""

    value = result_def(TensorType)

    @property
    def value_type(self) -> TensorType[Attribute]:
        return self.value.type


@irdl_op_definition
class LoadOp(
    ValueResultOperation, OffsetOperation, BoxOperation, OutOfBoundsFillOperation
):
    """
    Load a box of elements from a buffer into a value.

    Elements outside of the source read as `fill`, or as an unspecified value without
    it. The box may be smaller than the value: elements beyond it are filled likewise.
    With a `map`, element `e` of the value is the source element at `offsets + map(e)`:
    the load transposes, repeats, strides, or gathers windows.

    ```mlir
    %v = mem.load %src[%i, 0] size [16, 64] fill 0.0
        : memref<1000x512xf32, "L3"> -> tensor<16x64xf32>
    ```
    """

    name = "mem.load"

    map = opt_prop_def(AffineMapAttr)

    custom_directives = (DynamicIndexList, Number)

    traits = traits_def(MemoryReadEffect())

    assembly_format = (
        "$source `` custom<DynamicIndexList>($offsets, $static_offsets) "
        "(`map` $map^)? `size` $sizes (`fill` custom<Number>($fill)^)? attr-dict "
        "`:` type($source) `->` type($value)"
    )

    def __init__(
        self,
        source: SSAValue | Operation,
        offsets: Sequence[Index],
        value_type: TensorType[Attribute],
        fill: float | None = None,
        sizes: Sequence[int] | None = None,
        map_: AffineMap | None = None,
    ) -> None:
        static, dynamic = split_offsets(offsets)
        sizes = value_type.get_shape() if sizes is None else sizes
        super().__init__(
            operands=[source, dynamic],
            result_types=[value_type],
            properties={
                "static_offsets": static,
                "sizes": share_integer_array(sizes),
                "map": None if map_ is None else AffineMapAttr(map_),
                "fill": None if fill is None else to_number_attribute(fill),
            },
        )

    @property
    def source_map(self) -> AffineMap:
        """
        Map from an element of the value to its position in the source, without offsets.
        """
        if self.map is None:
            return AffineMap.identity(self.value_type.get_num_dims())
        return self.map.data

    def verify_(self) -> None:
        verify_is_no_window(self.source)
        ranks = (self.value_type.get_num_dims(), self.source_type.get_num_dims())
        if self.map is None:
            verify_load_or_store_types(self.source_type, self.value_type)
        else:
            verify_value_and_buffer_element_types(self.source_type, self.value_type)
            linear_accesses_of_map(self.source_map)
            if (self.source_map.num_dims, len(self.source_map.results)) != ranks:
                raise VerifyException(
                    f"expected a map from {ranks[0]} dimensions of the value to "
                    f"{ranks[1]} of the source, got {self.source_map}"
                )
        self.verify_offsets(ranks[1])
        verify_sizes(self.box_sizes, ranks[0])
        verify_box_fits_value(self.value_type, self.box_sizes)
        self.verify_fill_number(self.source_type.element_type)


@irdl_op_definition
class StoreOp(DestinationOperation, OffsetOperation):
    """
    Store a value into a box of a buffer.

    Elements outside of the destination are not written, nor are elements of the value
    beyond the size of the box, if given.

    ```mlir
    mem.store %v to %dst[%i, 0]
        : tensor<16x64xf32> to memref<1000x512xf32, "L3">
    ```
    """

    name = "mem.store"

    value = operand_def(TensorType)

    sizes = opt_prop_def(DenseArrayBase.constr(i64))

    custom_directives = (DynamicIndexList,)

    traits = traits_def(MemoryWriteEffect())

    assembly_format = (
        "$value `to` $destination `` custom<DynamicIndexList>($offsets, "
        "$static_offsets) (`size` $sizes^)? attr-dict "
        "`:` type($value) `to` type($destination)"
    )

    def __init__(
        self,
        value: SSAValue | Operation,
        destination: SSAValue | Operation,
        offsets: Sequence[Index],
        sizes: Sequence[int] | None = None,
    ) -> None:
        static, dynamic = split_offsets(offsets)
        value = SSAValue.get(value)
        if sizes is not None and tuple(sizes) == _shape_of(value):
            sizes = None
        super().__init__(
            operands=[value, destination, dynamic],
            properties={
                "static_offsets": static,
                "sizes": None if sizes is None else share_integer_array(sizes),
            },
        )

    @property
    def box(self) -> tuple[int, ...]:
        """Number of stored elements, per dimension."""
        if self.sizes is None:
            return self.value_type.get_shape()
        return tuple(self.sizes.get_values())

    @property
    def value_type(self) -> TensorType[Attribute]:
        return cast(TensorType[Attribute], self.value.type)

    def verify_(self) -> None:
        verify_is_no_window(self.destination)
        verify_load_or_store_types(self.destination_type, self.value_type)
        rank = self.destination_type.get_num_dims()
        self.verify_offsets(rank)
        verify_sizes(self.box, rank)
        verify_box_fits_value(self.value_type, self.box)


def _shape_of(value: SSAValue) -> tuple[int, ...]:
    return cast(TensorType[Attribute], value.type).get_shape()


def verify_box_fits_value(
    value: TensorType[Attribute], box_sizes: Sequence[int]
) -> None:
    """Raise `VerifyException` if a box is larger than a value along a dimension."""
    pairs = zip(box_sizes, value.get_shape(), strict=True)
    if any(size > extent for size, extent in pairs):
        raise VerifyException(
            f"expected a value of at least shape {list(box_sizes)}, the size of the "
            "box, got "
            f"{value}"
        )


def verify_load_or_store_types(
    buffer: MemRefType[Attribute], value: TensorType[Attribute]
) -> None:
    """Check that a value and a buffer have the same rank and element type."""
    verify_value_and_buffer_element_types(buffer, value)
    if buffer.get_num_dims() != value.get_num_dims():
        raise VerifyException(
            f"cannot move a value of rank {value.get_num_dims()} to or from a buffer "
            f"of rank {buffer.get_num_dims()}"
        )


def verify_value_and_buffer_element_types(
    buffer: MemRefType[Attribute], value: TensorType[Attribute]
) -> None:
    """Check that a buffer has a level, and the element type of a value."""
    level_of(buffer)
    if buffer.element_type != value.element_type:
        raise VerifyException(
            f"cannot move elements of type {value.element_type} to or from a buffer of "
            f"{buffer.element_type}"
        )
