"""Operation `mem.window`: view of a ring buffer whose indices wrap along one axis."""

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    AffineMapAttr,
    IntegerAttr,
    MemRefType,
    i64,
)
from xdsl.dialects.utils import DynamicIndexList
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import (
    irdl_op_definition,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.mem.box_operations import BoxOperation, SourceOperation
from tlf.dialects.mem.buffer_checks import level_of, verify_is_no_window, verify_sizes
from tlf.dialects.mixed_offsets import Index, OffsetOperation, split_offsets
from tlf.dialects.shared_attributes import share_integer_array
from tlf.dialects.types import memref_type


def window_type(
    ring: MemRefType[Attribute], sizes: Sequence[int], axis: int
) -> MemRefType[Attribute]:
    """
    Return the type of a window of a ring buffer. Its layout encodes the axis along
    which indices wrap, and the number of slices of the ring; the start of the window is
    an offset of the operation.
    """
    rank = len(sizes)
    results: list[AffineExpr] = [AffineExpr.dimension(each) for each in range(rank)]
    wrapped = (results[axis] + AffineExpr.symbol(0)) % ring.get_shape()[axis]
    results[axis] = wrapped
    layout = AffineMapAttr(AffineMap(rank, 1, tuple(results)))
    return MemRefType(ring.element_type, sizes, layout, ring.memory_space)


@irdl_op_definition
class WindowOp(SourceOperation, OffsetOperation, BoxOperation):
    """
    View a box of a buffer whose slices along `axis` form a ring.

    Slice `n` of the view along `axis` is slice `(offset + n) mod extent` of the buffer,
    with `extent` the size of the buffer along that axis; this offset may be any
    integer. Along other axes, the box is within the buffer. Only `mem.dma` reads and
    writes a window. A move of a box that straddles the end of the ring is a single
    move. Its clipping and filling apply to the bounds of the window, not to the ring.

    ```mlir
    %w = mem.window %ring[0, %p] size [16, 3] axis 1
        : memref<16x5xf32, "L2">
        to memref<16x3xf32, affine_map<(d0, d1)[s0] -> (d0, (d1 + s0) mod 5)>, "L2">
    ```
    """

    name = "mem.window"

    axis = prop_def(IntegerAttr.constr(i64))

    result = result_def(MemRefType)

    custom_directives = (DynamicIndexList,)

    traits = traits_def(Pure())

    assembly_format = (
        "$source `` custom<DynamicIndexList>($offsets, $static_offsets) `size` $sizes "
        "`axis` $axis attr-dict `:` type($source) `to` type($result)"
    )

    def __init__(
        self,
        source: SSAValue | Operation,
        offsets: Sequence[Index],
        sizes: Sequence[int],
        axis: int,
    ) -> None:
        static, dynamic = split_offsets(offsets)
        ring = memref_type(SSAValue.get(source))
        super().__init__(
            operands=[source, dynamic],
            result_types=[window_type(ring, sizes, axis)],
            properties={
                "static_offsets": static,
                "sizes": share_integer_array(sizes),
                "axis": IntegerAttr(axis, i64),
            },
        )

    @property
    def ring_axis(self) -> int:
        """Axis along which indices wrap."""
        return self.axis.value.data

    @property
    def ring_size(self) -> int:
        """Number of slices of the ring."""
        return self.source_type.get_shape()[self.ring_axis]

    def verify_(self) -> None:
        level_of(self.source.type)
        verify_is_no_window(self.source)
        rank = self.source_type.get_num_dims()
        self.verify_offsets(rank)
        verify_sizes(self.box_sizes, rank)
        if not 0 <= self.ring_axis < rank:
            raise VerifyException(
                f"expected an axis below {rank}, got {self.ring_axis}"
            )
        self._verify_box_inside_ring()
        expected = window_type(self.source_type, self.box_sizes, self.ring_axis)
        if self.result.type != expected:
            raise VerifyException(f"expected a view {expected}, got {self.result.type}")

    def _verify_box_inside_ring(self) -> None:
        """
        Raise `VerifyException` if the box has more slices than the ring, or exceeds the
        buffer at a static offset along another axis.
        """
        shape = self.source_type.get_shape()
        if self.box_sizes[self.ring_axis] > self.ring_size:
            raise VerifyException(
                f"expected at most the {self.ring_size} slices of the ring, got "
                f"{self.box_sizes[self.ring_axis]}"
            )
        for axis, (offset, size, extent) in enumerate(
            zip(self.mixed_offsets, self.box_sizes, shape, strict=True)
        ):
            if axis == self.ring_axis or not isinstance(offset, int):
                continue
            if offset < 0 or offset + size > extent:
                raise VerifyException(
                    f"expected a box inside of {list(shape)} but for axis "
                    f"{self.ring_axis}, got {size} from {offset} on along axis {axis}"
                )
