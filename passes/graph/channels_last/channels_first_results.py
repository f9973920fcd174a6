"""
Images that a function returns, computed with channels first: products write the
transposed matrix of every image, so that no kernel transposes it afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from tlf.dialects import graph
from tlf.dialects.types import tensor_type
from tlf.dialects.value_postorder import compute_in_postorder
from tlf.passes.graph.channels_last.image_rows import (
    access_of_rows,
    build_reshape,
    rows_shape_of,
    shape_of,
)
from tlf.passes.graph.contraction_product import iterators_of_plain_accesses
from tlf.passes.graph.pointwise import is_pointwise, rebuild_elementwise


@dataclass(frozen=True)
class ChannelsFirstResult:
    """Builder of an image of a shape, N x C x axes, from the operations of its rows."""

    image_shape: tuple[int, ...]

    @property
    def _shape(self) -> tuple[int, int, int]:
        """Images, channels and pixels of the image."""
        count, channels, *axes = self.image_shape
        return count, channels, prod(axes)

    def can_build(self, rows: SSAValue) -> bool:
        """
        Return `True` if a product of matrices, and elementwise operations after it,
        compute rows for no other user, besides rows that are gathered from images.
        """
        if self._is_gathered(rows) or not rows.has_one_use():
            return False
        operations = self._collect_operations(rows)
        if operations is None:
            return False
        users = {use.operation for op in operations for use in op.results[0].uses}
        (last,) = (use.operation for use in rows.uses)
        return users <= {*operations, last}

    def _collect_operations(self, rows: SSAValue) -> set[Operation] | None:
        """
        Return the operations that compute rows; `None` if others than products and
        elementwise operations do.
        """
        found, pending = set[Operation](), [rows]
        while pending:
            value = pending.pop()
            if self._is_gathered(value) or value.owner in found:
                continue
            if (operands := self._rows_of(value)) is None:
                return None
            assert isinstance(value.owner, Operation)
            found.add(value.owner)
            pending += operands
        return found

    def _rows_of(self, value: SSAValue) -> list[SSAValue] | None:
        """
        Return the rows that the operation of a value is computed from, pixel by pixel;
        `None` unless it is a product or elementwise, with one element or one per
        channel of other operands.
        """
        op = value.owner
        if isinstance(op, graph.ContractOp):
            if not _is_row_product(op):
                return None
            return [] if op.init is None else [op.init]
        if not is_pointwise(op):
            return None
        rows = [each for each in op.operands if self._has_rows_shape(each)]
        others = (shape_of(each) for each in op.operands if each not in rows)
        return rows if all(prod(shape[:-1]) == 1 for shape in others) else None

    def _has_rows_shape(self, value: SSAValue) -> bool:
        return shape_of(value) == rows_shape_of(self.image_shape)

    def _is_gathered(self, rows: SSAValue) -> bool:
        """Return `True` if rows are gathered from an image with channels first."""
        gather = rows.owner
        if not isinstance(gather, graph.Im2colOp):
            return False
        has_shape = shape_of(gather.operand) == self.image_shape
        access = access_of_rows(self.image_shape, self.image_shape)
        return has_shape and gather.delinearized_access == access

    def build(self, builder: Builder, rows: SSAValue) -> SSAValue:
        """Build the image of rows that `can_build` accepts."""
        images: dict[SSAValue, SSAValue] = {}
        image = compute_in_postorder(
            rows,
            images,
            self._operands_of,
            lambda value: self._compute(builder, value, images),
        )
        return build_reshape(builder, image, self.image_shape)

    def _operands_of(self, value: SSAValue) -> Sequence[SSAValue]:
        """Return the rows that are built before those of a value."""
        return () if self._is_gathered(value) else self._rows_of(value) or ()

    def _compute(
        self, builder: Builder, value: SSAValue, images: Mapping[SSAValue, SSAValue]
    ) -> SSAValue:
        """Build images x channels x pixels of rows, from those of their operands."""
        op = value.owner
        if isinstance(op, graph.Im2colOp):
            return build_reshape(builder, op.operand, self._shape)
        if isinstance(op, graph.ContractOp):
            init = None if op.init is None else images[op.init]
            return self._build_product(builder, op, init)
        assert is_pointwise(op)
        operands = [
            images[each] if each in images else _build_column(builder, each)
            for each in op.operands
        ]
        return rebuild_elementwise(op, operands, self._shape, builder)

    def _build_product(
        self, builder: Builder, op: graph.ContractOp, init: SSAValue | None
    ) -> SSAValue:
        """Build the product of the rows of each image, with a transposed result."""
        count, _, pixels = self._shape
        windows = self._split_rows(builder, op.lhs, (count, pixels))
        maps = [_projection(each) for each in ((0, 2, 3), (1, 3), (0, 1, 2))]
        element = tensor_type(op.result).element_type
        types = op.acc, op.precision, element
        product = graph.ContractOp(windows, op.rhs, maps, init, *types)
        product.location = op.location
        return builder.insert(product).result

    def _split_rows(
        self, builder: Builder, windows: SSAValue, rows: tuple[int, int]
    ) -> SSAValue:
        """Build the matrix of windows with rows per image."""
        gather = windows.owner
        if isinstance(gather, graph.Im2colOp):
            (images, *pixels), *columns = gather.delinearized_access.basis
            if images == rows[0] and pixels:
                basis = ((images,), tuple(pixels), *columns)
                map_, fill = gather.map.data, gather.fill_value
                split = graph.Im2colOp(gather.operand, map_, basis, fill)
                return builder.insert(split).result
        return build_reshape(builder, windows, (*rows, shape_of(windows)[-1]))


def _build_column(builder: Builder, operand: SSAValue) -> SSAValue:
    """Build an operand of one element, or one per channel, for channels x pixels."""
    shape = shape_of(operand)
    channels = shape[-1] if shape else 1
    return build_reshape(builder, operand, (channels, 1) if channels > 1 else ())


def _is_row_product(op: graph.ContractOp) -> bool:
    """Return `True` if the rows of two matrices are multiplied with each other."""
    maps = (*op.indexing_maps()[:2], op.result_indexing_maps()[0])
    return [*map(iterators_of_plain_accesses, maps)] == [(0, 2), (1, 2), (0, 1)]


def _projection(dims: Sequence[int]) -> AffineMap:
    """Return the map from images, channels, pixels and columns to some of them."""
    return AffineMap(4, 0, tuple(map(AffineExpr.dimension, dims)))
