"""Moves out of a buffer to where indices say."""

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, MemRefType, UnitAttr, i64
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

from tlf.dialects.indexed_move import (
    WRITTEN,
    IndexedOperation,
    maps_attribute,
    verify_summed,
)
from tlf.dialects.mem.ahead import EarlyOperation
from tlf.dialects.mem.boxed import (
    BoxOperation,
    DestinationOperation,
    SourceOperation,
    verify_moved,
)
from tlf.dialects.mem.boxes import verify_box, verify_plain
from tlf.dialects.mem.moves import TokenType
from tlf.dialects.mixed_index import Index, OffsetOperation, split


@irdl_op_definition
class DmaScatterOp(
    SourceOperation,
    DestinationOperation,
    OffsetOperation,
    IndexedOperation,
    BoxOperation,
    EarlyOperation,
):
    """
    Start to move elements of a buffer into another one, along one axis to where indices
    say.

    Element `e` of the box goes to the destination at `offsets + maps[0](e)`, but along
    `axis` to the element `maps[1](e)` of the indices; nowhere where that is outside of
    it. Of several elements for one place, the last in the order of the dimensions
    stays. With `accumulate` each is added to what is there, in this order. The
    destination holds the elements after the `mem.wait` of the token, and until then
    source, indices and destination may not be touched in a conflicting way.

    With `ahead` it may start that many iterations of a loop before its own, as a
    `mem.dma`.

    ```mlir
    %t = mem.dma_scatter %src to %dst[0, %j] axis 0 at %n
        maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>]
        size [16, 8] accumulate
        : memref<16x8xf32, "L2">, memref<16xi64, "L2"> to memref<1000x64xf32, "L3">
    ```
    """

    name = "mem.dma_scatter"

    indices = operand_def(MemRefType)

    accumulate = opt_prop_def(UnitAttr)

    token = result_def(TokenType())

    custom_directives = (DynamicIndexList,)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    assembly_format = (
        "$source `to` $destination `` custom<DynamicIndexList>($offsets, "
        "$static_offsets) `axis` $axis `at` $indices `maps` $maps `size` $sizes "
        "(`accumulate` $accumulate^)? (`ahead` $ahead^)? attr-dict "
        "`:` type($source) `,` type($indices) `to` type($destination)"
    )

    def __init__(
        self,
        source: SSAValue | Operation,
        destination: SSAValue | Operation,
        offsets: Sequence[Index],
        axis: int,
        indices: SSAValue | Operation,
        maps: tuple[AffineMap, AffineMap],
        sizes: Sequence[int],
        accumulate: bool = False,
    ) -> None:
        static, dynamic = split(offsets)
        super().__init__(
            operands=[indices, source, destination, dynamic],
            result_types=[TokenType()],
            properties={
                "static_offsets": static,
                "axis": IntegerAttr(axis, i64),
                "maps": maps_attribute(*maps),
                "sizes": DenseArrayBase.from_list(i64, sizes),
                "accumulate": UnitAttr() if accumulate else None,
            },
        )

    @property
    def index_type(self) -> MemRefType[Attribute]:
        return cast(MemRefType[Attribute], self.indices.type)

    @property
    def adds(self) -> bool:
        """Whether elements are added to what is there."""
        return self.accumulate is not None

    def verify_(self) -> None:
        self.verify_early()
        verify_plain(self.source, self.indices, self.destination)
        source, destination = self.source_type, self.destination_type
        verify_moved(source, destination)
        verify_summed(source.element_type, self.adds)
        self.verify_offsets(destination.get_num_dims())
        self.verify_places(
            destination, self.index_type, source, self.mixed_offsets, WRITTEN
        )
        verify_box(self.box, source.get_shape())
