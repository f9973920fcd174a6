"""
Operations `tile.slice` and `tile.deslice`: extract a tile of a tensor, and insert one.
"""

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    AffineMapAttr,
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

from tlf.dialects.encoding_attribute import level_of
from tlf.dialects.mixed_offsets import Index, split_offsets
from tlf.dialects.move_interface import MoveInterface
from tlf.dialects.tile.tile_extents import (
    Number,
    TileOperation,
    to_extents_attribute,
    to_fill_attribute,
    valid_extents_of_tile,
    verify_equal_element_types,
    verify_equal_element_types_and_ranks,
    verify_fill_element_type,
)
from tlf.dialects.types import AnyTensor, tensor_type
from tlf.support.affine.linear_access import linear_accesses_of_map


@irdl_op_definition
class SliceOp(TileOperation, MoveInterface):
    """
    Extract a tile of a tensor. The result type gives its size.

    Elements outside of the source read as `fill`; without `fill` they are undefined. So
    do elements of the tile beyond its `valid` extents, if given. A slice into another
    memory level is a move; a slice within a level is a view.

    With a `map`, element `e` of the tile is the source element at `offsets + map(e)`:
    the move transposes, repeats, strides, or gathers windows.

    ```mlir
    %t = tile.slice %x[%i, 0] fill 0.0 : f32
        : tensor<100x64xf32> -> tensor<16x64xf32, #tile.encoding<L2>>
    ```
    """

    name = "tile.slice"

    source = operand_def(TensorType)
    map = opt_prop_def(AffineMapAttr)
    fill = opt_prop_def(FloatAttr | IntegerAttr)
    valid = opt_prop_def(DenseArrayBase.constr(i64))
    result = result_def(TensorType)

    traits = traits_def(Pure())

    custom_directives = (DynamicIndexList,)
    assembly_format = (
        "$source `` custom<DynamicIndexList>($offsets, $static_offsets)"
        " (`map` $map^)? (`valid` $valid^)? (`fill` $fill^)? attr-dict"
        " `:` type($source) `->` type($result)"
    )

    def __init__(
        self,
        source: SSAValue,
        offsets: Sequence[Index],
        result_type: AnyTensor,
        fill: Number | None = None,
        valid: Sequence[int] | None = None,
        map_: AffineMap | None = None,
    ) -> None:
        static, dynamic = split_offsets(offsets)
        super().__init__(
            operands=[source, dynamic],
            properties={
                "static_offsets": static,
                "fill": to_fill_attribute(fill, result_type),
                "valid": to_extents_attribute(valid),
                "map": None if map_ is None else AffineMapAttr(map_),
            },
            result_types=[result_type],
        )

    @property
    def is_move(self) -> bool:
        return level_of(self.source.type) != level_of(self.result.type)

    @property
    def valid_box_extents(self) -> tuple[int, ...]:
        """Extents of the extracted box, at most those of the tile."""
        return valid_extents_of_tile(self.valid, tensor_type(self.result))

    def verify_(self) -> None:
        source, result = tensor_type(self.source), tensor_type(self.result)
        self.verify_offsets(source.get_num_dims())
        if self.map is None:
            verify_equal_element_types_and_ranks(source, result)
        else:
            self._verify_indexing_map(self.map.data, source, result)
        verify_fill_element_type(self.fill, result)
        self.verify_valid_extents(self.valid, result.get_shape())

    @staticmethod
    def _verify_indexing_map(
        map_: AffineMap, source: AnyTensor, result: AnyTensor
    ) -> None:
        """
        Raise `VerifyException` unless `map_` is linear, from the axes of the tile to
        those of the source, and element types are equal.
        """
        verify_equal_element_types(source, result)
        ranks = (result.get_num_dims(), source.get_num_dims())
        if (map_.num_dims, len(map_.results)) != ranks or map_.num_symbols:
            raise VerifyException(
                f"expected a map from {ranks[0]} axes of the tile to {ranks[1]} of the "
                f"source, got {map_}"
            )
        linear_accesses_of_map(map_)


@irdl_op_definition
class DesliceOp(TileOperation):
    """
    Insert a tile into a tensor at some offsets, and return the updated tensor.

    Elements of the tile outside of the destination are dropped, so that the last tile
    along an axis may be partial. Elements beyond the `valid` extents, if given, are
    dropped, too.

    ```mlir
    %r = tile.deslice %t into %o[%i, 0]
        : tensor<16x64xf32, #tile.encoding<L2>> into tensor<100x64xf32>
    ```
    """

    name = "tile.deslice"

    T: ClassVar = VarConstraint("T", base(TensorType))

    source = operand_def(TensorType)
    destination = operand_def(T)
    valid = opt_prop_def(DenseArrayBase.constr(i64))
    result = result_def(T)

    traits = traits_def(Pure())

    custom_directives = (DynamicIndexList,)
    assembly_format = (
        "$source `into` $destination `` "
        "custom<DynamicIndexList>($offsets, $static_offsets) (`valid` $valid^)?"
        " attr-dict `:` type($source) `into` type($destination)"
    )

    def __init__(
        self,
        source: SSAValue,
        destination: SSAValue,
        offsets: Sequence[Index],
        valid: Sequence[int] | None = None,
    ) -> None:
        static, dynamic = split_offsets(offsets)
        super().__init__(
            operands=[source, destination, dynamic],
            properties={"static_offsets": static, "valid": to_extents_attribute(valid)},
            result_types=[destination.type],
        )

    @property
    def valid_box_extents(self) -> tuple[int, ...]:
        """Extents of the inserted box, at most those of the tile."""
        return valid_extents_of_tile(self.valid, tensor_type(self.source))

    def verify_(self) -> None:
        source, destination = tensor_type(self.source), tensor_type(self.destination)
        self.verify_offsets(source.get_num_dims())
        verify_equal_element_types_and_ranks(source, destination)
        self.verify_valid_extents(self.valid, source.get_shape())
