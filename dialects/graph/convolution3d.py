"""Operation `graph.conv3d`: three-dimensional convolution."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from tlf.dialects.graph.accumulating_operation import AccumulatorTypedOperation
from tlf.dialects.graph.correlation import (
    Correlation,
    filter_tap_extents,
)
from tlf.dialects.graph.correlation_rows import CorrelationRowsInterface
from tlf.dialects.graph.image_windows import Window
from tlf.dialects.graph.tensor_types import (
    NUMBERS,
    GraphTensorConstraint,
    element_type_of_value,
    infer_result_type,
    shape_of,
    to_integers_attribute,
    verify_same_element_types,
    verify_shape,
)
from tlf.dialects.interfaces import Array, DecompositionInterface
from tlf.dialects.product_precision import verify_precision

ONES = (1, 1, 1)
ZEROS = (0, 0, 0, 0, 0, 0)


@irdl_op_definition
class Conv3dOp(
    AccumulatorTypedOperation, DecompositionInterface, CorrelationRowsInterface
):
    """
    Three-dimensional convolution: correlation of each image of `lhs`,
    N x C x D x H x W, with the filters `rhs`, F x C/groups x KD x KH x KW.

    `padding` is the number of zeros around an image: before the first element of each
    axis, then after the last. Channels and filters are split into `groups` runs of
    equal length; filters read the channels of the run with the same index.

    ```mlir
    %y = graph.conv3d %x, %w strides [2, 2, 2] padding [1, 1, 1, 1, 1, 1] acc f32
        : (tensor<1x8x5x9x9xbf16>, tensor<16x8x3x3x3xbf16>)
        -> tensor<1x16x3x5x5xbf16>
    ```
    """

    name = "graph.conv3d"

    lhs = operand_def(GraphTensorConstraint(NUMBERS))
    rhs = operand_def(GraphTensorConstraint(NUMBERS))
    strides = prop_def(
        DenseArrayBase.constr(i64), default_value=to_integers_attribute(ONES)
    )
    padding = prop_def(
        DenseArrayBase.constr(i64), default_value=to_integers_attribute(ZEROS)
    )
    dilation = prop_def(
        DenseArrayBase.constr(i64), default_value=to_integers_attribute(ONES)
    )
    groups = prop_def(IntegerAttr.constr(i64), default_value=IntegerAttr(1, i64))
    precision = prop_def(StringAttr, default_value=StringAttr("ieee"))
    result = result_def(GraphTensorConstraint(NUMBERS))

    traits = traits_def(Pure())

    assembly_format = (
        "$lhs `,` $rhs (`strides` $strides^)? (`padding` $padding^)?"
        " (`dilation` $dilation^)? (`groups` $groups^)? (`acc` $acc^)?"
        " (`precision` $precision^)? attr-dict"
        " `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        lhs: SSAValue | Operation,
        rhs: SSAValue | Operation,
        strides: Sequence[int] = ONES,
        padding: Sequence[int] = ZEROS,
        dilation: Sequence[int] = ONES,
        groups: int = 1,
        acc: Attribute | None = None,
        precision: str = "ieee",
        element: Attribute | None = None,
    ):
        inputs = [SSAValue.get(lhs), SSAValue.get(rhs)]
        images, filters = shape_of(inputs[0]), shape_of(inputs[1])
        taps = filter_tap_extents(images, filters, 3)
        window = Window(taps, tuple(strides), tuple(padding), tuple(dilation))
        shape = Correlation(window, groups).infer_result_shape(images, filters)
        result_element = (
            element_type_of_value(inputs[0]) if element is None else element
        )
        super().__init__(
            operands=inputs,
            properties={
                "strides": to_integers_attribute(strides),
                "padding": to_integers_attribute(padding),
                "dilation": to_integers_attribute(dilation),
                "groups": IntegerAttr(groups, i64),
                "acc": acc,
                "precision": StringAttr(precision),
            },
            result_types=[infer_result_type(inputs, shape, result_element)],
        )

    @property
    def correlation(self) -> Correlation:
        """
        Geometry of the convolution: sliding windows over three axes, and channel
        groups.
        """
        window = Window(
            filter_tap_extents(shape_of(self.lhs), shape_of(self.rhs), 3),
            tuple(self.strides.get_values()),
            tuple(self.padding.get_values()),
            tuple(self.dilation.get_values()),
        )
        return Correlation(window, self.groups.value.data)

    def verify_(self) -> None:
        verify_same_element_types([self.lhs, self.rhs])
        verify_precision(self.precision.data)
        shape = self.correlation.infer_result_shape(
            shape_of(self.lhs), shape_of(self.rhs)
        )
        verify_shape(self.result, shape)
        self.verify_accumulator_types()

    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        images, filters = (
            each.astype(self.reference_accumulator_dtype) for each in operands
        )
        with np.errstate(all="ignore"):
            total = self.correlation.correlate_arrays(images, filters)
        return (self.combine_with_init(total),)

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        """Build a contraction of the unfolded images, or of the images if 1x1x1."""
        return [
            self.correlation.build_contraction(
                builder,
                self.lhs,
                self.rhs,
                self.result,
                None,
                self.acc,
                self.precision.data,
            )
        ]
