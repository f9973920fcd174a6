"""Operation `mem.gather`: a load that gathers elements of a buffer by indices."""

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    TensorType,
)
from xdsl.dialects.utils import DynamicIndexList
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    traits_def,
)
from xdsl.traits import MemoryReadEffect

from tlf.dialects.indexed_move_operation import (
    IndexedMoveOperation,
    build_indexed_properties,
)
from tlf.dialects.mem.box_operations import BoxOperation, OutOfBoundsFillOperation
from tlf.dialects.mem.buffer_checks import verify_is_no_window, verify_sizes
from tlf.dialects.mem.load_store import (
    ValueResultOperation,
    verify_box_fits_value,
    verify_value_and_buffer_element_types,
)
from tlf.dialects.mem.number_literals import Number, to_number_attribute
from tlf.dialects.mixed_offsets import Index, OffsetOperation, split_offsets
from tlf.dialects.shared_attributes import share_integer_array


@irdl_op_definition
class GatherOp(
    ValueResultOperation,
    OffsetOperation,
    IndexedMoveOperation,
    BoxOperation,
    OutOfBoundsFillOperation,
):
    """
    Gather elements of a buffer into a value, at indexed positions along one axis.

    Element `e` of the value is the source element at `offsets + maps[0](e)`, but along
    `axis` at position `indices[maps[1](e)]`. Elements outside of the source read as
    `fill`, or as an unspecified value without it; no index value causes a read outside
    of the source buffer. The box may be smaller than the value: elements beyond it are
    filled likewise.

    ```mlir
    %v = mem.gather %src[0, %j] axis 0 at %n
        maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>]
        size [16, 8] fill 0.0
        : memref<1000x64xf32, "L3">, tensor<16xi64> -> tensor<16x8xf32>
    ```
    """

    name = "mem.gather"

    indices = operand_def(TensorType)

    custom_directives = (DynamicIndexList, Number)

    traits = traits_def(MemoryReadEffect())

    assembly_format = (
        "$source `` custom<DynamicIndexList>($offsets, $static_offsets) "
        "`axis` $axis `at` $indices `maps` $maps `size` $sizes "
        "(`fill` custom<Number>($fill)^)? attr-dict "
        "`:` type($source) `,` type($indices) `->` type($value)"
    )

    def __init__(
        self,
        source: SSAValue | Operation,
        offsets: Sequence[Index],
        axis: int,
        indices: SSAValue | Operation,
        maps: tuple[AffineMap, AffineMap],
        value_type: TensorType[Attribute],
        fill: float | None = None,
        sizes: Sequence[int] | None = None,
    ) -> None:
        static, dynamic = split_offsets(offsets)
        sizes = value_type.get_shape() if sizes is None else sizes
        super().__init__(
            operands=[indices, source, dynamic],
            result_types=[value_type],
            properties={
                **build_indexed_properties(static, axis, maps),
                "sizes": share_integer_array(sizes),
                "fill": None if fill is None else to_number_attribute(fill),
            },
        )

    @property
    def index_type(self) -> TensorType[Attribute]:
        return cast(TensorType[Attribute], self.indices.type)

    def verify_(self) -> None:
        verify_is_no_window(self.source)
        source, value = self.source_type, self.value_type
        verify_value_and_buffer_element_types(source, value)
        self.verify_offsets(source.get_num_dims())
        self.verify_indexed_operands(source, self.index_type, value, self.mixed_offsets)
        verify_sizes(self.box_sizes, value.get_num_dims())
        verify_box_fits_value(value, self.box_sizes)
        self.verify_fill_number(source.element_type)
