"""Pooling: maxima, sums and means of the windows of images."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from functools import reduce
from math import prod

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import DenseArrayBase, UnitAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
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

from tlf.dialects.access import Accesses, identity
from tlf.dialects.graph.constant import ConstantOp
from tlf.dialects.graph.decomposition import TensorProgram
from tlf.dialects.graph.elementwise import DivOp, MulOp
from tlf.dialects.graph.reduction import CombiningOperation, ReduceKind, ReduceOp
from tlf.dialects.graph.tensors import (
    FLOATS,
    GraphTensor,
    axes_attribute,
    element_of,
    result_type,
    rounded,
    shape_of,
    shape_text,
    verify_element,
    verify_shape,
    widened,
)
from tlf.dialects.graph.window import Window
from tlf.dialects.interfaces import (
    Array,
    DecompositionInterface,
    Iterator,
    WindowInterface,
    parallel,
    reduction,
)
from tlf.dialects.types import accumulator_of, dtype_of

ONES = axes_attribute((1, 1))
ZEROS = axes_attribute((0, 0, 0, 0))


def pooled_shape(images: Sequence[int], window: Window) -> tuple[int, ...]:
    """The shape of pooled images, or an error where the window does not fit."""
    window.verify(2)
    if len(images) != 4:
        raise VerifyException(f"expected images of rank 4, got {shape_text(images)}")
    return (*images[:2], *window.extents(images))


class WindowedOperation(IRDLOperation, abc.ABC):
    """An operation on the windows of every channel of N x C x H x W images."""

    kernel = prop_def(DenseArrayBase.constr(i64))
    strides = prop_def(DenseArrayBase.constr(i64), default_value=ONES)
    padding = prop_def(DenseArrayBase.constr(i64), default_value=ZEROS)
    dilation = prop_def(DenseArrayBase.constr(i64), default_value=ONES)

    @property
    def window(self) -> Window:
        """How windows move over images."""
        return Window(
            tuple(self.kernel.get_values()),
            tuple(self.strides.get_values()),
            tuple(self.padding.get_values()),
            tuple(self.dilation.get_values()),
        )


def _properties(window: Window) -> dict[str, Attribute]:
    return {
        "kernel": axes_attribute(window.taps),
        "strides": axes_attribute(window.strides),
        "padding": axes_attribute(window.padding),
        "dilation": axes_attribute(window.dilation),
    }


class PoolOperation(WindowedOperation, CombiningOperation, WindowInterface, abc.ABC):
    """
    A reduction of every window of N x C x H x W images.
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
        strides: Sequence[int] = (1, 1),
        padding: Sequence[int] = (0, 0, 0, 0),
        dilation: Sequence[int] = (1, 1),
        init: SSAValue | Operation | None = None,
        acc: Attribute | None = None,
        element: Attribute | None = None,
    ):
        value = SSAValue.get(operand)
        window = Window(*map(tuple, (kernel, strides, padding, dilation)))
        shape = pooled_shape(shape_of(value), window)
        wanted = element_of(value) if element is None else element
        type_ = (
            result_type([value], shape, wanted)
            if init is None
            else SSAValue.get(init).type
        )
        super().__init__(
            operands=[value, init],
            properties=_properties(window) | ({} if acc is None else {"acc": acc}),
            result_types=[type_],
        )

    def verify_(self) -> None:
        verify_shape(self.result, pooled_shape(shape_of(self.operand), self.window))
        self.verify_accumulation()

    def iterators(self) -> tuple[Iterator, ...]:
        kept, taps = shape_of(self.result), self.window.taps
        return (*map(parallel, kept), *map(reduction, taps))

    def operand_accesses(self) -> tuple[Accesses, ...]:
        spatial = self.window.accesses((2, 3), (4, 5))
        accesses = ((*identity(2), *spatial), *self.result_accesses())
        return accesses[: len(self.operands)]

    def result_accesses(self) -> tuple[Accesses, ...]:
        return (identity(4),)

    def tiled(
        self, operands: Sequence[SSAValue], result_types: Sequence[Attribute]
    ) -> Operation:
        return type(self).create(
            operands=operands,
            result_types=result_types,
            properties=dict(self.properties) | {"padding": ZEROS},
            attributes=dict(self.attributes),
        )

    def untileable(self) -> dict[int, str]:
        reason = "a part of a window would reach into the rest of it"
        extents = [iterator.extent for iterator in self.iterators()]
        return {axis: reason for axis in (4, 5) if extents[axis] > 1}

    def flops(self) -> int:
        return prod(iterator.extent for iterator in self.iterators())

    def reference(self, *operands: Array) -> tuple[Array, ...]:
        images = operands[0].astype(self.reference_dtype)
        with np.errstate(all="ignore"):
            total = reduce(self.merge, self.window.elements(images, self.neutral()))
        return (self.accumulated(total, *operands[1:]),)

    def without_windows(self, builder: Builder) -> Sequence[SSAValue]:
        """A reduction of the unfolded images."""
        unfolded = self.window.unfolded(self.operand, self.neutral())
        reduced = ReduceOp(
            builder.insert(unfolded),
            self.combination,
            [2, 3],
            init=self.init,
            acc=self.acc,
            element=element_of(self.result),
        )
        return builder.insert(reduced).results


@irdl_op_definition
class MaxPool2dOp(PoolOperation):
    """
    The maximum of every window of `kernel` rows and columns of N x C x H x W images,
    NaN where a NaN is among them. What lies around an image, `padding` rows and columns
    at its top, left, bottom and right, is less than everything.

    ```mlir
    %y = graph.max_pool2d %x kernel [3, 3] strides [2, 2] padding [1, 1, 1, 1]
        : (tensor<1x8x9x9xf32>) -> tensor<1x8x5x5xf32>
    ```
    """

    name = "graph.max_pool2d"

    @property
    def combination(self) -> ReduceKind:
        return ReduceKind.MAX


@irdl_op_definition
class SumPool2dOp(PoolOperation):
    """
    The sum of every window of `kernel` rows and columns of N x C x H x W images. What
    lies around an image, `padding` rows and columns at its top, left, bottom and right,
    is 0.

    ```mlir
    %y = graph.sum_pool2d %x kernel [3, 3] strides [2, 2] acc f32
        : (tensor<1x8x9x9xbf16>) -> tensor<1x8x4x4xbf16>
    ```
    """

    name = "graph.sum_pool2d"

    @property
    def combination(self) -> ReduceKind:
        return ReduceKind.SUM


@irdl_op_definition
class AvgPool2dOp(WindowedOperation, DecompositionInterface):
    """
    The mean of every window of `kernel` rows and columns of N x C x H x W images, added
    up in f32 where elements are narrower. What lies around an image, `padding` rows and
    columns at its top, left, bottom and right, counts as 0, or, with `exclude_padding`,
    not at all.

    ```mlir
    %y = graph.avg_pool2d %x kernel [3, 3] padding [1, 1, 1, 1] exclude_padding
        : (tensor<1x8x9x9xbf16>) -> tensor<1x8x9x9xbf16>
    ```
    """

    name = "graph.avg_pool2d"

    operand = operand_def(GraphTensor(FLOATS))
    exclude_padding = opt_prop_def(UnitAttr)
    result = result_def(GraphTensor(FLOATS))

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
        strides: Sequence[int] = (1, 1),
        padding: Sequence[int] = (0, 0, 0, 0),
        dilation: Sequence[int] = (1, 1),
        exclude_padding: bool = False,
    ):
        value = SSAValue.get(operand)
        window = Window(*map(tuple, (kernel, strides, padding, dilation)))
        shape = pooled_shape(shape_of(value), window)
        excluded = {"exclude_padding": UnitAttr()} if exclude_padding else {}
        super().__init__(
            operands=[value],
            properties=_properties(window) | excluded,
            result_types=[result_type([value], shape, element_of(value))],
        )

    def verify_(self) -> None:
        verify_shape(self.result, pooled_shape(shape_of(self.operand), self.window))
        verify_element(self.result, element_of(self.operand))
        if self.exclude_padding is not None and not self._counts().all():
            raise VerifyException(
                "expected every window to meet its image, got padding "
                f"{list(self.window.padding)} of kernel {list(self.window.taps)}"
            )

    @property
    def needs_counts(self) -> bool:
        """Whether windows are means of different numbers of elements."""
        return self.exclude_padding is not None and any(self.window.padding)

    def _counts(self) -> Array:
        """How many elements of the image each window has, OH x OW."""
        shape = shape_of(self.operand)[2:]
        inside = np.ones((1, 1, *shape), np.int64)
        return reduce(np.add, self.window.elements(inside, 0))[0, 0]

    def reference(self, *operands: Array) -> tuple[Array, ...]:
        wide = widened(operands[0])
        with np.errstate(all="ignore"):
            total = reduce(np.add, self.window.elements(wide, 0))
            value = np.divide(total, self._divisor().astype(wide.dtype))
        return (rounded(value, element_of(self.result)),)

    def _divisor(self) -> Array:
        return self._counts() if self.needs_counts else np.asarray(self.taps)

    @property
    def taps(self) -> int:
        """The number of elements of a window."""
        return prod(self.window.taps)

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        """Sums of windows, multiplied or divided by what they count."""
        program = TensorProgram.of(builder, self.operand)
        work = accumulator_of(element_of(self.operand))
        window = self.window
        total = program.insert(
            SumPool2dOp(
                self.operand,
                window.taps,
                window.strides,
                window.padding,
                window.dilation,
                element=work,
            )
        )
        if not self.needs_counts:
            part = program.number(1 / self.taps)
            return [program.finish(MulOp, [total, part], self.result.type)]
        counts = program.insert(ConstantOp(self._counts().astype(dtype_of(work))))
        return [program.finish(DivOp, [total, counts], self.result.type)]
