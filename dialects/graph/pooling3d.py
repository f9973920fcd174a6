"""Operation `graph.max_pool3d`: max pooling in three dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from tlf.dialects.graph.canonicalizable import SimplifiableOperation
from tlf.dialects.graph.reduction import ReduceKind, neutral_element_of
from tlf.dialects.graph.stored_images import StoredImages, WindowRowsInterface
from tlf.dialects.graph.tensor_types import (
    NUMBERS,
    GraphTensorConstraint,
    element_type_of_value,
    infer_result_type,
    promote_to_f32,
    round_to_type,
    shape_of,
    verify_element_type,
    verify_shape,
)
from tlf.dialects.graph.windowed_operation import (
    Windowed3dOperation,
    build_window_reduction,
    build_window_rows_reduction,
    properties_of_window,
)
from tlf.dialects.interfaces import Array, DecompositionInterface, Scalar


@irdl_op_definition
class MaxPool3dOp(
    Windowed3dOperation,
    DecompositionInterface,
    SimplifiableOperation,
    WindowRowsInterface,
):
    """
    Maximum of every window of N x C x D x H x W images, NaN if any element is NaN.
    `padding` is the number of elements before the first element of each axis, then
    after the last. Padding elements are less than all others.

    ```mlir
    %y = graph.max_pool3d %x kernel [2, 3, 3] padding [0, 1, 1, 0, 1, 1]
        : (tensor<1x8x4x9x9xf32>) -> tensor<1x8x3x9x9xf32>
    ```
    """

    name = "graph.max_pool3d"

    operand = operand_def(GraphTensorConstraint(NUMBERS))
    result = result_def(GraphTensorConstraint(NUMBERS))

    traits = traits_def(Pure())

    assembly_format = (
        "$operand `kernel` $kernel (`strides` $strides^)? (`padding` $padding^)?"
        " (`dilation` $dilation^)? attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        operand: SSAValue | Operation,
        kernel: Sequence[int],
        strides: Sequence[int] = (),
        padding: Sequence[int] = (),
        dilation: Sequence[int] = (),
    ):
        value = SSAValue.get(operand)
        window = self.make_window(kernel, strides, padding, dilation)
        shape = self.infer_pooled_shape(shape_of(value), window)
        super().__init__(
            operands=[value],
            properties=properties_of_window(window),
            result_types=[
                infer_result_type([value], shape, element_type_of_value(value))
            ],
        )

    def verify_(self) -> None:
        images = shape_of(self.operand)
        verify_shape(self.result, self.infer_pooled_shape(images, self.window))
        verify_element_type(self.result, element_type_of_value(self.operand))

    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        element = element_type_of_value(self.result)
        least = neutral_element_of(ReduceKind.MAX, element)
        with np.errstate(all="ignore"):
            elements = self.window.iterate_tap_arrays(
                promote_to_f32(operands[0]), least
            )
            return (round_to_type(reduce(np.maximum, elements), element),)

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        """
        Build an unfold of the images and the maximum of each window, and return the
        latter.
        """
        element = element_type_of_value(self.result)
        kind = ReduceKind.MAX
        return [
            build_window_reduction(builder, self.operand, self.window, kind, element)
        ]

    @property
    def initial_value(self) -> SSAValue | None:
        return None

    @property
    def border_value(self) -> Scalar:
        return neutral_element_of(ReduceKind.MAX, element_type_of_value(self.operand))

    def build_rows(
        self, builder: Builder, images: StoredImages, initial_rows: SSAValue | None
    ) -> SSAValue:
        """Build the reduction over the taps of every window, per channel."""
        return build_window_rows_reduction(
            builder, images, self.window, ReduceKind.MAX, self.result, initial_rows
        )
