"""Operation `tile.scatter`: scatter a tile into a tensor by indices."""

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import TensorType, UnitAttr
from xdsl.dialects.utils import DynamicIndexList
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import (
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.combining_kind import (
    CombiningKind,
    CombiningKindAttr,
    verify_combinable_element_type,
)
from tlf.dialects.indexed_move_operation import (
    SCATTER_ROLES,
    ScatterMoveOperation,
    build_indexed_properties,
    verify_accumulable_element_type,
)
from tlf.dialects.mixed_offsets import Index, split_offsets
from tlf.dialects.tile.tile_extents import TileOperation, verify_equal_element_types
from tlf.dialects.types import tensor_type


@irdl_op_definition
class ScatterOp(TileOperation, ScatterMoveOperation):
    """
    Scatter a tile into a tensor, at indexed positions along one axis, and return the
    updated tensor.

    Element `e` of the tile is written to the destination at `offsets + maps[0](e)`, but
    along `axis` at position `indices[maps[1](e)]`; elements with a position outside of
    the destination are dropped. Of several elements for one position, the last in
    row-major order wins. With `accumulate`, each element is added to the destination,
    in this order. With `combine`, elements are combined with the destination in any
    order, so that iterations of a parallel loop may combine with the same element.

    ```mlir
    %n = tile.scatter %t into %x[0, %j] axis 0 at %i
        maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] accumulate
        : tensor<16x8xf32, #tile.encoding<L2>>, tensor<16xi64, #tile.encoding<L2>>
        into tensor<100x64xf32>
    ```
    """

    name = "tile.scatter"

    T: ClassVar = VarConstraint("T", base(TensorType))

    source = operand_def(TensorType)
    destination = operand_def(T)
    indices = operand_def(TensorType)
    combine = opt_prop_def(CombiningKindAttr)
    result = result_def(T)

    traits = traits_def(Pure())

    custom_directives = (DynamicIndexList,)
    assembly_format = (
        "$source `into` $destination `` custom<DynamicIndexList>($offsets,"
        " $static_offsets) `axis` $axis `at` $indices `maps` $maps"
        " (`accumulate` $accumulate^)? (`combine` $combine^)? attr-dict"
        " `:` type($source) `,` type($indices) `into` type($destination)"
    )

    def __init__(
        self,
        source: SSAValue,
        destination: SSAValue,
        offsets: Sequence[Index],
        axis: int,
        indices: SSAValue,
        maps: tuple[AffineMap, AffineMap],
        accumulate: bool = False,
        combine: CombiningKind | None = None,
    ) -> None:
        static, dynamic = split_offsets(offsets)
        super().__init__(
            operands=[source, destination, indices, dynamic],
            properties={
                **build_indexed_properties(static, axis, maps),
                "accumulate": UnitAttr() if accumulate else None,
                "combine": None if combine is None else CombiningKindAttr(combine),
            },
            result_types=[destination.type],
        )

    @property
    def valid_box_extents(self) -> tuple[int, ...]:
        """Extents of the tile."""
        return tensor_type(self.source).get_shape()

    @property
    def combining_kind(self) -> CombiningKind | None:
        """Combination with the destination in any order; None for ordered writes."""
        return None if self.combine is None else self.combine.data

    def verify_(self) -> None:
        source, indices = tensor_type(self.source), tensor_type(self.indices)
        destination = tensor_type(self.destination)
        verify_equal_element_types(source, destination)
        verify_accumulable_element_type(source.element_type, self.is_scatter_add)
        if self.combine is not None:
            verify_combinable_element_type(source.element_type)
            if self.is_scatter_add:
                raise VerifyException(
                    "expected `accumulate` or `combine`, got both of them"
                )
        self.verify_offsets(destination.get_num_dims())
        self.verify_indexed_operands(
            destination, indices, source, self.mixed_offsets, SCATTER_ROLES
        )
