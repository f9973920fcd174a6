"""Operation `tile.gather`: gather a tile of a tensor by indices."""

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    TensorType,
    i64,
)
from xdsl.dialects.utils import DynamicIndexList
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from tlf.dialects.indexed_move_operation import (
    IndexedMoveOperation,
    build_indexed_properties,
)
from tlf.dialects.mixed_offsets import Index, split_offsets
from tlf.dialects.move_interface import MoveInterface
from tlf.dialects.tile.tile_extents import (
    Number,
    TileOperation,
    to_extents_attribute,
    to_fill_attribute,
    valid_extents_of_tile,
    verify_equal_element_types,
    verify_fill_element_type,
)
from tlf.dialects.types import AnyTensor, tensor_type


@irdl_op_definition
class GatherOp(TileOperation, IndexedMoveOperation, MoveInterface):
    """
    Gather a tile of a tensor, at indexed positions along one axis.

    Element `e` of the tile is the source element at `offsets + maps[0](e)`, but along
    `axis` at position `indices[maps[1](e)]`. Elements outside of the source read as
    `fill`, and are undefined without it. So do elements of the tile beyond its `valid`
    extents, if given, whatever their indices are.

    ```mlir
    %t = tile.gather %x[0, %j] axis 0 at %n
        maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>]
        fill 0.0 : f32 : tensor<100x64xf32>, tensor<16xi64, #tile.encoding<L1>>
        -> tensor<16x8xf32, #tile.encoding<L1>>
    ```
    """

    name = "tile.gather"

    source = operand_def(TensorType)
    indices = operand_def(TensorType)
    fill = opt_prop_def(FloatAttr | IntegerAttr)
    valid = opt_prop_def(DenseArrayBase.constr(i64))
    result = result_def(TensorType)

    traits = traits_def(Pure())

    custom_directives = (DynamicIndexList,)
    assembly_format = (
        "$source `` custom<DynamicIndexList>($offsets, $static_offsets)"
        " `axis` $axis `at` $indices `maps` $maps (`valid` $valid^)? (`fill` $fill^)?"
        " attr-dict `:` type($source) `,` type($indices) `->` type($result)"
    )

    def __init__(
        self,
        source: SSAValue,
        offsets: Sequence[Index],
        axis: int,
        indices: SSAValue,
        maps: tuple[AffineMap, AffineMap],
        result_type: AnyTensor,
        fill: Number | None = None,
        valid: Sequence[int] | None = None,
    ) -> None:
        static, dynamic = split_offsets(offsets)
        super().__init__(
            operands=[source, indices, dynamic],
            properties={
                **build_indexed_properties(static, axis, maps),
                "fill": to_fill_attribute(fill, result_type),
                "valid": to_extents_attribute(valid),
            },
            result_types=[result_type],
        )

    @property
    def is_move(self) -> bool:
        return True

    @property
    def valid_box_extents(self) -> tuple[int, ...]:
        """Extents of the gathered box, at most those of the tile."""
        return valid_extents_of_tile(self.valid, tensor_type(self.result))

    def verify_(self) -> None:
        source, result = tensor_type(self.source), tensor_type(self.result)
        indices = tensor_type(self.indices)
        verify_equal_element_types(source, result)
        self.verify_offsets(source.get_num_dims())
        self.verify_indexed_operands(source, indices, result, self.mixed_offsets)
        verify_fill_element_type(self.fill, result)
        self.verify_valid_extents(self.valid, result.get_shape())
