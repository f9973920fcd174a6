"""Operation `tile.mask`: fill the elements of a tile outside of its tensor."""

from collections.abc import Callable, Sequence
from typing import ClassVar, cast

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    TensorType,
    i64,
)
from xdsl.dialects.utils import DynamicIndexList
from xdsl.dialects.utils.dynamic_index_list import get_dynamic_index_list
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.collapsing_interface import (
    AxisCollapsingInterface,
    collapse_axes_of_shape,
)
from tlf.dialects.interfaces import (
    Array,
    LoopDim,
    PositionDependentInterface,
    parallel_dim,
)
from tlf.dialects.mixed_offsets import Index, merge_offsets, split_offsets
from tlf.dialects.shared_attributes import share_integer_array
from tlf.dialects.tile.tile_extents import (
    Number,
    TileOperation,
    to_extents_attribute,
    valid_extents_of_tile,
    verify_fill_element_type,
)
from tlf.dialects.types import scalar_attribute, scalar_value, tensor_type
from tlf.support.affine.index_access import Accesses, identity_accesses


@irdl_op_definition
class MaskOp(TileOperation, PositionDependentInterface, AxisCollapsingInterface):
    """
    Fill the elements of a tile whose position in a tensor is out of bounds.

    Element `e` of the tile has position `offsets + e` in the tensor. It is kept if this
    position is within `bounds`, and `e` within the `valid` extents; otherwise it
    becomes `fill`.

    ```mlir
    %m = tile.mask %t[%i, 0] bounds [100, 64] fill 0.0 : f32
        : tensor<16x64xf32, #tile.encoding<L1>>
    ```
    """

    name = "tile.mask"

    T: ClassVar = VarConstraint("T", base(TensorType))

    source = operand_def(T)
    bounds = prop_def(DenseArrayBase.constr(i64))
    valid = opt_prop_def(DenseArrayBase.constr(i64))
    fill = prop_def(FloatAttr | IntegerAttr)
    result = result_def(T)

    traits = traits_def(Pure())

    custom_directives = (DynamicIndexList,)
    assembly_format = (
        "$source `` custom<DynamicIndexList>($offsets, $static_offsets)"
        " `bounds` $bounds (`valid` $valid^)? `fill` $fill attr-dict `:` type($source)"
    )

    def __init__(
        self,
        source: SSAValue,
        offsets: Sequence[Index],
        bounds: Sequence[int],
        fill: Number,
        valid: Sequence[int] | None = None,
    ) -> None:
        static, dynamic = split_offsets(offsets)
        super().__init__(
            operands=[source, dynamic],
            properties={
                "static_offsets": static,
                "bounds": share_integer_array(bounds),
                "valid": to_extents_attribute(valid),
                "fill": scalar_attribute(fill, tensor_type(source).element_type),
            },
            result_types=[source.type],
        )

    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        source, *dynamic = operands
        offsets = get_dynamic_index_list(
            cast(Sequence[int], self.static_offsets.get_values()),
            cast(Sequence[SSAValue], [int(offset) for offset in dynamic]),
            DYNAMIC_INDEX,
        )
        result = np.full_like(source, scalar_value(self.fill))
        valid = self.valid_box_extents
        inside = tuple(
            slice(max(0, -offset), max(0, min(bound - offset, size)))
            for offset, bound, size in zip(
                cast(Sequence[int], offsets),
                self.bounds.get_values(),
                valid,
                strict=True,
            )
        )
        result[inside] = source[inside]
        return (result,)

    @property
    def valid_box_extents(self) -> tuple[int, ...]:
        """Valid extents, at most those of the tile."""
        return valid_extents_of_tile(self.valid, tensor_type(self.source))

    def iteration_domain(self) -> tuple[LoopDim, ...]:
        return tuple(
            parallel_dim(size) for size in tensor_type(self.source).get_shape()
        )

    def indexing_maps(self) -> tuple[Accesses | None, ...]:
        rank = tensor_type(self.source).get_num_dims()
        return (identity_accesses(rank), *(None for _ in self.offsets))

    def result_indexing_maps(self) -> tuple[Accesses, ...]:
        return (identity_accesses(tensor_type(self.source).get_num_dims()),)

    def tiled_implementation_at(
        self,
        operands: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        tile_offsets: Sequence[Index],
        add_indices: Callable[[Index, Index], Index],
    ) -> Operation:
        """
        Build the mask of a tile, with `tile_offsets` added to its offsets; raise
        `VerifyException` if it has valid extents.
        """
        old = merge_offsets(self.static_offsets, operands[1:])
        offsets = [add_indices(*pair) for pair in zip(old, tile_offsets, strict=True)]
        bounds = cast(Sequence[int], self.bounds.get_values())
        if self.valid is not None:
            raise VerifyException("cannot tile a mask with valid extents again")
        return MaskOp(operands[0], offsets, bounds, scalar_value(self.fill))

    def collapsed_implementation(
        self,
        operands: Sequence[SSAValue],
        axis: int,
        scale_index: Callable[[Index, int], Index],
    ) -> Operation | None:
        """
        Build the mask with `axis` and the next axis merged; `None` if it has valid
        extents, or masks elements along the next axis.
        """
        offsets = list(merge_offsets(self.static_offsets, operands[1:]))
        row = tensor_type(self.source).get_shape()[axis + 1]
        bounds = cast(Sequence[int], self.bounds.get_values())
        if self.valid is not None or offsets[axis + 1] != 0 or bounds[axis + 1] != row:
            return None
        offsets[axis] = scale_index(offsets[axis], row)
        collapsed_bounds = collapse_axes_of_shape(bounds, axis)
        return MaskOp(operands[0], offsets, collapsed_bounds, scalar_value(self.fill))

    def verify_(self) -> None:
        source = tensor_type(self.source)
        self.verify_offsets(source.get_num_dims())
        if len(self.bounds) != source.get_num_dims():
            raise VerifyException(
                f"expected {source.get_num_dims()} bounds, one per axis, "
                f"got {len(self.bounds)}"
            )
        verify_fill_element_type(self.fill, source)
        self.verify_valid_extents(self.valid, source.get_shape())
