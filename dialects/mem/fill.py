"""
Operations `mem.fill`, and `mem.mask`, which fills elements outside of a tensor's
bounds.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    MemRefType,
    TensorType,
    i64,
)
from xdsl.dialects.utils import DynamicIndexList
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_result_def,
    prop_def,
    traits_def,
)
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.mem.buffer_checks import verify_is_no_window
from tlf.dialects.mem.number_literals import (
    Number,
    number_of_attribute,
    to_number_attribute,
    verify_number,
)
from tlf.dialects.mixed_offsets import Index, OffsetOperation, split_offsets
from tlf.dialects.shared_attributes import share_integer_array
from tlf.dialects.types import Shaped


class FillEffects(MemoryEffect):
    """
    Effects of fills and masks: a buffer is read, as it may be filled partly, and
    written.
    """

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        """Return a read and a write of the buffer; nothing for an `op` on tensors."""
        if op.results:
            return set()
        return {
            EffectInstance(kind, op.operands[0])
            for kind in (MemoryEffectKind.READ, MemoryEffectKind.WRITE)
        }


@irdl_op_definition
class FillOp(IRDLOperation):
    """
    Set every element of a buffer, or return a tensor of equal elements.

    ```mlir
    mem.fill 0.0 into %buffer : memref<16x64xf32, "L1">
    ```
    """

    name = "mem.fill"

    destination = opt_operand_def(MemRefType)

    value = prop_def()

    result = opt_result_def(TensorType)

    custom_directives = (Number,)

    traits = traits_def(FillEffects())

    assembly_format = (
        "custom<Number>($value) (`into` $destination^ `:` type($destination))? "
        "attr-dict (`->` type($result)^)?"
    )

    def __init__(
        self,
        value: float,
        destination: SSAValue | Operation | None = None,
        result_type: Attribute | None = None,
    ) -> None:
        super().__init__(
            operands=[destination],
            result_types=[result_type],
            properties={"value": to_number_attribute(value)},
        )

    @property
    def fill_value(self) -> float:
        return number_of_attribute(self.value)

    @property
    def shaped_type(self) -> Shaped:
        """Type of the buffer or of the result."""
        filled = self.destination if self.result is None else self.result
        assert filled is not None
        return cast(Shaped, filled.type)

    def verify_(self) -> None:
        if (self.destination is None) == (self.result is None):
            raise VerifyException("expected either a buffer to fill or a result")
        if self.destination is not None:
            verify_is_no_window(self.destination)
        verify_number(self.value, self.shaped_type.element_type)


@irdl_op_definition
class MaskOp(OffsetOperation):
    """
    Fill the elements whose position in a larger tensor is out of bounds.

    The operand is a tile at `offsets` of a tensor of shape `bounds`. An element becomes
    `fill` if its position `offset + index` in the tensor is outside of `[0, bound)` in
    some dimension, or if its index exceeds the `valid` extents, if given. A buffer is
    modified in place; for a tensor, the result is a new tensor.

    ```mlir
    mem.mask %v at [%i, 0] bounds [1000, 512] fill 0.0 : memref<16x64xf32, "L1">
    ```
    """

    name = "mem.mask"

    source = operand_def(MemRefType | TensorType)

    bounds = prop_def(DenseArrayBase.constr(i64))
    valid = opt_prop_def(DenseArrayBase.constr(i64))
    fill = prop_def()

    result = opt_result_def(TensorType)

    custom_directives = (DynamicIndexList, Number)

    traits = traits_def(FillEffects())

    assembly_format = (
        "$source `at` custom<DynamicIndexList>($offsets, $static_offsets) "
        "`bounds` $bounds (`valid` $valid^)? `fill` custom<Number>($fill) attr-dict "
        "`:` type($source) "
        "(`->` type($result)^)?"
    )

    def __init__(
        self,
        source: SSAValue | Operation,
        offsets: Sequence[Index],
        bounds: Sequence[int],
        fill: float,
        valid: Sequence[int] | None = None,
    ) -> None:
        static, dynamic = split_offsets(offsets)
        source_type = SSAValue.get(source).type
        if valid is not None and tuple(valid) == cast(Shaped, source_type).get_shape():
            valid = None
        super().__init__(
            operands=[source, dynamic],
            result_types=[None if isinstance(source_type, MemRefType) else source_type],
            properties={
                "static_offsets": static,
                "bounds": share_integer_array(bounds),
                "valid": None if valid is None else share_integer_array(valid),
                "fill": to_number_attribute(fill),
            },
        )

    @property
    def source_type(self) -> Shaped:
        return cast(Shaped, self.source.type)

    @property
    def upper_bounds(self) -> tuple[int, ...]:
        """Bound of each dimension."""
        return tuple(self.bounds.get_values())

    @property
    def valid_box_extents(self) -> tuple[int, ...]:
        """Valid extents; by default the whole tile."""
        if self.valid is None:
            return self.source_type.get_shape()
        return tuple(self.valid.get_values())

    @property
    def fill_value(self) -> float:
        return number_of_attribute(self.fill)

    def verify_(self) -> None:
        verify_is_no_window(self.source)
        rank = self.source_type.get_num_dims()
        self.verify_offsets(rank)
        if len(self.upper_bounds) != rank:
            raise VerifyException(
                f"expected {rank} bounds, one per dimension, got "
                f"{len(self.upper_bounds)}"
            )
        if len(self.valid_box_extents) != rank or any(
            not 0 < valid <= extent
            for valid, extent in zip(
                self.valid_box_extents, self.source_type.get_shape(), strict=False
            )
        ):
            raise VerifyException(
                f"expected valid extents within {list(self.source_type.get_shape())}, "
                f"got {list(self.valid_box_extents)}"
            )
        verify_number(self.fill, self.source_type.element_type)
        is_tensor = isinstance(self.source.type, TensorType)
        if is_tensor != (self.result is not None):
            raise VerifyException("expected a result if and only if masking a tensor")
        if self.result is not None and self.result.type != self.source.type:
            raise VerifyException(
                f"expected a result of type {self.source.type}, got {self.result.type}"
            )
