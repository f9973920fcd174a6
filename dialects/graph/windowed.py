"""Base of poolings: windows of every channel of images, and their reduction."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import ClassVar

from xdsl.builder import Builder
from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, prop_def
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.graph.reduction import ReduceKind, ReduceOp, neutral_of
from tlf.dialects.graph.tensors import (
    axes_attribute,
    element_of,
    shape_text,
)
from tlf.dialects.graph.window import Window

ONES = axes_attribute((1, 1))
ZEROS = axes_attribute((0, 0, 0, 0))


class WindowedOperation(IRDLOperation, abc.ABC):
    """An operation on the windows of every channel of N x C x H x W images."""

    RANK: ClassVar[int] = 2
    """Number of axes that windows slide over."""

    kernel = prop_def(DenseArrayBase.constr(i64))
    strides = prop_def(DenseArrayBase.constr(i64), default_value=ONES)
    padding = prop_def(DenseArrayBase.constr(i64), default_value=ZEROS)
    dilation = prop_def(DenseArrayBase.constr(i64), default_value=ONES)

    @property
    def window(self) -> Window:
        """Sliding windows over images."""
        return Window(
            tuple(self.kernel.get_values()),
            tuple(self.strides.get_values()),
            tuple(self.padding.get_values()),
            tuple(self.dilation.get_values()),
        )

    @classmethod
    def new_window(
        cls,
        kernel: Sequence[int],
        strides: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
    ) -> Window:
        """A window; numbers that are left out are those that change nothing."""
        ones, zeros = (1,) * cls.RANK, (0,) * 2 * cls.RANK
        given = (kernel, strides or ones, padding or zeros, dilation or ones)
        return Window(*map(tuple, given))

    @classmethod
    def pooled_shape(cls, images: Sequence[int], window: Window) -> tuple[int, ...]:
        """The shape of pooled images, or an error where the window does not fit."""
        window.verify(cls.RANK)
        if len(images) != cls.RANK + 2:
            raise VerifyException(
                f"expected images of rank {cls.RANK + 2}, got {shape_text(images)}"
            )
        return (*images[:2], *window.extents(images))


class VolumeOperation(WindowedOperation, abc.ABC):
    """An operation on the windows of every channel of N x C x D x H x W images."""

    RANK: ClassVar[int] = 3

    strides = prop_def(
        DenseArrayBase.constr(i64), default_value=axes_attribute((1,) * 3)
    )
    padding = prop_def(
        DenseArrayBase.constr(i64), default_value=axes_attribute((0,) * 6)
    )
    dilation = prop_def(
        DenseArrayBase.constr(i64), default_value=axes_attribute((1,) * 3)
    )


def window_properties(window: Window) -> dict[str, Attribute]:
    """A window as properties of an operation."""
    return {
        "kernel": axes_attribute(window.taps),
        "strides": axes_attribute(window.strides),
        "padding": axes_attribute(window.padding),
        "dilation": axes_attribute(window.dilation),
    }


def reduced_windows(
    builder: Builder,
    images: SSAValue,
    window: Window,
    kind: ReduceKind,
    element: Attribute,
    init: SSAValue | None = None,
    acc: Attribute | None = None,
) -> SSAValue:
    """A reduction of the unfolded images."""
    unfolded = window.unfolded(images, neutral_of(kind, element_of(images)))
    taps = range(2, 2 + window.rank)
    reduced = ReduceOp(
        builder.insert(unfolded), kind, taps, init=init, acc=acc, element=element
    )
    return builder.insert(reduced).result
