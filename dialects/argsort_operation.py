"""
Operation base of the `tile` and `mem` dialects: indices that sort the rows of a tile.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, TensorType, UnitAttr, f32, i8, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.interfaces import Array
from tlf.dialects.types import AnyTensor, is_16_bit_float, tensor_type


def is_sortable_in_words(element_type: Attribute) -> bool:
    """Return `True` if an element and its index fit into a word of 64 bits."""
    return element_type in (f32, i32, i8) or is_16_bit_float(element_type)


def stable_order_of(array: Array, axis: int, is_descending: bool) -> Array:
    """
    Return the indices that sort an array along an axis stably, with NaN as the greatest
    number.
    """
    if not is_descending:
        return np.argsort(array, axis=axis, kind="stable")
    reversed_order = np.argsort(np.flip(array, axis), axis=axis, kind="stable")
    return np.flip(np.subtract(array.shape[axis] - 1, reversed_order), axis)


class ArgsortOperation(IRDLOperation):
    """
    Base of operations that compute the indices by which the elements of each row of a
    tile are sorted.
    """

    source = operand_def(TensorType)
    count = prop_def(IntegerAttr.constr(i64))
    descending = opt_prop_def(UnitAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure())

    assembly_format = (
        "$source `count` $count (`descending` $descending^)? attr-dict"
        " `:` type($source) `->` type($result)"
    )

    def __init__(
        self,
        source: SSAValue,
        count: int,
        is_descending: bool,
        result_type: AnyTensor,
    ) -> None:
        super().__init__(
            operands=[source],
            properties={
                "count": IntegerAttr(count, i64),
                "descending": UnitAttr() if is_descending else None,
            },
            result_types=[result_type],
        )

    @property
    def sorted_count(self) -> int:
        """Number of elements of a row that are sorted; those after it are not."""
        return self.count.value.data

    @property
    def is_descending(self) -> bool:
        """True if the greatest elements are first."""
        return self.descending is not None

    def compute_indices(self, array: Array) -> Array:
        """
        Return the indices of the first elements of each row; indices beyond `count` are
        after all others, in their order.
        """
        order = np.empty(array.shape, np.int32)
        order[...] = np.arange(array.shape[-1])
        rows = array[..., : self.sorted_count].astype(np.float64)
        order[..., : self.sorted_count] = stable_order_of(rows, -1, self.is_descending)
        return order[..., : tensor_type(self.result).get_shape()[-1]]

    def verify_(self) -> None:
        source, result = tensor_type(self.source), tensor_type(self.result)
        if not is_sortable_in_words(source.element_type):
            raise VerifyException(
                f"expected elements of at most 32 bits, got {source.element_type}"
            )
        if result.element_type != i32:
            raise VerifyException(f"expected indices of i32, got {result.element_type}")
        *rows, extent = source.get_shape() or (0,)
        *result_rows, result_extent = result.get_shape() or (0,)
        if rows != result_rows or not 0 < result_extent <= extent:
            raise VerifyException(
                f"expected indices of at most {extent} elements of rows {rows}, got "
                f"{list(result.get_shape())}"
            )
        if not 0 < self.sorted_count <= extent:
            raise VerifyException(
                f"expected a count from 1 to {extent}, got {self.sorted_count}"
            )
