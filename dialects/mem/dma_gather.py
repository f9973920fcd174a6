"""Moves into a buffer whose elements indices name."""

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    MemRefType,
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
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.indexed_move import IndexedMove, maps_attribute
from tlf.dialects.mem.ahead import iterations_of, verify_ahead
from tlf.dialects.mem.boxes import level_of, verify_no_window, verify_sizes
from tlf.dialects.mem.moves import TokenType
from tlf.dialects.mem.numbers import Number, number_attr, number_value, verify_number
from tlf.dialects.mixed_index import Index, mixed, split, verify_offsets


@irdl_op_definition
class DmaGatherOp(IRDLOperation):
    """
    Start to move elements of a buffer into another one, along one axis from where
    indices say.

    Element `e` of the box comes from the source at `offsets + maps[0](e)`, but along
    `axis` at the element `maps[1](e)` of the indices, and goes to the destination at
    `e`. Elements outside the source read as `fill`, 0 without it; no index, whatever it
    is, reads beyond the source. The destination holds the elements after the `mem.wait`
    of the token, and until then source, indices and destination may not be touched in a
    conflicting way.

    With `ahead` it may start that many iterations of a loop before its own, as a
    `mem.dma`.

    ```mlir
    %t = mem.dma_gather %src[0, %j] axis 0 at %n to %dst
        maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>]
        size [16, 8] fill 0.0
        : memref<1000x64xf32, "L3">, memref<16xi64, "L2"> to memref<16x8xf32, "L2">
    ```
    """

    name = "mem.dma_gather"

    source = operand_def(MemRefType)
    offsets = var_operand_def(IndexType)
    indices = operand_def(MemRefType)
    destination = operand_def(MemRefType)

    static_offsets = prop_def(DenseArrayBase.constr(i64))
    axis = prop_def(IntegerAttr.constr(i64))
    maps = prop_def(ArrayAttr[AffineMapAttr])
    sizes = prop_def(DenseArrayBase.constr(i64))
    fill = opt_prop_def()
    ahead = opt_prop_def(IntegerAttr.constr(i64))

    token = result_def(TokenType())

    custom_directives = (DynamicIndexList, Number)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    assembly_format = (
        "$source `` custom<DynamicIndexList>($offsets, $static_offsets) "
        "`axis` $axis `at` $indices `to` $destination `maps` $maps `size` $sizes "
        "(`fill` custom<Number>($fill)^)? (`ahead` $ahead^)? attr-dict "
        "`:` type($source) `,` type($indices) `to` type($destination)"
    )

    def __init__(
        self,
        source: SSAValue | Operation,
        offsets: Sequence[Index],
        axis: int,
        indices: SSAValue | Operation,
        destination: SSAValue | Operation,
        maps: tuple[AffineMap, AffineMap],
        sizes: Sequence[int],
        fill: float | None = None,
    ) -> None:
        static, dynamic = split(offsets)
        super().__init__(
            operands=[source, dynamic, indices, destination],
            result_types=[TokenType()],
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
    def index_type(self) -> MemRefType[Attribute]:
        return cast(MemRefType[Attribute], self.indices.type)

    @property
    def destination_type(self) -> MemRefType[Attribute]:
        return cast(MemRefType[Attribute], self.destination.type)

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
        """From an element of the box to that of the source, without the offsets."""
        return self.maps.data[0].data

    @property
    def index_map(self) -> AffineMap:
        """From an element of the box to its index."""
        return self.maps.data[1].data

    @property
    def iterations_ahead(self) -> int:
        """How many iterations before its own the move may start."""
        return iterations_of(self.ahead)

    def verify_(self) -> None:
        verify_ahead(self.ahead)
        for buffer in (self.source, self.indices, self.destination):
            level_of(buffer.type)
            verify_no_window(buffer)
        source, destination = self.source_type, self.destination_type
        if source.element_type != destination.element_type:
            raise VerifyException(
                f"cannot move elements of type {source.element_type} into a buffer of "
                f"{destination.element_type}"
            )
        rank = source.get_num_dims()
        verify_offsets(self.static_offsets, self.offsets, rank, "offsets")
        IndexedMove(
            source.get_shape(),
            self.index_type.get_shape(),
            destination.get_shape(),
            self.axis.value.data,
            self.mixed_offsets,
            [each.data for each in self.maps],
        ).verify(self.index_type.element_type)
        verify_sizes(self.box, destination.get_num_dims())
        pairs = zip(self.box, destination.get_shape(), strict=True)
        if any(size > extent for size, extent in pairs):
            raise VerifyException(
                f"expected a box within {list(destination.get_shape())}, "
                f"got {list(self.box)}"
            )
        if self.fill is not None:
            verify_number(self.fill, source.element_type)
