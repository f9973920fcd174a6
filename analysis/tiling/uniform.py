"""
Groups of elementwise operations on one shape, whose smallest tiles are one element of
every value: whether they fit is a sum, and needs no analysis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from tlf.analysis.operations.kinds import Kinds
from tlf.analysis.tiling.model import WIDEST
from tlf.dialects.interfaces import ElementwiseInterface, TilingInterface
from tlf.dialects.target import Level
from tlf.dialects.types import dtype_of, tensor_type
from tlf.support.affine.access import Access, identity
from tlf.support.allocation import align


@dataclass(frozen=True)
class Point:
    """One element of an operation: the shape it is of, and bytes."""

    shape: tuple[int, ...]
    result: int
    """The bytes of an element of the result."""
    temporaries: int
    """The bytes of values between the scalar operations that compute it."""


@dataclass
class UniformGroups:
    """Adds up the smallest tiles of groups for a memory level."""

    level: Level
    kinds: Kinds = field(default_factory=Kinds)
    points: dict[int, Point | None] = field(default_factory=dict[int, Point | None])
    """By kind of operation; None for those that are not elementwise."""

    def fit(self, operations: Sequence[TilingInterface]) -> bool | None:
        """
        Return `True` if one element of every value of a group fits in the level. None
        if operations are not elementwise, or not of one shape.
        """
        needed = self.needed(operations)
        return None if needed is None else needed <= self.level.capacity

    def needed(self, operations: Sequence[TilingInterface]) -> int | None:
        """The bytes that `fit` compares."""
        shape: tuple[int, ...] | None = None
        computed, read = 0, set[SSAValue]()
        for op in operations:
            if (point := self._point(op)) is None or shape not in (None, point.shape):
                return None
            shape = point.shape
            computed += align(point.result, self.level.alignment) + point.temporaries
            read.update(op.operands)
        inside = set[Operation](operations)
        total = sum(self._bytes(value) for value in read if value.owner not in inside)
        return total + computed if self.level.kind == "buffer" else total

    def read_whole(self, op: TilingInterface) -> tuple[SSAValue, ...]:
        """The operands of the shape of the result."""
        if (point := self._point(op)) is None:
            return ()
        return tuple(
            operand
            for operand in op.operands
            if tensor_type(operand).get_shape() == point.shape
        )

    def _bytes(self, value: SSAValue) -> int:
        return align(_itemsize(value), self.level.alignment)

    def _point(self, op: TilingInterface) -> Point | None:
        kind = self.kinds.of(op)
        if kind not in self.points:
            self.points[kind] = _point_of(op)
        return self.points[kind]


def _point_of(op: TilingInterface) -> Point | None:
    """
    Return the footprint of one element of an operation; None if elements are not
    independent.
    """
    if not isinstance(op, ElementwiseInterface) or op.untileable():
        return None
    (result,) = op.results
    shape = tensor_type(result).get_shape()
    own = identity(len(shape))
    if op.result_accesses() != (own,):
        return None
    for operand, accesses in zip(op.operands, op.operand_accesses(), strict=True):
        if accesses is None or not _is_broadcast(accesses, len(shape)):
            return None
        if tensor_type(operand).get_shape() == shape and accesses != own:
            return None
    temporaries = (op.scalar_operations() - 1) * WIDEST
    return Point(shape, _itemsize(result), max(temporaries, 0))


def _is_broadcast(accesses: Sequence[Access], rank: int) -> bool:
    """
    Return `True` if every axis is the one at its position, or has a single element.
    """
    first = rank - len(accesses)
    return all(
        access in (Access(), Access.of(first + axis))
        for axis, access in enumerate(accesses)
    )


def _itemsize(value: SSAValue) -> int:
    return dtype_of(tensor_type(value).element_type).itemsize
