"""
Operation `mem.collapse`: a view that collapses two axes of a window of a ring buffer.
"""

from collections.abc import Sequence

from xdsl.dialects.builtin import AffineMapAttr, IntegerAttr, MemRefType, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import irdl_op_definition, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.collapsing_interface import collapse_axes_of_shape
from tlf.dialects.mem.box_operations import SourceOperation
from tlf.dialects.mem.buffer_checks import level_of
from tlf.dialects.mem.ring_window import WindowOp
from tlf.dialects.types import memref_type


def collapse_window_type(
    window: MemRefType[Attribute], axis: int
) -> MemRefType[Attribute]:
    """Return the type of a window with axes `axis` and `axis + 1` collapsed."""
    assert isinstance(window.layout, AffineMapAttr)
    shape, rank = window.get_shape(), window.get_num_dims()
    dims: list[AffineExpr] = [AffineExpr.dimension(each) for each in range(rank)]
    row = shape[axis + 1]
    dims[axis + 1] = dims[axis] % row + dims[axis + 1]
    dims[axis] = dims[axis] // row
    results = [
        each.replace_dims_and_symbols(dims, [AffineExpr.symbol(0)])
        for each in window.layout.data.results
    ]
    layout = AffineMapAttr(AffineMap(rank, 1, tuple(results)))
    return MemRefType(
        window.element_type,
        collapse_axes_of_shape(shape, axis),
        layout,
        window.memory_space,
    )


@irdl_op_definition
class CollapseOp(SourceOperation):
    """
    View a window of a ring buffer with two adjacent axes collapsed into the first; the
    second gets extent 1.

    The window covers the full extent of the ring along the second axis. The ring wraps
    along `axis`, or along an axis that is not collapsed. Only `mem.dma` reads and
    writes the view, like the window.

    ```mlir
    %w = mem.window %ring[%p, 0] size [3, 8] axis 0 : memref<5x8xf32, "L2">
        to memref<3x8xf32, affine_map<(d0, d1)[s0] -> ((d0 + s0) mod 5, d1)>, "L2">
    %v = mem.collapse %w axis 0
        : memref<3x8xf32, affine_map<(d0, d1)[s0] -> ((d0 + s0) mod 5, d1)>, "L2">
        to memref<24x1xf32, affine_map<(d0, d1)[s0]
            -> (((d0 floordiv 8) + s0) mod 5, (d0 mod 8) + d1)>, "L2">
    ```
    """

    name = "mem.collapse"

    axis = prop_def(IntegerAttr.constr(i64))

    result = result_def(MemRefType)

    traits = traits_def(Pure())

    assembly_format = (
        "$source `axis` $axis attr-dict `:` type($source) `to` type($result)"
    )

    def __init__(self, source: SSAValue | Operation, axis: int) -> None:
        window = memref_type(SSAValue.get(source))
        super().__init__(
            operands=[source],
            result_types=[collapse_window_type(window, axis)],
            properties={"axis": IntegerAttr(axis, i64)},
        )

    @property
    def first_axis(self) -> int:
        """First of the two collapsed axes."""
        return self.axis.value.data

    @property
    def row_size(self) -> int:
        """Number of elements along the second axis."""
        return self.source_type.get_shape()[self.first_axis + 1]

    def verify_(self) -> None:
        level_of(self.source.type)
        window = self.source.owner
        if not isinstance(window, WindowOp):
            raise VerifyException(f"expected a mem.window, got {self.source.type}")
        rank = self.source_type.get_num_dims()
        if not 0 <= self.first_axis < rank - 1:
            raise VerifyException(
                f"expected an axis below {rank - 1}, with one behind it, "
                f"got {self.first_axis}"
            )
        self._verify_contiguous_rows(window)
        expected = collapse_window_type(self.source_type, self.first_axis)
        if self.result.type != expected:
            raise VerifyException(f"expected a view {expected}, got {self.result.type}")

    def _verify_contiguous_rows(self, window: WindowOp) -> None:
        """
        Raise `VerifyException` if the ring wraps along the second collapsed axis, the
        window lacks a part of it, or rows are not contiguous in memory.
        """
        if window.ring_axis == self.first_axis + 1:
            raise VerifyException(
                f"expected a ring that does not wrap along axis {window.ring_axis}"
            )
        ring: Sequence[int] = window.source_type.get_shape()
        if self.row_size != ring[self.first_axis + 1]:
            raise VerifyException(
                f"expected all {ring[self.first_axis + 1]} elements of the ring "
                "along axis "
                f"{self.first_axis + 1}, got {self.row_size}"
            )
        strides = window.source_type.get_strides() or ()
        if strides[self.first_axis] != self.row_size * (
            strides[self.first_axis + 1] or 0
        ):
            raise VerifyException("expected rows that follow each other in memory")
