"""
Helper of passes that rewrite contractions: contractions without windows as Einsum
terms, with two operands and an iterator per axis, from which `contract` operations are
built.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from math import prod

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from tlf.dialects import graph
from tlf.dialects.interfaces import ContractionInterface
from tlf.dialects.types import tensor_type
from tlf.passes.op_replacement import is_in_planned_group
from tlf.support.affine.index_access import Accesses, IndexAccess

Axes = tuple[int, ...]
"""The iterator that runs along each axis of a tensor."""


def iterators_of_plain_accesses(accesses: Accesses | None) -> Axes | None:
    """
    Return the iterators of accesses that are distinct plain dimensions; else None.
    """
    if accesses is None:
        return None
    axes: list[int] = []
    for access in accesses:
        is_plain = access.offset == 0 and access.width == 1 and len(access.terms) == 1
        if not is_plain or access.terms[0][1] != 1:
            return None
        axes.append(access.terms[0][0])
    return tuple(axes) if len(set(axes)) == len(axes) else None


@dataclass(frozen=True)
class Product:
    """
    A contraction without windows in Einsum form: two operands, and the iterator along
    each axis.
    """

    op: ContractionInterface
    values: tuple[SSAValue, SSAValue]
    axes: tuple[Axes, Axes]
    result: Axes

    @staticmethod
    def from_operation(op: Operation) -> Product | None:
        """
        Return an operation as a product; None if it is not a product, or accumulates
        into a tensor.
        """
        if not isinstance(op, ContractionInterface):
            return None
        return _product_of_accesses(op, op.indexing_maps()[:2])

    @staticmethod
    def from_unit_window_operation(op: Operation) -> Product | None:
        """
        Return an operation as a product with a new iterator for each unit axis without
        one, such as the axes of windows of one element; else None. Every iterator of
        the product runs along an operand.
        """
        if not isinstance(op, ContractionInterface):
            return None
        extents = [iterator.extent for iterator in op.iteration_domain()]
        new = count(len(extents))
        pairs = zip(op.operands[:2], op.indexing_maps()[:2], strict=True)
        product = _product_of_accesses(
            op, [_add_iterators_of_unit_axes(value, each, new) for value, each in pairs]
        )
        if product is None:
            return None
        used = sorted({*product.axes[0], *product.axes[1]})
        unused = set(range(len(extents))).difference(used)
        if not {*product.result} <= {*used} or any(
            extents[each] > 1 for each in unused
        ):
            return None
        lhs, rhs, result = (
            tuple(used.index(each) for each in axes)
            for axes in (*product.axes, product.result)
        )
        return Product(op, product.values, (lhs, rhs), result)

    def has_all_iterators_in_operands(self) -> bool:
        """Return `True` if every iterator runs along an operand."""
        return {*self.axes[0], *self.axes[1]} == {
            *range(len(self.op.iteration_domain()))
        }

    def has_min_extents(self, min_extent: int) -> bool:
        """
        Return `True` if rows, columns and reduction have a minimum extent.
        """
        left, right = map(set, self.axes)
        extents = [each.extent for each in self.op.iteration_domain()]
        parts = (left - right, right - left, (left & right) - set(self.result))
        return all(prod(extents[each] for each in part) >= min_extent for part in parts)

    def build_contract(self, element_type: Attribute | None = None) -> graph.ContractOp:
        """
        Build the `contract` operation, of the same element type unless one is given.
        """
        iterators = len({*self.axes[0], *self.axes[1]})
        maps = [
            AffineMap(iterators, 0, tuple(AffineExpr.dimension(axis) for axis in axes))
            for axes in (*self.axes, self.result)
        ]
        contract = graph.ContractOp(
            *self.values,
            maps,
            acc=self.op.properties.get("acc"),
            precision=self.op.precision,
            element=element_type or tensor_type(self.op.results[0]).element_type,
        )
        contract.location = self.op.location
        return contract


def _product_of_accesses(
    op: ContractionInterface, operand_accesses: Sequence[Accesses | None]
) -> Product | None:
    """Return the product with the given accesses to its two operands, or None."""
    if op.init_value is not None or is_in_planned_group(op):
        return None
    lhs, rhs = map(iterators_of_plain_accesses, operand_accesses)
    result = iterators_of_plain_accesses(op.result_indexing_maps()[0])
    if lhs is None or rhs is None or result is None:
        return None
    return Product(op, (op.operands[0], op.operands[1]), (lhs, rhs), result)


def _add_iterators_of_unit_axes(
    value: SSAValue, accesses: Accesses | None, new_iterators: Iterator[int]
) -> Accesses | None:
    """Return accesses with a new iterator for each unit axis without one."""
    if accesses is None:
        return None
    return tuple(
        IndexAccess.of_iterator(next(new_iterators))
        if extent == 1 and access == IndexAccess()
        else access
        for extent, access in zip(tensor_type(value).get_shape(), accesses, strict=True)
    )
