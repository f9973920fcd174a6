"""Operation `graph.interpolate`: linear interpolation of images."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from math import prod
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.builder import Builder
from xdsl.dialects.builtin import DenseArrayBase, UnitAttr, f64
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.graph.constant import ConstantOp
from tlf.dialects.graph.stored_images import (
    IMAGE_RANK,
    StoredImages,
    WindowRowsInterface,
)
from tlf.dialects.graph.take_and_gather import TakeOp
from tlf.dialects.graph.tensor_builder import TensorBuilder
from tlf.dialects.graph.tensor_types import (
    FLOATS,
    GraphTensorConstraint,
    element_type_of_value,
    format_shape,
    infer_result_type,
    promote_to_f32,
    round_to_type,
    shape_of,
    verify_element_type,
    verify_shape,
)
from tlf.dialects.graph.weighted_sums import build_weighted_sums
from tlf.dialects.interfaces import Array, DecompositionInterface, Scalar
from tlf.dialects.slice_views import row_major_strides
from tlf.dialects.types import dtype_of

Neighbours: TypeAlias = tuple[NDArray[np.int64], NDArray[np.float64]]
"""Indices of a neighbour of each point, and its weights."""

FIRST_SPATIAL_AXIS = 2
"""First axis of images that is interpolated."""


@dataclass(frozen=True)
class InterpolatedAxis:
    """
    Points of a grid along an axis of `extent` elements: point i lies at the position
    i * `step`, or at (i + 0.5) * `step` - 0.5 with half pixels, clamped to the axis.
    """

    extent: int
    count: int
    """Number of points."""
    step: float
    has_half_pixels: bool

    @property
    def is_kept(self) -> bool:
        """True if the points are the elements."""
        return self.count == self.extent and self.step == 1

    def neighbours(self) -> tuple[Neighbours, ...]:
        """
        Return the lower and the upper neighbour of the points, and their weights; the
        elements alone if the axis is kept.
        """
        if self.is_kept:
            return ((np.arange(self.extent), np.ones(self.extent)),)
        centre = 0.5 if self.has_half_pixels else 0.0
        positions = (np.arange(self.count) + centre) * self.step - centre
        positions = np.maximum(positions, 0)
        lower = np.minimum(np.floor(positions).astype(np.int64), self.extent - 1)
        share = np.minimum(positions - lower, 1)
        upper = np.minimum(lower + 1, self.extent - 1)
        return (lower, 1 - share), (upper, share)

    def weight_matrix(self) -> Array:
        """Return the weights of all elements in all points, points x elements."""
        weights = np.zeros((self.count, self.extent))
        for indices, shares in self.neighbours():
            np.add.at(weights, (np.arange(self.count), indices), shares)
        return weights


@irdl_op_definition
class InterpolateOp(IRDLOperation, DecompositionInterface, WindowRowsInterface):
    """
    Linear interpolation of N x C x axes images at the points of a grid, in f32 if
    elements are narrower. Along each axis after the channels, point i lies at the
    position i * step, clamped to the image: between its two neighbours. With
    `half_pixel`, the position is (i + 0.5) * step - 0.5. An axis is kept where the step
    is 1 and the number of points that of the elements.

    ```mlir
    %y = graph.interpolate %x steps [0.5, 0.5] half_pixel
        : (tensor<1x8x4x4xbf16>) -> tensor<1x8x8x8xbf16>
    ```
    """

    name = "graph.interpolate"

    operand = operand_def(GraphTensorConstraint(FLOATS))
    steps = prop_def(DenseArrayBase.constr(f64))
    half_pixel = opt_prop_def(UnitAttr)
    result = result_def(GraphTensorConstraint(FLOATS))

    traits = traits_def(Pure())

    assembly_format = (
        "$operand `steps` $steps (`half_pixel` $half_pixel^)? attr-dict"
        " `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        operand: SSAValue | Operation,
        counts: Sequence[int],
        steps: Sequence[float],
        half_pixel: bool = False,
    ):
        value = SSAValue.get(operand)
        shape = (*shape_of(value)[:FIRST_SPATIAL_AXIS], *counts)
        super().__init__(
            operands=[value],
            properties={
                "steps": DenseArrayBase.from_list(f64, steps),
                **({"half_pixel": UnitAttr()} if half_pixel else {}),
            },
            result_types=[
                infer_result_type([value], shape, element_type_of_value(value))
            ],
        )

    def verify_(self) -> None:
        shape = shape_of(self.operand)
        if len(shape) < IMAGE_RANK:
            raise VerifyException(
                f"expected images of rank {IMAGE_RANK} or more, got "
                f"{format_shape(shape)}"
            )
        axes = shape_of(self.result)[FIRST_SPATIAL_AXIS:]
        verify_shape(self.result, (*shape[:FIRST_SPATIAL_AXIS], *axes))
        verify_element_type(self.result, element_type_of_value(self.operand))
        count = len(shape) - FIRST_SPATIAL_AXIS
        steps = self.steps.get_values()
        if len(steps) != count or not np.isfinite(steps).all() or min(steps) < 0:
            raise VerifyException(
                f"expected {count} steps of at least 0, got {[*steps]}"
            )

    @property
    def interpolated_axes(self) -> tuple[InterpolatedAxis, ...]:
        """Points along each axis after the channels."""
        extents = shape_of(self.operand)[FIRST_SPATIAL_AXIS:]
        counts = shape_of(self.result)[FIRST_SPATIAL_AXIS:]
        return tuple(
            InterpolatedAxis(extent, count, step, self.half_pixel is not None)
            for extent, count, step in zip(
                extents, counts, self.steps.get_values(), strict=True
            )
        )

    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        value = promote_to_f32(operands[0])
        with np.errstate(all="ignore"):
            for axis, points in enumerate(self.interpolated_axes, FIRST_SPATIAL_AXIS):
                terms = [
                    _weigh_taken_slices(value, axis, indices, weights)
                    for indices, weights in points.neighbours()
                ]
                value = reduce(np.add, terms)
        return (round_to_type(value, element_type_of_value(self.result)),)

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        """Build a product with the matrix of weights of each axis that is not kept."""
        program = TensorBuilder.for_operand(builder, self.operand)
        value = program.promote_to_builder_type(self.operand)
        for axis, points in enumerate(self.interpolated_axes, FIRST_SPATIAL_AXIS):
            if not points.is_kept:
                matrix = points.weight_matrix()
                value = build_weighted_sums(program.insert, value, axis, matrix)
        return [program.cast_to_type(value, self.result.type)]

    @property
    def initial_value(self) -> SSAValue | None:
        return None

    @property
    def border_value(self) -> Scalar:
        return 0

    def absorb_padding(
        self, images: SSAValue, padding: Sequence[int], fill: Scalar
    ) -> Self | None:
        """Return None: points between an image and its padding depend on both."""
        return None

    def build_rows(
        self, builder: Builder, images: StoredImages, initial_rows: SSAValue | None
    ) -> SSAValue:
        """Build the weighted sums of the neighbours of every point, per channel."""
        program = TensorBuilder.for_operand(builder, images.value)
        count, channels, *counts = shape_of(self.result)
        pixels, axis = prod(images.extents), 1 if images.is_channels_last else 2
        shape = (count, pixels, channels)
        flat = shape if images.is_channels_last else (count, channels, pixels)
        value = program.reshape(images.value, flat)
        terms = [
            program.mul(
                program.promote_to_builder_type(
                    program.insert(TakeOp(value, indices, axis))
                ),
                weights,
            )
            for indices, weights in self._build_neighbours(
                program, trailing_unit_axes=int(images.is_channels_last)
            )
        ]
        total = reduce(program.add, terms)
        element, points = element_type_of_value(self.result), prod(counts)
        type_ = infer_result_type([total], shape_of(total), element)
        matrix = (count * points, channels)
        return program.reshape(
            program.cast_to_type(total, type_),
            matrix if images.is_channels_last else (count, channels, points),
        )

    def _build_neighbours(
        self, program: TensorBuilder, trailing_unit_axes: int
    ) -> Iterator[tuple[SSAValue, SSAValue]]:
        """
        Yield the pixels and the weights of each neighbour, per point of the grid;
        weights are followed by unit axes.
        """
        axes = self.interpolated_axes
        pixel_strides = row_major_strides([points.extent for points in axes])
        for corner in product(*(points.neighbours() for points in axes)):
            pixels, weights = list[SSAValue](), list[SSAValue]()
            for position, (indices, shares) in enumerate(corner):
                following = len(axes) - position - 1
                column = (-1, *(1,) * following)
                offsets = (indices * pixel_strides[position]).astype(np.int32)
                pixels.append(program.insert(ConstantOp(offsets.reshape(column))))
                column = (*column, *(1,) * trailing_unit_axes)
                factors = shares.astype(dtype_of(program.element)).reshape(column)
                weights.append(program.insert(ConstantOp(factors)))
            yield reduce(program.add, pixels), reduce(program.mul, weights)


def _weigh_taken_slices(
    array: Array, axis: int, indices: NDArray[np.int64], weights: NDArray[np.float64]
) -> Array:
    """Return slices of an array at the indices of an axis, times their weights."""
    unit_axes = (1,) * (array.ndim - axis - 1)
    factors = weights.reshape(-1, *unit_axes).astype(array.dtype)
    return np.multiply(np.take(array, indices, axis), factors)
