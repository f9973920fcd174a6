"""Mixed static and dynamic offsets of operations, as MLIR's `DynamicIndexList`."""

from collections.abc import Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IndexType,
    IntegerType,
    i64,
)
from xdsl.dialects.utils.dynamic_index_list import (
    get_dynamic_index_list,
    split_dynamic_index_list,
)
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, prop_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.shared_attributes import share_integer_array

IntArray: TypeAlias = DenseArrayBase[IntegerType]

Index: TypeAlias = SSAValue | int
"""Offset: an `index` value, or a constant that may be negative."""


def merge_offsets(static: IntArray, dynamic: Sequence[SSAValue]) -> tuple[Index, ...]:
    """Merge static offsets with the values at dynamic positions."""
    values = [*static.get_values()]
    return tuple(get_dynamic_index_list(values, dynamic, DYNAMIC_INDEX))


def split_offsets(offsets: Sequence[Index]) -> tuple[IntArray, list[SSAValue]]:
    """Split mixed offsets into static ones and dynamic values."""
    static, dynamic = split_dynamic_index_list(offsets, DYNAMIC_INDEX)
    return share_integer_array(static), dynamic


def verify_offset_counts(
    static: IntArray, dynamic: Sequence[SSAValue], rank: int, operand_name: str
) -> None:
    """
    Check that there is one offset per dimension and one value per dynamic offset.
    """
    if len(static) != rank:
        raise VerifyException(
            f"expected {rank} {operand_name}, one per dimension, got {len(static)}"
        )
    expected = [*static.get_values()].count(DYNAMIC_INDEX)
    if expected != len(dynamic):
        raise VerifyException(
            f"expected {expected} values for dynamic {operand_name}, got {len(dynamic)}"
        )


class OffsetOperation(IRDLOperation):
    """
    Base of operations on a box whose offsets are constants or `index` values, mixed.
    """

    offsets = var_operand_def(IndexType)
    static_offsets = prop_def(DenseArrayBase.constr(i64))

    @property
    def mixed_offsets(self) -> tuple[Index, ...]:
        """One offset per dimension: a constant or an `index` value."""
        return merge_offsets(self.static_offsets, self.offsets)

    def verify_offsets(self, rank: int) -> None:
        """Check that there is one offset per dimension."""
        verify_offset_counts(self.static_offsets, self.offsets, rank, "offsets")
