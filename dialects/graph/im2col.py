"""Operation `graph.im2col`: windows of a tensor as the rows of a matrix."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import irdl_op_definition
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.delinearized_read import (
    DelinearizedReadOperation,
    format_basis,
    parse_basis,
    to_basis_attribute,
    verify_collapsed_shape,
)
from tlf.dialects.graph.filled_movement import FilledMovementOperation, parse_map
from tlf.dialects.graph.movement import ReshapeOp
from tlf.dialects.graph.tensor_types import (
    element_type_of_value,
    infer_result_type,
    shape_of,
)
from tlf.dialects.graph.unfold import UnfoldOp
from tlf.dialects.interfaces import (
    Array,
    DecompositionInterface,
    DelinearizedReadInterface,
    Scalar,
    to_affine_map,
)
from tlf.dialects.types import scalar_attribute
from tlf.support.affine.delinearized_access import Basis, DelinearizedAccess
from tlf.support.affine.index_access import Accesses, IndexAccess


@irdl_op_definition
class Im2colOp(
    FilledMovementOperation,
    DelinearizedReadOperation,
    DelinearizedReadInterface,
    DecompositionInterface,
):
    """
    Gather by a linear map over collapsed dimensions: an `unfold` whose result is
    reshaped. The index along each axis of the result is delinearized into the extents
    that `basis` lists for it; the map takes all digits, in order, to the element of the
    operand. Elements outside of the operand are `fill`.

    The rows of the result may be the pixels of images, and its columns the elements of
    a filter's window, so that a convolution is one matrix product.

    ```mlir
    %y = graph.im2col %x map affine_map<(n, oh, ow, kh, kw, c)
        -> (n, oh + kh - 1, ow + kw - 1, c)> basis [[2, 7, 7], [3, 3, 16]] fill 0.0
        : (tensor<2x7x7x16xf32>) -> tensor<98x144xf32>
    ```
    """

    name = "graph.im2col"

    def __init__(
        self,
        operand: SSAValue | Operation,
        map_: AffineMap,
        basis: Basis,
        fill: Scalar = 0,
    ):
        value = SSAValue.get(operand)
        element = element_type_of_value(value)
        properties: dict[str, Attribute] = {
            "map": AffineMapAttr(map_),
            "basis": to_basis_attribute(basis),
            "fill": scalar_attribute(fill, element),
        }
        shape = DelinearizedAccess((), basis).shape
        type_ = infer_result_type([value], shape, element)
        super().__init__(operands=[value], properties=properties, result_types=[type_])

    @classmethod
    def parse_options(cls, parser: Parser) -> dict[str, Attribute]:
        map_ = parse_map(parser)
        parser.parse_keyword("basis")
        return {"map": map_, "basis": parse_basis(parser)}

    def print_options(self, printer: Printer) -> None:
        printer.print_string(" map ")
        printer.print_attribute(self.map)
        printer.print_string(f" basis {format_basis(self.delinearized_access.basis)}")

    def verify_(self) -> None:
        self.verify_fill_element_type()
        shape = shape_of(self.result)
        self.verify_delinearized_map(len(shape_of(self.operand)), len(shape))
        verify_collapsed_shape(self.delinearized_access.basis, shape)

    def indexing_maps(self) -> tuple[Accesses, ...]:
        """Return accesses to whole axes: the positions read are not a box."""
        extents = shape_of(self.operand)
        return (tuple(IndexAccess(width=extent) for extent in extents),)

    def padding_value(self, operand_index: int) -> Scalar | None:
        access = self.delinearized_access
        is_padded = access.reads_out_of_bounds(shape_of(self.operand))
        return self.fill_value if is_padded else None

    def is_reshape(self) -> bool:
        """Return `True` if the operand has the same elements in the same order."""
        return self.delinearized_access.is_row_major(shape_of(self.operand))

    def build_reshaped(self, shape: Sequence[int]) -> Im2colOp | None:
        """
        Build the operation with a result of another shape, of the same elements in
        row-major order; `None` if no basis has the shape.
        """
        access = self.delinearized_access.reshape_value(shape)
        return None if access is None else self._build_with_access(access)

    def build_with_merged_digits(self) -> Im2colOp | None:
        """
        Build the operation with the fewest digits; `None` if it has no more of them.
        """
        access = self.delinearized_access
        merged = access.merge_digits()
        if merged.basis == access.basis:
            return None
        return self._build_with_access(merged)

    def _build_with_access(self, access: DelinearizedAccess) -> Im2colOp:
        map_ = to_affine_map(access.accesses, len(access.domain_extents)).data
        return Im2colOp(self.operand, map_, access.basis, self.fill_value)

    def is_identity(self) -> bool:
        return super().is_identity() and self.is_reshape()

    def tiled_implementation(
        self, operands: Sequence[SSAValue], result_types: Sequence[Attribute]
    ) -> Operation:
        raise VerifyException("graph.im2col is performed by a load of its operand")

    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        (array,) = operands
        access = self.delinearized_access
        zeros = [0] * len(access.shape)
        return (access.gather_elements(array, zeros, access.shape, self.fill_value),)

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        """Build an unfold over all digits, and collapse them."""
        access = self.delinearized_access
        extents = access.domain_extents
        unfold = UnfoldOp(self.operand, self.map.data, extents, self.fill_value)
        collapsed = ReshapeOp(builder.insert(unfold), shape_of(self.result))
        return builder.insert(collapsed).results
