"""
Operation `mem.dma_scatter`: asynchronous scatter of elements to a buffer by indices.
"""

from collections.abc import Sequence

from xdsl.dialects.builtin import UnitAttr
from xdsl.dialects.utils import DynamicIndexList
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import irdl_op_definition

from tlf.dialects.indexed_move_operation import (
    SCATTER_ROLES,
    ScatterMoveOperation,
    verify_accumulable_element_type,
)
from tlf.dialects.mem.box_operations import verify_same_element_type
from tlf.dialects.mem.buffer_checks import (
    verify_box_fits_buffer,
    verify_buffers_with_level,
)
from tlf.dialects.mem.indexed_dma import IndexedDmaOperation
from tlf.dialects.mixed_offsets import Index


@irdl_op_definition
class DmaScatterOp(IndexedDmaOperation, ScatterMoveOperation):
    """
    Start an asynchronous scatter from one buffer to another, at indexed positions along
    one axis of the destination.

    Element `e` of the box is written to the destination at `offsets + maps[0](e)`, but
    along `axis` at position `indices[maps[1](e)]`; elements with a position outside of
    the destination are dropped. Of several elements for one position, the last in
    row-major order wins. With `accumulate`, each element is added to the destination,
    in this order. The destination holds the elements after the `mem.wait` of the token.
    Until then, no conflicting access to source, indices or destination is allowed.

    With `ahead`, the move may start that many iterations of a loop early, like a
    `mem.dma`.

    ```mlir
    %t = mem.dma_scatter %src to %dst[0, %j] axis 0 at %n
        maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>]
        size [16, 8] accumulate
        : memref<16x8xf32, "L2">, memref<16xi64, "L2"> to memref<1000x64xf32, "L3">
    ```
    """

    name = "mem.dma_scatter"

    custom_directives = (DynamicIndexList,)

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
        properties = {"accumulate": UnitAttr() if accumulate else None}
        ends = (source, destination)
        super().__init__(ends, offsets, axis, indices, maps, sizes, properties)

    def verify_(self) -> None:
        self.verify_prefetch_distance()
        verify_buffers_with_level(self.source, self.indices, self.destination)
        source, destination = self.source_type, self.destination_type
        verify_same_element_type(source, destination)
        verify_accumulable_element_type(source.element_type, self.is_scatter_add)
        self.verify_offsets(destination.get_num_dims())
        self.verify_indexed_operands(
            destination, self.index_type, source, self.mixed_offsets, SCATTER_ROLES
        )
        verify_box_fits_buffer(self.box_sizes, source.get_shape())
