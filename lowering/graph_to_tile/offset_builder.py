"""
Builder of tile offsets as index values, and affine maps of movements, in the lowering
of groups to tile loops.
"""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.builder import Builder
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap

from tlf.dialects.affine_values import materialize_index
from tlf.dialects.interfaces import to_affine_map
from tlf.dialects.tile import Index
from tlf.support.affine.index_access import Accesses, AffineSum, Box, IndexAccess


class OffsetBuilder:
    """Builder of index values for offsets affine in induction variables."""

    def __init__(self) -> None:
        self.variables: dict[Hashable, SSAValue] = {}
        """Induction variable of each loop."""
        self.behind: dict[Hashable, AffineSum] = {}
        """Induction variable values after their loops, in a peeled last iteration."""

    def build_box_offsets(self, builder: Builder, box: Box) -> list[Index]:
        """Return the offsets of a box as constants or `index` values."""
        return [self.build_offset(builder, interval.offset) for interval in box]

    def build_offset(self, builder: Builder, offset: AffineSum) -> Index:
        """Return an offset as a constant or an `index` value."""
        offset = offset.substitute(self.behind)
        terms = [(self.variables[symbol], factor) for symbol, factor in offset.terms]
        return materialize_index(builder, AffineSum(offset.constant, tuple(terms)))


def build_offset_sum(builder: Builder, left: Index, right: Index) -> Index:
    """Build the sum of two indices."""
    terms = [(each, 1) for each in (left, right) if not isinstance(each, int)]
    constant = sum(each for each in (left, right) if isinstance(each, int))
    return materialize_index(builder, AffineSum(constant, tuple(terms)))


def result_to_operand_map(
    operand_accesses: Accesses, result_accesses: Accesses
) -> AffineMap:
    """
    Return the affine map from element positions in a movement's result tile to those in
    its operand tile.
    """
    axis_of = {
        access.terms[0][0]: axis
        for axis, access in enumerate(result_accesses)
        if len(access.terms) == 1
    }
    accesses = tuple(
        IndexAccess(
            tuple((axis_of[iterator], factor) for iterator, factor in access.terms)
        )
        for access in operand_accesses
    )
    return to_affine_map(accesses, len(result_accesses)).data
