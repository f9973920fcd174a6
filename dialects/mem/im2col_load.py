"""Operation `mem.im2col`: a load of windows of a buffer as the rows of a value."""

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.utils import DynamicIndexList
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import MemoryReadEffect

from tlf.dialects.delinearized_read import (
    BasisList,
    DelinearizedReadOperation,
    build_delinearized_properties,
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
from tlf.support.affine.delinearized_access import DelinearizedAccess


@irdl_op_definition
class Im2colOp(
    ValueResultOperation,
    OffsetOperation,
    DelinearizedReadOperation,
    BoxOperation,
    OutOfBoundsFillOperation,
):
    """
    Load windows of a buffer into a value, as `graph.im2col` gathers them.

    Element `e` of the value is the source element at `map(digits)` of the index
    `offsets + e`, which is delinearized into `basis`. Elements outside of the source
    read as `fill`, or as an unspecified value without it. The box may be smaller than
    the value: elements beyond it are filled likewise.

    ```mlir
    %v = mem.im2col %src[%i, 0] map affine_map<(n, h, w, r, c) -> (n, h + r, w, c)>
        basis [[2, 7, 7], [3, 16]] size [16, 16] fill 0.0
        : memref<2x9x7x16xf32, "L3"> -> tensor<16x16xf32>
    ```
    """

    name = "mem.im2col"

    custom_directives = (DynamicIndexList, BasisList, Number)

    traits = traits_def(MemoryReadEffect())

    assembly_format = (
        "$source `` custom<DynamicIndexList>($offsets, $static_offsets) "
        "`map` $map `basis` custom<BasisList>($basis) `size` $sizes "
        "(`fill` custom<Number>($fill)^)? attr-dict "
        "`:` type($source) `->` type($value)"
    )

    def __init__(
        self,
        source: SSAValue | Operation,
        offsets: Sequence[Index],
        access: DelinearizedAccess,
        value_type: TensorType[Attribute],
        fill: float | None = None,
        sizes: Sequence[int] | None = None,
    ) -> None:
        static, dynamic = split_offsets(offsets)
        sizes = value_type.get_shape() if sizes is None else sizes
        super().__init__(
            operands=[source, dynamic],
            result_types=[value_type],
            properties={
                "static_offsets": static,
                **build_delinearized_properties(access),
                "sizes": share_integer_array(sizes),
                "fill": None if fill is None else to_number_attribute(fill),
            },
        )

    def verify_(self) -> None:
        verify_is_no_window(self.source)
        source, value = self.source_type, self.value_type
        verify_value_and_buffer_element_types(source, value)
        self.verify_offsets(value.get_num_dims())
        self.verify_delinearized_map(source.get_num_dims(), value.get_num_dims())
        verify_sizes(self.box_sizes, value.get_num_dims())
        verify_box_fits_value(value, self.box_sizes)
        self.verify_fill_number(source.element_type)
