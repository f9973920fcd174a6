"""
Operations `graph.max_pool2d` and `graph.sum_pool2d`: max and sum pooling in two
dimensions.
"""

from __future__ import annotations

import abc
from collections.abc import Collection, Sequence
from functools import reduce
from math import prod

import numpy as np
from xdsl.builder import Builder
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition

from tlf.dialects.graph.canonicalizable import SimplifiableOperation
from tlf.dialects.graph.image_windows import IMAGE_AXES, to_padding_property
from tlf.dialects.graph.reduction import CombiningOperation, ReduceKind
from tlf.dialects.graph.stored_images import StoredImages, WindowRowsInterface
from tlf.dialects.graph.tensor_types import (
    element_type_of_value,
    infer_result_type,
    shape_of,
    verify_shape,
)
from tlf.dialects.graph.windowed_operation import (
    WindowedOperation,
    build_window_reduction,
    build_window_rows_reduction,
    properties_of_window,
)
from tlf.dialects.interfaces import (
    Array,
    LoopDim,
    Scalar,
    WindowInterface,
    parallel_dim,
    reduction_dim,
)
from tlf.dialects.padding_interface import PaddingInterface
from tlf.support.affine.index_access import Accesses, identity_accesses


class PoolOperation(
    WindowedOperation,
    CombiningOperation,
    PaddingInterface,
    WindowInterface,
    WindowRowsInterface,
    abc.ABC,
):
    """
    Base of poolings: reductions of each window of N x C x H x W images to one element.
    """

    assembly_format = (
        "$operand (`init` $init^)? `kernel` $kernel (`strides` $strides^)?"
        " (`padding` $padding^)? (`dilation` $dilation^)? (`acc` $acc^)?"
        " attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        operand: SSAValue | Operation,
        kernel: Sequence[int],
        strides: Sequence[int] = (),
        padding: Sequence[int] = (),
        dilation: Sequence[int] = (),
        init: SSAValue | Operation | None = None,
        acc: Attribute | None = None,
        element: Attribute | None = None,
    ):
        value = SSAValue.get(operand)
        window = self.make_window(kernel, strides, padding, dilation)
        shape = self.infer_pooled_shape(shape_of(value), window)
        result_element = element_type_of_value(value) if element is None else element
        type_ = (
            infer_result_type([value], shape, result_element)
            if init is None
            else SSAValue.get(init).type
        )
        accumulator = {} if acc is None else {"acc": acc}
        super().__init__(
            operands=[value, init],
            properties=properties_of_window(window) | accumulator,
            result_types=[type_],
        )

    def verify_(self) -> None:
        images = shape_of(self.operand)
        verify_shape(self.result, self.infer_pooled_shape(images, self.window))
        self.verify_accumulator_types()

    def iteration_domain(self) -> tuple[LoopDim, ...]:
        parallel, taps = shape_of(self.result), self.window.taps
        return (*map(parallel_dim, parallel), *map(reduction_dim, taps))

    def indexing_maps(self) -> tuple[Accesses, ...]:
        spatial = self.window.image_accesses((2, 3), (4, 5))
        accesses = ((*identity_accesses(2), *spatial), *self.result_indexing_maps())
        return accesses[: len(self.operands)]

    def result_indexing_maps(self) -> tuple[Accesses, ...]:
        return (identity_accesses(4),)

    def implicitly_padded_axes(self) -> Collection[int]:
        return IMAGE_AXES

    def padded_tiled_implementation(
        self,
        operands: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        padding_counts: Sequence[tuple[int, int]],
    ) -> Operation:
        """Build the pooling on tiles, with `padding_counts` as its padding."""
        return type(self).create(
            operands=operands,
            result_types=result_types,
            properties=dict(self.properties)
            | {"padding": to_padding_property(padding_counts)},
            attributes=dict(self.attributes),
        )

    def untileable_dims(self) -> dict[int, str]:
        reason = "a part of a window would reach into the rest of it"
        extents = [iterator.extent for iterator in self.iteration_domain()]
        return {axis: reason for axis in (4, 5) if extents[axis] > 1}

    def flops(self) -> int:
        return prod(iterator.extent for iterator in self.iteration_domain())

    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        images = operands[0].astype(self.reference_accumulator_dtype)
        with np.errstate(all="ignore"):
            total = reduce(
                self.combine_partial_arrays,
                self.window.iterate_tap_arrays(images, self.neutral_element()),
            )
        return (self.combine_with_init(total, *operands[1:]),)

    def decompose_windows(self, builder: Builder) -> Sequence[SSAValue]:
        """Build the reduction of the unfolded images over each window, and `init`."""
        return [
            build_window_reduction(
                builder,
                self.operand,
                self.window,
                self.reduce_kind,
                element_type_of_value(self.result),
                self.init,
                self.acc,
            )
        ]

    @property
    def initial_value(self) -> SSAValue | None:
        return self.init

    @property
    def border_value(self) -> Scalar:
        return self.neutral_element()

    def build_rows(
        self, builder: Builder, images: StoredImages, initial_rows: SSAValue | None
    ) -> SSAValue:
        """Build the reduction over the taps of every window, per channel."""
        return build_window_rows_reduction(
            builder,
            images,
            self.window,
            self.reduce_kind,
            self.result,
            initial_rows,
            self.acc,
        )


@irdl_op_definition
class MaxPool2dOp(PoolOperation, SimplifiableOperation):
    """
    Maximum of every window of `kernel` rows and columns of N x C x H x W images, NaN if
    any element is NaN. `padding` is the number of rows and columns around an image:
    top, left, bottom, right. Padding elements are less than all others.

    ```mlir
    %y = graph.max_pool2d %x kernel [3, 3] strides [2, 2] padding [1, 1, 1, 1]
        : (tensor<1x8x9x9xf32>) -> tensor<1x8x5x5xf32>
    ```
    """

    name = "graph.max_pool2d"

    @property
    def reduce_kind(self) -> ReduceKind:
        return ReduceKind.MAX


@irdl_op_definition
class SumPool2dOp(PoolOperation):
    """
    Sum of every window of `kernel` rows and columns of N x C x H x W images. `padding`
    is the number of rows and columns around an image: top, left, bottom, right. Padding
    elements are 0.

    ```mlir
    %y = graph.sum_pool2d %x kernel [3, 3] strides [2, 2] acc f32
        : (tensor<1x8x9x9xbf16>) -> tensor<1x8x4x4xbf16>
    ```
    """

    name = "graph.sum_pool2d"

    @property
    def reduce_kind(self) -> ReduceKind:
        return ReduceKind.SUM
