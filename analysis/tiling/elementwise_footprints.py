"""
Analysis of elementwise groups of one shape: minimum footprint, a sum over operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from tlf.analysis.operations.op_kinds import OpKinds
from tlf.analysis.tiling.group_tiling import TEMPORARY_BYTES
from tlf.dialects.interfaces import ElementwiseInterface, TilingInterface
from tlf.dialects.target import Level
from tlf.dialects.types import itemsize_of, tensor_type
from tlf.support.affine.index_access import IndexAccess, identity_accesses
from tlf.support.allocation import align_offset


@dataclass(frozen=True)
class ElementFootprint:
    """Footprint of one element of an operation: shape of the result, and bytes."""

    shape: tuple[int, ...]
    result: int
    """Bytes of an element of the result."""
    temporaries: int
    """
    Bytes of the temporaries between the scalar operations that compute the element.
    """


@dataclass
class ElementwiseFootprints:
    """
    Memoized minimum footprints of elementwise groups, with one element per value, to
    compare with the capacity of a memory level.
    """

    level: Level
    kinds: OpKinds = field(default_factory=OpKinds)
    footprints: dict[int, ElementFootprint | None] = field(
        default_factory=dict[int, ElementFootprint | None]
    )
    """Footprint by kind of operation; None for operations that are not elementwise."""

    def can_group_fit(self, operations: Sequence[TilingInterface]) -> bool | None:
        """
        Return `True` if one element of every value of a group fits in the level. None
        if operations are not elementwise, or have different shapes.
        """
        needed = self.min_bytes_of_group(operations)
        return None if needed is None else needed <= self.level.capacity

    def min_bytes_of_group(self, operations: Sequence[TilingInterface]) -> int | None:
        """
        Return the bytes that `can_group_fit` compares with the capacity; None as
        there.
        """
        shape: tuple[int, ...] | None = None
        computed, read = 0, set[SSAValue]()
        for op in operations:
            if (point := self._footprint_of(op)) is None or shape not in (
                None,
                point.shape,
            ):
                return None
            shape = point.shape
            computed += (
                align_offset(point.result, self.level.alignment) + point.temporaries
            )
            read.update(op.operands)
        inside = set[Operation](operations)
        total = sum(
            self._bytes_of_element(value) for value in read if value.owner not in inside
        )
        return total + computed if self.level.kind == "buffer" else total

    def operands_of_result_shape(self, op: TilingInterface) -> tuple[SSAValue, ...]:
        """
        Return the operands with the shape of the result; empty if `op` is not
        elementwise.
        """
        if (point := self._footprint_of(op)) is None:
            return ()
        return tuple(
            operand
            for operand in op.operands
            if tensor_type(operand).get_shape() == point.shape
        )

    def _bytes_of_element(self, value: SSAValue) -> int:
        return align_offset(itemsize_of(value), self.level.alignment)

    def _footprint_of(self, op: TilingInterface) -> ElementFootprint | None:
        """
        Return the footprint of one element of `op`, cached by kind of operation; None
        if elements are not independent.
        """
        kind = self.kinds.kind_of(op)
        if kind not in self.footprints:
            self.footprints[kind] = _element_footprint_of(op)
        return self.footprints[kind]


def _element_footprint_of(op: TilingInterface) -> ElementFootprint | None:
    """
    Return the footprint of one element of an operation; None if elements are not
    independent.
    """
    if not isinstance(op, ElementwiseInterface) or op.untileable_dims():
        return None
    (result,) = op.results
    shape = tensor_type(result).get_shape()
    own = identity_accesses(len(shape))
    if op.result_indexing_maps() != (own,):
        return None
    for operand, accesses in zip(op.operands, op.indexing_maps(), strict=True):
        if accesses is None or not _is_broadcast_access(accesses, len(shape)):
            return None
        if tensor_type(operand).get_shape() == shape and accesses != own:
            return None
    temporaries = (op.count_scalar_operations() - 1) * TEMPORARY_BYTES
    return ElementFootprint(shape, itemsize_of(result), max(temporaries, 0))


def _is_broadcast_access(accesses: Sequence[IndexAccess], rank: int) -> bool:
    """
    Return `True` if every axis has the iterator at its position, aligned at the last
    axis, or a single element.
    """
    first = rank - len(accesses)
    return all(
        access in (IndexAccess(), IndexAccess.of_iterator(first + axis))
        for axis, access in enumerate(accesses)
    )
