"""Operation `tile.im2col`: load a tile of a tensor's windows."""

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
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from tlf.dialects.delinearized_read import (
    BasisList,
    DelinearizedReadOperation,
    build_delinearized_properties,
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
from tlf.support.affine.delinearized_access import DelinearizedAccess


@irdl_op_definition
class Im2colOp(TileOperation, DelinearizedReadOperation, MoveInterface):
    """
    Load a tile of the windows of a tensor, as `graph.im2col` gathers them: element `e`
    of the tile is the source element at `map(digits)` of the index `offsets + e`, which
    is delinearized into `basis`. Elements outside of the source read as `fill`, and are
    undefined without it. So are elements beyond the `valid` extents, if given.

    ```mlir
    %t = tile.im2col %x[%i, %k] map affine_map<(n, h, w, r, c) -> (n, h + r, w, c)>
        basis [[2, 7, 7], [3, 16]] fill 0.0 : f32
        : tensor<2x9x7x16xf32> -> tensor<16x16xf32, #tile.encoding<L1>>
    ```
    """

    name = "tile.im2col"

    source = operand_def(TensorType)
    fill = opt_prop_def(FloatAttr | IntegerAttr)
    valid = opt_prop_def(DenseArrayBase.constr(i64))
    result = result_def(TensorType)

    traits = traits_def(Pure())

    custom_directives = (DynamicIndexList, BasisList)
    assembly_format = (
        "$source `` custom<DynamicIndexList>($offsets, $static_offsets)"
        " `map` $map `basis` custom<BasisList>($basis) (`valid` $valid^)?"
        " (`fill` $fill^)? attr-dict `:` type($source) `->` type($result)"
    )

    def __init__(
        self,
        source: SSAValue,
        offsets: Sequence[Index],
        access: DelinearizedAccess,
        result_type: AnyTensor,
        fill: Number | None = None,
        valid: Sequence[int] | None = None,
    ) -> None:
        static, dynamic = split_offsets(offsets)
        super().__init__(
            operands=[source, dynamic],
            properties={
                "static_offsets": static,
                **build_delinearized_properties(access),
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
        """Extents of the loaded box, at most those of the tile."""
        return valid_extents_of_tile(self.valid, tensor_type(self.result))

    def verify_(self) -> None:
        source, result = tensor_type(self.source), tensor_type(self.result)
        verify_equal_element_types(source, result)
        self.verify_offsets(result.get_num_dims())
        self.verify_delinearized_map(source.get_num_dims(), result.get_num_dims())
        verify_fill_element_type(self.fill, result)
        self.verify_valid_extents(self.valid, result.get_shape())
