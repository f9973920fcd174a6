"""
Operation `mem.dma_gather`: asynchronous gather of elements of a buffer by indices.
"""

from collections.abc import Sequence

from xdsl.dialects.utils import DynamicIndexList
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import irdl_op_definition

from tlf.dialects.mem.box_operations import (
    OutOfBoundsFillOperation,
    verify_same_element_type,
)
from tlf.dialects.mem.buffer_checks import (
    verify_box_fits_buffer,
    verify_buffers_with_level,
)
from tlf.dialects.mem.indexed_dma import IndexedDmaOperation
from tlf.dialects.mem.number_literals import Number, to_number_attribute
from tlf.dialects.mixed_offsets import Index


@irdl_op_definition
class DmaGatherOp(IndexedDmaOperation, OutOfBoundsFillOperation):
    """
    Start an asynchronous gather from one buffer to another, at indexed positions along
    one axis of the source.

    Element `e` of the box is read from the source at `offsets + maps[0](e)`, but along
    `axis` at position `indices[maps[1](e)]`, and is written to the destination at `e`.
    Elements outside of the source read as `fill`, by default 0; no index value causes a
    read outside of the source buffer. The destination holds the elements after the
    `mem.wait` of the token. Until then, no conflicting access to source, indices or
    destination is allowed.

    With `ahead`, the move may start that many iterations of a loop early, like a
    `mem.dma`.

    ```mlir
    %t = mem.dma_gather %src[0, %j] axis 0 at %n to %dst
        maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>]
        size [16, 8] fill 0.0
        : memref<1000x64xf32, "L3">, memref<16xi64, "L2"> to memref<16x8xf32, "L2">
    ```
    """

    name = "mem.dma_gather"

    custom_directives = (DynamicIndexList, Number)

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
        properties = {"fill": None if fill is None else to_number_attribute(fill)}
        ends = (source, destination)
        super().__init__(ends, offsets, axis, indices, maps, sizes, properties)

    def verify_(self) -> None:
        self.verify_prefetch_distance()
        verify_buffers_with_level(self.source, self.indices, self.destination)
        source, destination = self.source_type, self.destination_type
        verify_same_element_type(source, destination)
        self.verify_offsets(source.get_num_dims())
        self.verify_indexed_operands(
            source, self.index_type, destination, self.mixed_offsets
        )
        verify_box_fits_buffer(self.box_sizes, destination.get_shape())
        self.verify_fill_number(source.element_type)
