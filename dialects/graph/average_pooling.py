"""
Operations `graph.avg_pool2d` and `graph.avg_pool3d`: average pooling in two and three
dimensions.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from functools import reduce
from math import prod

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.graph.constant import ConstantOp
from tlf.dialects.graph.division import DivOp
from tlf.dialects.graph.elementwise import MulOp
from tlf.dialects.graph.pooling import SumPool2dOp
from tlf.dialects.graph.reduction import ReduceKind
from tlf.dialects.graph.tensor_builder import TensorBuilder
from tlf.dialects.graph.tensor_types import (
    FLOATS,
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
    WindowedOperation,
    build_window_reduction,
    properties_of_window,
)
from tlf.dialects.interfaces import Array, DecompositionInterface
from tlf.dialects.types import accumulator_type_of, dtype_of


class AvgPoolOperation(WindowedOperation, DecompositionInterface, abc.ABC):
    """Base of average poolings, which accumulate in f32 if elements are narrower."""

    operand = operand_def(GraphTensorConstraint(FLOATS))
    exclude_padding = opt_prop_def(UnitAttr)
    result = result_def(GraphTensorConstraint(FLOATS))

    traits = traits_def(Pure())

    assembly_format = (
        "$operand `kernel` $kernel (`strides` $strides^)? (`padding` $padding^)?"
        " (`dilation` $dilation^)? (`exclude_padding` $exclude_padding^)? attr-dict"
        " `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        operand: SSAValue | Operation,
        kernel: Sequence[int],
        strides: Sequence[int] = (),
        padding: Sequence[int] = (),
        dilation: Sequence[int] = (),
        exclude_padding: bool = False,
    ):
        value = SSAValue.get(operand)
        window = self.make_window(kernel, strides, padding, dilation)
        shape = self.infer_pooled_shape(shape_of(value), window)
        excluded = {"exclude_padding": UnitAttr()} if exclude_padding else {}
        super().__init__(
            operands=[value],
            properties=properties_of_window(window) | excluded,
            result_types=[
                infer_result_type([value], shape, element_type_of_value(value))
            ],
        )

    def verify_(self) -> None:
        images = shape_of(self.operand)
        verify_shape(self.result, self.infer_pooled_shape(images, self.window))
        verify_element_type(self.result, element_type_of_value(self.operand))
        if self.exclude_padding is not None and not self._count_window_elements().all():
            raise VerifyException(
                "expected every window to meet its image, got padding "
                f"{list(self.window.padding)} of kernel {list(self.window.taps)}"
            )

    @property
    def has_varying_element_counts(self) -> bool:
        """True if the element count differs between windows."""
        return self.exclude_padding is not None and any(self.window.padding)

    def _count_window_elements(self) -> Array:
        """Return the number of image elements in each window."""
        return self.window.count_window_elements(shape_of(self.operand)[2:])

    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        wide = promote_to_f32(operands[0])
        with np.errstate(all="ignore"):
            total = reduce(np.add, self.window.iterate_tap_arrays(wide, 0))
            value = np.divide(total, self._window_divisors().astype(wide.dtype))
        return (round_to_type(value, element_type_of_value(self.result)),)

    def _window_divisors(self) -> Array:
        """
        Return the divisors of window sums: one element count per window if counts vary,
        else the scalar `tap_count`.
        """
        return (
            self._count_window_elements()
            if self.has_varying_element_counts
            else np.asarray(self.tap_count)
        )

    @property
    def tap_count(self) -> int:
        """Number of elements of a window."""
        return prod(self.window.taps)

    @abc.abstractmethod
    def build_window_sums(self, builder: Builder, element: Attribute) -> SSAValue:
        """Build the sums of windows, in an element type."""

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        """Build window sums, times 1 / `tap_count` or divided by element counts."""
        program = TensorBuilder.for_operand(builder, self.operand)
        work = accumulator_type_of(element_type_of_value(self.operand))
        total = self.build_window_sums(builder, work)
        if not self.has_varying_element_counts:
            reciprocal = program.constant(1 / self.tap_count)
            return [
                program.build_with_result_type(
                    MulOp, [total, reciprocal], self.result.type
                )
            ]
        counts = program.insert(
            ConstantOp(self._count_window_elements().astype(dtype_of(work)))
        )
        return [
            program.build_with_result_type(DivOp, [total, counts], self.result.type)
        ]


@irdl_op_definition
class AvgPool2dOp(AvgPoolOperation):
    """
    Mean of every window of `kernel` rows and columns of N x C x H x W images,
    accumulated in f32 if elements are narrower. `padding` is the number of rows and
    columns around an image: top, left, bottom, right. Padding elements count as 0, or,
    with `exclude_padding`, are excluded from the mean.

    ```mlir
    %y = graph.avg_pool2d %x kernel [3, 3] padding [1, 1, 1, 1] exclude_padding
        : (tensor<1x8x9x9xbf16>) -> tensor<1x8x9x9xbf16>
    ```
    """

    name = "graph.avg_pool2d"

    def build_window_sums(self, builder: Builder, element: Attribute) -> SSAValue:
        """Build the `SumPool2dOp` of the same windows, with results of `element`."""
        window = self.window
        total = SumPool2dOp(
            self.operand,
            window.taps,
            window.strides,
            window.padding,
            window.dilation,
            element=element,
        )
        return builder.insert(total).result


@irdl_op_definition
class AvgPool3dOp(Windowed3dOperation, AvgPoolOperation):
    """
    Mean of every window of N x C x D x H x W images, accumulated in f32 if elements are
    narrower. `padding` is the number of elements before the first element of each axis,
    then after the last. Padding elements count as 0, or, with `exclude_padding`, are
    excluded from the mean.

    ```mlir
    %y = graph.avg_pool3d %x kernel [2, 2, 2] strides [2, 2, 2]
        : (tensor<1x8x4x8x8xbf16>) -> tensor<1x8x2x4x4xbf16>
    ```
    """

    name = "graph.avg_pool3d"

    def build_window_sums(self, builder: Builder, element: Attribute) -> SSAValue:
        kind = ReduceKind.SUM
        return build_window_reduction(builder, self.operand, self.window, kind, element)
