"""Operation bases of the `graph` dialect: pooling in two and three dimensions."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import ClassVar

from xdsl.builder import Builder
from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, prop_def
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.graph.cast import CastOp
from tlf.dialects.graph.image_windows import Window
from tlf.dialects.graph.reduction import ReduceKind, ReduceOp, neutral_element_of
from tlf.dialects.graph.stored_images import StoredImages
from tlf.dialects.graph.tensor_types import (
    element_type_of_value,
    format_shape,
    to_integers_attribute,
)
from tlf.dialects.types import accumulator_type_of

ONES = to_integers_attribute((1, 1))
ZEROS = to_integers_attribute((0, 0, 0, 0))


class WindowedOperation(IRDLOperation, abc.ABC):
    """Base of operations on the windows of N x C x H x W images, per channel."""

    RANK: ClassVar[int] = 2
    """Number of axes that windows slide over."""

    kernel = prop_def(DenseArrayBase.constr(i64))
    strides = prop_def(DenseArrayBase.constr(i64), default_value=ONES)
    padding = prop_def(DenseArrayBase.constr(i64), default_value=ZEROS)
    dilation = prop_def(DenseArrayBase.constr(i64), default_value=ONES)

    @property
    def window(self) -> Window:
        """Geometry of the sliding windows: taps, strides, padding and dilation."""
        return Window(
            tuple(self.kernel.get_values()),
            tuple(self.strides.get_values()),
            tuple(self.padding.get_values()),
            tuple(self.dilation.get_values()),
        )

    @classmethod
    def make_window(
        cls,
        kernel: Sequence[int],
        strides: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
    ) -> Window:
        """Return a window; empty strides, padding and dilation take their defaults."""
        ones, zeros = (1,) * cls.RANK, (0,) * 2 * cls.RANK
        parameters = (kernel, strides or ones, padding or zeros, dilation or ones)
        return Window(*map(tuple, parameters))

    @classmethod
    def infer_pooled_shape(
        cls, image_shape: Sequence[int], window: Window
    ) -> tuple[int, ...]:
        """Infer the shape of pooled images; raise if the window does not fit."""
        window.verify_parameters(cls.RANK)
        if len(image_shape) != cls.RANK + 2:
            raise VerifyException(
                f"expected images of rank {cls.RANK + 2}, got "
                f"{format_shape(image_shape)}"
            )
        return (*image_shape[:2], *window.output_extents(image_shape))


class Windowed3dOperation(WindowedOperation, abc.ABC):
    """Base of operations on the windows of N x C x D x H x W images, per channel."""

    RANK: ClassVar[int] = 3

    strides = prop_def(
        DenseArrayBase.constr(i64), default_value=to_integers_attribute((1,) * 3)
    )
    padding = prop_def(
        DenseArrayBase.constr(i64), default_value=to_integers_attribute((0,) * 6)
    )
    dilation = prop_def(
        DenseArrayBase.constr(i64), default_value=to_integers_attribute((1,) * 3)
    )


def properties_of_window(window: Window) -> dict[str, Attribute]:
    """
    Return the properties `kernel`, `strides`, `padding` and `dilation` for a window.
    """
    return {
        "kernel": to_integers_attribute(window.taps),
        "strides": to_integers_attribute(window.strides),
        "padding": to_integers_attribute(window.padding),
        "dilation": to_integers_attribute(window.dilation),
    }


def build_window_rows_reduction(
    builder: Builder,
    images: StoredImages,
    window: Window,
    kind: ReduceKind,
    result: SSAValue,
    init: SSAValue | None = None,
    acc: Attribute | None = None,
) -> SSAValue:
    """
    Build the reduction of every window of stored images as a matrix, windows x
    channels, or as images x channels x windows, with the element type of `result`.
    16-bit floats accumulate in f32, in which kernels compute them.
    """
    fill = neutral_element_of(kind, element_type_of_value(images.value))
    taps = images.gather_taps(builder, window, fill)
    element = element_type_of_value(result)
    wide = accumulator_type_of(element)
    if init is not None or acc is not None or wide == element:
        reduced = ReduceOp(
            taps, kind, [images.tap_axis], init=init, acc=acc, element=element
        )
        return builder.insert(reduced).result
    total = ReduceOp(taps, kind, [images.tap_axis], acc=wide, element=wide)
    return builder.insert(CastOp(builder.insert(total).result, element)).result


def build_window_reduction(
    builder: Builder,
    images: SSAValue,
    window: Window,
    kind: ReduceKind,
    element: Attribute,
    init: SSAValue | None = None,
    acc: Attribute | None = None,
) -> SSAValue:
    """
    Build an unfold of `images` and the reduction of each window, combined with `init`
    if given; return the result of the reduction.
    """
    unfolded = window.build_unfold(
        images, neutral_element_of(kind, element_type_of_value(images))
    )
    taps = range(2, 2 + window.rank)
    reduced = ReduceOp(
        builder.insert(unfolded), kind, taps, init=init, acc=acc, element=element
    )
    return builder.insert(reduced).result
