"""Operation `mem.scatter`: combination of a value with a buffer, at indices."""

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.utils import DynamicIndexList
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, traits_def
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect

from tlf.dialects.combining_kind import (
    CombiningKind,
    CombiningKindAttr,
    verify_combinable_element_type,
)
from tlf.dialects.indexed_move_operation import (
    SCATTER_ROLES,
    IndexedMoveOperation,
    build_indexed_properties,
)
from tlf.dialects.mem.box_operations import DestinationOperation
from tlf.dialects.mem.buffer_checks import verify_is_no_window
from tlf.dialects.mem.load_store import verify_value_and_buffer_element_types
from tlf.dialects.mixed_offsets import Index, OffsetOperation, split_offsets


@irdl_op_definition
class ScatterOp(DestinationOperation, OffsetOperation, IndexedMoveOperation):
    """
    Combine each element of a value with the element of a buffer at an indexed position
    along one axis.

    Element `e` of the value is combined with the destination at `offsets + maps[0](e)`,
    but along `axis` at position `indices[maps[1](e)]`: added to it (`add`), or the
    greater (`max`) or lesser (`min`) of both is kept, NaN if either is NaN. Elements
    with a position outside of the destination are dropped. Elements are combined one by
    one, in any order, also with those of other iterations of a parallel loop. Extrema
    of floats are unspecified if the destination is NaN before all of them.

    ```mlir
    mem.scatter %v to %dst[0, %j] axis 0 at %n
        maps [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0)>] <add>
        : tensor<16x8xf32>, tensor<16xi64> to memref<1000x64xf32, "L3">
    ```
    """

    name = "mem.scatter"

    value = operand_def(TensorType)
    indices = operand_def(TensorType)
    kind = prop_def(CombiningKindAttr)

    custom_directives = (DynamicIndexList,)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    assembly_format = (
        "$value `to` $destination `` custom<DynamicIndexList>($offsets, "
        "$static_offsets) `axis` $axis `at` $indices `maps` $maps $kind attr-dict "
        "`:` type($value) `,` type($indices) `to` type($destination)"
    )

    def __init__(
        self,
        value: SSAValue | Operation,
        destination: SSAValue | Operation,
        offsets: Sequence[Index],
        axis: int,
        indices: SSAValue | Operation,
        maps: tuple[AffineMap, AffineMap],
        kind: CombiningKind,
    ) -> None:
        static, dynamic = split_offsets(offsets)
        super().__init__(
            operands=[value, indices, destination, dynamic],
            properties={
                **build_indexed_properties(static, axis, maps),
                "kind": CombiningKindAttr(kind),
            },
        )

    @property
    def value_type(self) -> TensorType[Attribute]:
        return cast(TensorType[Attribute], self.value.type)

    @property
    def index_type(self) -> TensorType[Attribute]:
        """Type of the tile of indices."""
        return cast(TensorType[Attribute], self.indices.type)

    def verify_(self) -> None:
        verify_is_no_window(self.destination)
        destination, value = self.destination_type, self.value_type
        verify_value_and_buffer_element_types(destination, value)
        verify_combinable_element_type(value.element_type)
        self.verify_offsets(destination.get_num_dims())
        self.verify_indexed_operands(
            destination, self.index_type, value, self.mixed_offsets, SCATTER_ROLES
        )
