"""
Helper of the operations `graph.conv2d` and `graph.conv3d`: cross-correlation along any
number of axes, in numpy and as a contraction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from xdsl.builder import Builder
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.graph.cast import CastOp
from tlf.dialects.graph.contraction import ContractOp
from tlf.dialects.graph.elementwise import MulOp
from tlf.dialects.graph.image_windows import Window
from tlf.dialects.graph.movement import ReshapeOp, TransposeOp
from tlf.dialects.graph.packed_images import PackedImages
from tlf.dialects.graph.reduction import ReduceKind, ReduceOp
from tlf.dialects.graph.stored_images import StoredImages
from tlf.dialects.graph.tensor_types import (
    element_type_of_value,
    format_shape,
    shape_of,
)
from tlf.dialects.interfaces import Array


def filter_tap_extents(
    image_shape: Sequence[int], filter_shape: Sequence[int], rank: int
) -> tuple[int, ...]:
    """Return the extents of filters along the `rank` axes that they slide over."""
    wanted = rank + 2
    if len(image_shape) != wanted or len(filter_shape) != wanted:
        raise VerifyException(
            f"expected images and filters of rank {wanted}, "
            f"got {format_shape(image_shape)} and {format_shape(filter_shape)}"
        )
    return tuple(filter_shape[2:])


@dataclass(frozen=True)
class Correlation:
    """
    Correlation of images, N x C x axes, with filters, F x C/groups x taps. Channels and
    filters are split into `group_count` groups of equal size; the filters of a group
    read the channels of the same group.
    """

    window: Window
    group_count: int

    def infer_result_shape(
        self, image_shape: Sequence[int], filter_shape: Sequence[int]
    ) -> tuple[int, ...]:
        """Infer the result shape; raise `VerifyException` if operands do not match."""
        groups = self.group_count
        self.window.verify_parameters(len(filter_shape) - 2)
        if groups < 1:
            raise VerifyException(
                f"expected a number of at least 1 for groups, got {groups}"
            )
        if image_shape[1] != filter_shape[1] * groups:
            raise VerifyException(
                f"expected images of {filter_shape[1] * groups} channels, "
                f"{groups} times those of a filter, got {image_shape[1]}"
            )
        if filter_shape[0] % groups:
            raise VerifyException(
                f"expected as many filters for each of {groups} groups, "
                f"got {filter_shape[0]}"
            )
        return (
            image_shape[0],
            filter_shape[0],
            *self.window.output_extents(image_shape),
        )

    def correlate_arrays(self, images: Array, filters: Array) -> Array:
        """Compute the correlation as a sum of matrix products, one per tap."""
        shape, groups = (
            self.infer_result_shape(images.shape, filters.shape),
            self.group_count,
        )
        count, depth = filters.shape[0] // groups, filters.shape[1]
        split = filters.reshape(groups, count, depth, -1)
        matrices = np.ascontiguousarray(np.moveaxis(split, -1, 0))
        total = np.zeros((shape[0], groups, count, prod(shape[2:])), images.dtype)
        elements = self.window.iterate_tap_arrays(images, 0)
        for matrix, tap_elements in zip(matrices, elements, strict=True):
            total += np.matmul(
                matrix, tap_elements.reshape(shape[0], groups, depth, -1)
            )
        return total.reshape(shape)

    def build_contraction(
        self,
        builder: Builder,
        images: SSAValue,
        filters: SSAValue,
        result: SSAValue,
        init: SSAValue | None,
        acc: Attribute | None,
        precision: str,
    ) -> SSAValue:
        """
        Build the correlation as a contraction of the unfolded images, with the type of
        `result`. If every window is a point, the images are contracted directly.
        """
        groups, point = self.group_count, self.window.is_pointwise
        if not point:
            unfolded = self.window.build_unfold(images, 0, groups)
            images = builder.insert(unfolded).result
        elif groups > 1:
            images = _build_axis_split_into_groups(builder, images, 1, groups)
        if point:
            shape = shape_of(filters)[:2]
            filters = builder.insert(ReshapeOp(filters, shape)).result
        if groups > 1:
            filters = _build_axis_split_into_groups(builder, filters, 0, groups)
            init = (
                None
                if init is None
                else _build_axis_split_into_groups(builder, init, 1, groups)
            )
        maps, element = self._build_indexing_maps(), element_type_of_value(result)
        contraction = ContractOp(images, filters, maps, init, acc, precision, element)
        total = builder.insert(contraction).result
        if total.type == result.type:
            return total
        merged = ReshapeOp.create(operands=[total], result_types=[result.type])
        return builder.insert(merged).result

    def is_depthwise(self, filters: SSAValue) -> bool:
        """Return `True` if every filter reads one channel of several."""
        return self.group_count > 1 and shape_of(filters)[1] == 1

    def build_rows(
        self,
        builder: Builder,
        images: StoredImages,
        filters: SSAValue,
        result: RowsResult,
    ) -> SSAValue:
        """
        Build the correlation as a matrix, windows x filters: a product of the matrix of
        windows with that of the filters, or a sum over taps where filters read single
        channels. It is accumulated, and then rounded to the element of the result.
        """
        accumulator, init = result.accumulator, result.initial_rows
        if init is not None:
            init = _build_cast(builder, init, accumulator)
        wide = replace(result, element=accumulator, initial_rows=init)
        build = (
            self._build_depthwise_rows
            if self.is_depthwise(filters)
            else self._build_product_rows
        )
        total = build(builder, images, filters, wide)
        return _build_cast(builder, total, result.element)

    def _build_product_rows(
        self,
        builder: Builder,
        images: StoredImages,
        filters: SSAValue,
        result: RowsResult,
    ) -> SSAValue:
        """Build the product of the matrix of windows with that of the filters."""
        count = shape_of(filters)[0]
        factors = self._build_factors(builder, images, filters)
        init, groups = result.initial_rows, self.group_count
        rows = images.row_count(self.window)
        if init is not None and groups > 1:
            shape = [rows, groups, count // groups]
            init = builder.insert(ReshapeOp(init, shape)).result
        types = result.accumulator, result.precision, result.element
        contraction = ContractOp(*factors, self._maps_of_rows(), init, *types)
        total = builder.insert(contraction).result
        if groups == 1:
            return total
        return builder.insert(ReshapeOp(total, [rows, count])).result

    def _maps_of_rows(self) -> list[AffineMap]:
        """
        Return the indexing maps of the matrices of windows, filters and results, over
        groups if there are several, rows, filters and columns.
        """
        group = (0,) if self.group_count > 1 else ()
        row, filter_, column = range(len(group), len(group) + 3)
        axes = (
            (*group, row, column),
            (*group, filter_, column),
            (row, *group, filter_),
        )
        return [
            AffineMap(len(group) + 3, 0, tuple(map(AffineExpr.dimension, each)))
            for each in axes
        ]

    def _build_factors(
        self, builder: Builder, images: StoredImages, filters: SSAValue
    ) -> tuple[SSAValue, SSAValue]:
        """Build the matrices of windows and of filters, with the same columns."""
        count, depth, *taps = shape_of(filters)
        packed = PackedImages(images.value, self.window)
        is_narrow = not images.is_channels_last and self.group_count == 1
        if is_narrow and packed.is_worthwhile:
            windows = packed.gather_window_rows(builder)
            return windows, packed.build_filter_rows(builder, filters)
        if images.is_channels_last:
            order = [0, *range(2, 2 + len(taps)), 1]
            filters = builder.insert(TransposeOp(filters, order)).result
        groups, columns = self.group_count, depth * prod(taps)
        windows = images.gather_window_rows(builder, self.window, groups)
        shape = [count, columns]
        if groups > 1:
            shape = [groups, count // groups, columns]
        return windows, builder.insert(ReshapeOp(filters, shape)).result

    def _build_depthwise_rows(
        self,
        builder: Builder,
        images: StoredImages,
        filters: SSAValue,
        result: RowsResult,
    ) -> SSAValue:
        """Build the sum over taps of every channel's elements times its filters."""
        count, _, *taps = shape_of(filters)
        repeats = count // self.group_count
        windows = images.gather_taps(builder, self.window, 0, repeats)
        shape = [count, prod(taps), *([] if images.is_channels_last else [1])]
        weights = builder.insert(ReshapeOp(filters, shape)).result
        if images.is_channels_last:
            weights = builder.insert(TransposeOp(weights, [1, 0])).result
        terms = MulOp(
            _build_cast(builder, windows, result.accumulator),
            _build_cast(builder, weights, result.accumulator),
        )
        total = ReduceOp(
            builder.insert(terms),
            ReduceKind.SUM,
            [images.tap_axis],
            init=result.initial_rows,
            acc=result.accumulator,
        )
        return builder.insert(total).result

    def _build_indexing_maps(self) -> list[AffineMap]:
        """
        Return the indexing maps of images, filters and result, over the dimensions
        images, groups, filters, windows, channels, and taps.
        """
        channel = 3 + self.window.rank
        windows = range(3, channel)
        group = [1] if self.group_count > 1 else []
        taps: Sequence[int] = ()
        if not self.window.is_pointwise:
            taps = range(channel + 1, channel + 1 + self.window.rank)
        axes = [
            [0, *group, channel, *taps, *windows],
            [*group, 2, channel, *taps],
            [0, *group, 2, *windows],
        ]
        used = sorted({axis for each in axes for axis in each})
        return [
            AffineMap(
                len(used),
                0,
                tuple(AffineExpr.dimension(used.index(axis)) for axis in each),
            )
            for each in axes
        ]


@dataclass(frozen=True)
class RowsResult:
    """Types and initial value of a correlation that is computed as a matrix."""

    element: Attribute
    accumulator: Attribute
    precision: str
    initial_rows: SSAValue | None = None


def _build_cast(builder: Builder, value: SSAValue, element: Attribute) -> SSAValue:
    """Build a cast, unless a value has the element type."""
    if element_type_of_value(value) == element:
        return value
    return builder.insert(CastOp(value, element)).result


def _build_axis_split_into_groups(
    builder: Builder, value: SSAValue, axis: int, group_count: int
) -> SSAValue:
    """Build a reshape that splits an axis into groups."""
    shape = shape_of(value)
    split = (*shape[:axis], group_count, shape[axis] // group_count, *shape[axis + 1 :])
    return builder.insert(ReshapeOp(value, split)).result
