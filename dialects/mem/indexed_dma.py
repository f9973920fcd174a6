"""
Operation base of the `mem` dialect: asynchronous gathers and scatters between buffers.
"""

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import operand_def, result_def, traits_def
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect

from tlf.dialects.indexed_move_operation import (
    IndexedMoveOperation,
    build_indexed_properties,
)
from tlf.dialects.mem.alloc_and_dma import TokenType
from tlf.dialects.mem.box_operations import (
    BoxOperation,
    DestinationOperation,
    SourceOperation,
)
from tlf.dialects.mem.prefetchable_operation import PrefetchableOperation
from tlf.dialects.mixed_offsets import Index, OffsetOperation, split_offsets
from tlf.dialects.shared_attributes import share_integer_array
from tlf.dialects.types import memref_type


class IndexedDmaOperation(
    SourceOperation,
    DestinationOperation,
    OffsetOperation,
    IndexedMoveOperation,
    BoxOperation,
    PrefetchableOperation,
):
    """
    Operation that starts an asynchronous gather or scatter of a box of elements. The
    offsets are those of the indexed buffer.
    """

    indices = operand_def(MemRefType)

    token = result_def(TokenType())

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def __init__(
        self,
        source_and_destination: tuple[SSAValue | Operation, SSAValue | Operation],
        offsets: Sequence[Index],
        axis: int,
        indices: SSAValue | Operation,
        maps: tuple[AffineMap, AffineMap],
        sizes: Sequence[int],
        properties: Mapping[str, Attribute | None],
    ) -> None:
        static, dynamic = split_offsets(offsets)
        super().__init__(
            operands=[indices, *source_and_destination, dynamic],
            result_types=[TokenType()],
            properties={
                **build_indexed_properties(static, axis, maps),
                "sizes": share_integer_array(sizes),
                **properties,
            },
        )

    @property
    def index_type(self) -> MemRefType[Attribute]:
        """Type of the buffer of indices."""
        return memref_type(self.indices)
