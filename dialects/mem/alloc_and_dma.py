"""
Operations `mem.alloc`, `mem.dma` (asynchronous move between buffers) and `mem.wait`.
"""

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    MemRefType,
    UnitAttr,
    i64,
)
from xdsl.dialects.utils import DynamicIndexList
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryAllocEffect, MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.mem.box_operations import (
    BoxOperation,
    DestinationOperation,
    OutOfBoundsFillOperation,
    SourceOperation,
    verify_same_element_type,
)
from tlf.dialects.mem.buffer_checks import level_of, verify_sizes
from tlf.dialects.mem.number_literals import Number, to_number_attribute
from tlf.dialects.mem.prefetchable_operation import PrefetchableOperation
from tlf.dialects.mixed_offsets import (
    Index,
    merge_offsets,
    split_offsets,
    verify_offset_counts,
)
from tlf.dialects.shared_attributes import share_integer_array


@irdl_attr_definition
class TokenType(ParametrizedAttribute, TypeAttribute):
    """
    Type of the completion token of an asynchronous move.

    ```mlir
    !mem.token
    ```
    """

    name = "mem.token"


@irdl_op_definition
class AllocOp(IRDLOperation):
    """
    Allocate a buffer with undefined contents in a memory level.

    `offset` is the offset of the buffer in the level, in bytes; `mem-plan` chooses it.

    ```mlir
    %b = mem.alloc at 1024 : memref<16x64xf32, "L2">
    ```
    """

    name = "mem.alloc"

    offset = opt_prop_def(IntegerAttr.constr(i64))

    buffer = result_def(MemRefType)

    traits = traits_def(MemoryAllocEffect())

    assembly_format = "(`at` $offset^)? attr-dict `:` type($buffer)"

    def __init__(self, buffer_type: Attribute, offset: int | None = None) -> None:
        super().__init__(
            result_types=[buffer_type],
            properties={"offset": None if offset is None else IntegerAttr(offset, i64)},
        )

    @property
    def buffer_type(self) -> MemRefType[Attribute]:
        return self.buffer.type

    @property
    def level(self) -> str:
        return level_of(self.buffer.type)

    def verify_(self) -> None:
        level_of(self.buffer.type)
        if not self.buffer_type.has_static_shape():
            raise VerifyException(f"expected a static shape, got {self.buffer_type}")
        if self.offset is not None and self.offset.value.data < 0:
            raise VerifyException(
                f"expected an offset of at least 0, got {self.offset.value.data}"
            )


@irdl_op_definition
class DmaOp(
    SourceOperation,
    DestinationOperation,
    BoxOperation,
    OutOfBoundsFillOperation,
    PrefetchableOperation,
):
    """
    Start an asynchronous move of a box of elements from one buffer to another.

    The box has `sizes` elements per dimension and starts at the given offsets of source
    and destination. Offsets may be negative. Elements outside of the source read as
    `fill`, or as an unspecified value without it; elements outside of the destination
    are not written. With `clipped`, elements outside of the source are not moved.

    The destination holds the elements after the `mem.wait` of the token. Until then, no
    conflicting access to source or destination is allowed.

    With `ahead`, a move in a loop body may start that many iterations early: no
    operation in the loop writes its source, and its destination is free by then. The
    same elements are moved, so a target may ignore the attribute.

    ```mlir
    %t = mem.dma %src[%i, -1] to %dst[0, 0] size [16, 66] fill 0.0 ahead 1
        : memref<1000x64xf32, "L3"> to memref<16x66xf32, "L2">
    ```
    """

    name = "mem.dma"

    source_offsets = var_operand_def(IndexType)
    destination_offsets = var_operand_def(IndexType)

    static_source_offsets = prop_def(DenseArrayBase.constr(i64))
    static_destination_offsets = prop_def(DenseArrayBase.constr(i64))
    clipped = opt_prop_def(UnitAttr)

    token = result_def(TokenType())

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    custom_directives = (DynamicIndexList, Number)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    assembly_format = (
        "$source `` custom<DynamicIndexList>($source_offsets, $static_source_offsets) "
        "`to` $destination `` custom<DynamicIndexList>($destination_offsets, "
        "$static_destination_offsets) `size` $sizes (`fill` custom<Number>($fill)^)? "
        "(`clipped` $clipped^)? (`ahead` $ahead^)? attr-dict `:` type($source) `to` "
        "type($destination)"
    )

    def __init__(
        self,
        source: SSAValue | Operation,
        source_offsets: Sequence[Index],
        destination: SSAValue | Operation,
        destination_offsets: Sequence[Index],
        sizes: Sequence[int],
        fill: float | None = None,
        clipped: bool = False,
    ) -> None:
        static_source, dynamic_source = split_offsets(source_offsets)
        static_destination, dynamic_destination = split_offsets(destination_offsets)
        super().__init__(
            operands=[dynamic_source, dynamic_destination, source, destination],
            result_types=[TokenType()],
            properties={
                "static_source_offsets": static_source,
                "static_destination_offsets": static_destination,
                "sizes": share_integer_array(sizes),
                "fill": None if fill is None else to_number_attribute(fill),
                "clipped": UnitAttr() if clipped else None,
            },
        )

    @property
    def mixed_source_offsets(self) -> tuple[Index, ...]:
        return merge_offsets(self.static_source_offsets, self.source_offsets)

    @property
    def mixed_destination_offsets(self) -> tuple[Index, ...]:
        return merge_offsets(self.static_destination_offsets, self.destination_offsets)

    def verify_(self) -> None:
        self.verify_prefetch_distance()
        level_of(self.source.type)
        level_of(self.destination.type)
        source, destination = self.source_type, self.destination_type
        verify_same_element_type(source, destination)
        rank = source.get_num_dims()
        verify_offset_counts(
            self.static_source_offsets, self.source_offsets, rank, "source offsets"
        )
        verify_sizes(self.box_sizes, rank)
        verify_offset_counts(
            self.static_destination_offsets,
            self.destination_offsets,
            destination.get_num_dims(),
            "destination offsets",
        )
        if destination.get_num_dims() != rank:
            raise VerifyException(
                f"cannot move a box of rank {rank} into a buffer of rank "
                f"{destination.get_num_dims()}"
            )
        if self.fill is not None and self.clipped is not None:
            raise VerifyException(
                "expected no `fill` of a `clipped` move: what would be filled is not "
                "moved"
            )
        self.verify_fill_number(source.element_type)


@irdl_op_definition
class WaitOp(IRDLOperation):
    """
    Wait until the moves of all given tokens are complete.

    ```mlir
    mem.wait %t0, %t1
    ```
    """

    name = "mem.wait"

    tokens = var_operand_def(TokenType())

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    assembly_format = "$tokens attr-dict"

    def __init__(self, tokens: Sequence[SSAValue | Operation]) -> None:
        super().__init__(operands=[tokens])

    def verify_(self) -> None:
        if not self.tokens:
            raise VerifyException("expected at least one token")
