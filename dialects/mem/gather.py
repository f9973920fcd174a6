"""Loads of elements that indices name."""

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    MemRefType,
    TensorType,
    i64,
)
from xdsl.dialects.utils import DynamicIndexList
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect

from tlf.dialects.indexed_move import IndexedMove, maps_attribute
from tlf.dialects.mem.boxes import verify_no_window, verify_sizes
from tlf.dialects.mem.numbers import Number, number_attr, number_value, verify_number
from tlf.dialects.mem.values import verify_elements, verify_room
from tlf.dialects.mixed_index import Index, mixed, split, verify_offsets


@irdl_op_definition
class GatherOp(IRDLOperation):
    """
    Move elements of a buffer into a value, along one axis from where indices say.

    Element `e` of the value is that of the source at `offsets + maps[0](e)`, but along
    `axis` at the element `maps[1](e)` of the indices. Elements outside the source read
    as `fill`, and as an unspecified value without it; no index, whatever it is, reads
    beyond the source. So do elements of the value beyond the size of the box, which may
    be smaller.

    ```mlir
    %v = mem.gather %src[0, %j] axis 0 at %n
        maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>]
        size [16, 8] fill 0.0
        : memref<1000x64xf32, "L3">, tensor<16xi64> -> tensor<16x8xf32>
    ```
    """

    name = "mem.gather"

    source = operand_def(MemRefType)
    offsets = var_operand_def(IndexType)
    indices = operand_def(TensorType)

    static_offsets = prop_def(DenseArrayBase.constr(i64))
    axis = prop_def(IntegerAttr.constr(i64))
    maps = prop_def(ArrayAttr[AffineMapAttr])
    sizes = prop_def(DenseArrayBase.constr(i64))
    fill = opt_prop_def()

    value = result_def(TensorType)

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
        static, dynamic = split(offsets)
        sizes = value_type.get_shape() if sizes is None else sizes
        super().__init__(
            operands=[source, dynamic, indices],
            result_types=[value_type],
            properties={
                "static_offsets": static,
                "axis": IntegerAttr(axis, i64),
                "maps": maps_attribute(*maps),
                "sizes": DenseArrayBase.from_list(i64, sizes),
                "fill": None if fill is None else number_attr(fill),
            },
        )

    @property
    def source_type(self) -> MemRefType[Attribute]:
        return cast(MemRefType[Attribute], self.source.type)

    @property
    def index_type(self) -> TensorType[Attribute]:
        return cast(TensorType[Attribute], self.indices.type)

    @property
    def value_type(self) -> TensorType[Attribute]:
        return self.value.type

    @property
    def mixed_offsets(self) -> tuple[Index, ...]:
        return mixed(self.static_offsets, self.offsets)

    @property
    def box(self) -> tuple[int, ...]:
        """The elements moved per dimension."""
        return tuple(self.sizes.get_values())

    @property
    def fill_value(self) -> float | None:
        return None if self.fill is None else number_value(self.fill)

    @property
    def source_map(self) -> AffineMap:
        """From an element of the value to that of the source, without the offsets."""
        return self.maps.data[0].data

    @property
    def index_map(self) -> AffineMap:
        """From an element of the value to its index."""
        return self.maps.data[1].data

    def verify_(self) -> None:
        verify_no_window(self.source)
        source, value = self.source_type, self.value_type
        verify_elements(source, value)
        rank = source.get_num_dims()
        verify_offsets(self.static_offsets, self.offsets, rank, "offsets")
        IndexedMove(
            source.get_shape(),
            self.index_type.get_shape(),
            value.get_shape(),
            self.axis.value.data,
            self.mixed_offsets,
            [each.data for each in self.maps],
        ).verify(self.index_type.element_type)
        verify_sizes(self.box, value.get_num_dims())
        verify_room(value, self.box)
        if self.fill is not None:
            verify_number(self.fill, source.element_type)
