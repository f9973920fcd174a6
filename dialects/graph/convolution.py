"""Two-dimensional convolution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, prop_def
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.access import Access, Accesses
from tlf.dialects.graph.contraction import ContractionOperation
from tlf.dialects.graph.tensors import (
    axes_attribute,
    element_of,
    result_type,
    shape_of,
    shape_text,
)
from tlf.dialects.interfaces import Array, Iterator, parallel, reduction


@dataclass(frozen=True)
class Window:
    """
    How filters move over images. `padding` is top, left, bottom, right.
    """

    strides: tuple[int, ...] = (1, 1)
    padding: tuple[int, ...] = (0, 0, 0, 0)
    dilation: tuple[int, ...] = (1, 1)
    groups: int = 1

    def verify(self) -> None:
        """Check the numbers by themselves."""
        checks = (
            ("strides", self.strides, 2, 1),
            ("padding", self.padding, 4, 0),
            ("dilation", self.dilation, 2, 1),
            ("groups", (self.groups,), 1, 1),
        )
        for what, numbers, count, least in checks:
            if len(numbers) != count or min(numbers) < least:
                found = list(numbers) if count > 1 else numbers[0]
                number = f"{count} numbers" if count > 1 else "a number"
                raise VerifyException(
                    f"expected {number} of at least {least} for {what}, got {found}"
                )

    def result_shape(
        self, images: Sequence[int], filters: Sequence[int]
    ) -> tuple[int, ...]:
        """The shape of the result, or an error where the operands do not fit."""
        self.verify()
        if len(images) != 4 or len(filters) != 4:
            raise VerifyException(
                "expected images and filters of rank 4, "
                f"got {shape_text(images)} and {shape_text(filters)}"
            )
        if images[1] != filters[1] * self.groups:
            raise VerifyException(
                f"expected images of {filters[1] * self.groups} channels, "
                f"{self.groups} times those of a filter, got {images[1]}"
            )
        if filters[0] % self.groups:
            raise VerifyException(
                f"expected as many filters for each of {self.groups} groups, "
                f"got {filters[0]}"
            )
        rows, columns = (self._extent(axis, images, filters) for axis in range(2))
        return (images[0], filters[0], rows, columns)

    def _extent(self, axis: int, images: Sequence[int], filters: Sequence[int]) -> int:
        padded = images[2 + axis] + self.padding[axis] + self.padding[2 + axis]
        span = self.dilation[axis] * (filters[2 + axis] - 1) + 1
        if padded < span:
            raise VerifyException(
                f"expected a padded image of at least {span} along axis {2 + axis}, "
                f"got {padded}"
            )
        return (padded - span) // self.strides[axis] + 1


@irdl_op_definition
class Conv2dOp(ContractionOperation):
    """
    Correlate each image of `lhs`, N x C x H x W, with the filters `rhs`,
    F x C/groups x KH x KW.

    `padding` counts the zero rows and columns around an image: top, left, bottom,
    right. Channels and filters fall into `groups` runs of equal length; filters see the
    channels of the run with their number.

    ```mlir
    %y = graph.conv2d %x, %w strides [2, 2] padding [1, 1, 1, 1] acc f32
        : (tensor<1x8x9x9xbf16>, tensor<16x8x3x3xbf16>) -> tensor<1x16x5x5xbf16>
    ```
    """

    name = "graph.conv2d"

    strides = prop_def(DenseArrayBase.constr(i64), default_value=axes_attribute((1, 1)))
    padding = prop_def(
        DenseArrayBase.constr(i64), default_value=axes_attribute((0, 0, 0, 0))
    )
    dilation = prop_def(
        DenseArrayBase.constr(i64), default_value=axes_attribute((1, 1))
    )
    groups = prop_def(IntegerAttr.constr(i64), default_value=IntegerAttr(1, i64))

    assembly_format = (
        "$lhs `,` $rhs (`init` $init^)? (`strides` $strides^)? (`padding` $padding^)?"
        " (`dilation` $dilation^)? (`groups` $groups^)? (`acc` $acc^)?"
        " (`precision` $precision^)? attr-dict"
        " `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        lhs: SSAValue | Operation,
        rhs: SSAValue | Operation,
        init: SSAValue | Operation | None = None,
        strides: Sequence[int] = (1, 1),
        padding: Sequence[int] = (0, 0, 0, 0),
        dilation: Sequence[int] = (1, 1),
        groups: int = 1,
        acc: Attribute | None = None,
        precision: str = "ieee",
        element: Attribute | None = None,
    ):
        inputs = [SSAValue.get(lhs), SSAValue.get(rhs)]
        window = Window(tuple(strides), tuple(padding), tuple(dilation), groups)
        shape = window.result_shape(shape_of(inputs[0]), shape_of(inputs[1]))
        wanted = element_of(inputs[0]) if element is None else element
        type_ = (
            result_type(inputs, shape, wanted)
            if init is None
            else SSAValue.get(init).type
        )
        super().__init__(
            operands=[*inputs, init],
            properties={
                "strides": axes_attribute(strides),
                "padding": axes_attribute(padding),
                "dilation": axes_attribute(dilation),
                "groups": IntegerAttr(groups, i64),
                "acc": acc,
                "precision": StringAttr(precision),
            },
            result_types=[type_],
        )

    @property
    def window(self) -> Window:
        """How filters move over images."""
        return Window(
            tuple(self.strides.get_values()),
            tuple(self.padding.get_values()),
            tuple(self.dilation.get_values()),
            self.groups.value.data,
        )

    def inferred_shape(self) -> tuple[int, ...]:
        return self.window.result_shape(shape_of(self.lhs), shape_of(self.rhs))

    def iterators(self) -> tuple[Iterator, ...]:
        images, _, rows, columns = shape_of(self.result)
        filters, channels, *taps = shape_of(self.rhs)
        groups = self.window.groups
        per_group = (groups, filters // groups) if groups > 1 else (filters,)
        kept = (images, *per_group, rows, columns)
        return (*map(parallel, kept), *map(reduction, (channels, *taps)))

    def operand_accesses(self) -> tuple[Accesses, ...]:
        window = self.window
        first = len(self.iterators()) - 5
        row, column, channel, *taps = range(first, first + 5)
        per_group = shape_of(self.rhs)[1]
        of_group = ((1, per_group),) if window.groups > 1 else ()
        spatial = (
            Access(
                ((position, stride), *self._term(tap, dilation)),
                offset=-padding,
            )
            for position, stride, tap, dilation, padding in zip(
                (row, column),
                window.strides,
                taps,
                window.dilation,
                window.padding,
                strict=False,
            )
        )
        images = (
            Access.of(0),
            Access((*of_group, *self._term(channel))),
            *spatial,
        )
        filters = (
            self._filter_access(),
            *(Access(self._term(axis)) for axis in (channel, *taps)),
        )
        return (images, filters, *self.result_accesses())[: len(self.operands)]

    def result_accesses(self) -> tuple[Accesses, ...]:
        row = len(self.iterators()) - 5
        spatial = (Access.of(row), Access.of(row + 1))
        return ((Access.of(0), self._filter_access(), *spatial),)

    def _filter_access(self) -> Access:
        groups = self.window.groups
        if groups == 1:
            return Access.of(1)
        return Access(((1, shape_of(self.rhs)[0] // groups), *self._term(2)))

    def _term(self, iterator: int, coefficient: int = 1) -> tuple[tuple[int, int], ...]:
        """What an iterator adds to an index: nothing if it only ever is 0."""
        single = self.iterators()[iterator].extent == 1
        return () if single else ((iterator, coefficient),)

    def untileable(self) -> dict[int, str]:
        groups = self.window.groups
        if groups == 1:
            return {}
        reason = f"a tile of several of the {groups} groups must hold whole ones"
        extents = [iterator.extent for iterator in self.iterators()]
        return {each: reason for each in (2, 5) if extents[each] > 1}

    def tiled(
        self, operands: Sequence[SSAValue], result_types: Sequence[Attribute]
    ) -> Operation:
        images, filters = (shape_of(operand) for operand in operands[:2])
        inside = {
            "padding": axes_attribute((0, 0, 0, 0)),
            "groups": IntegerAttr(images[1] // filters[1], i64),
        }
        return Conv2dOp.create(
            operands=operands,
            result_types=result_types,
            properties=dict(self.properties) | inside,
            attributes=dict(self.attributes),
        )

    def multiply(self, lhs: Array, rhs: Array) -> Array:
        window = self.window
        top, left, bottom, right = window.padding
        padded = np.pad(lhs, ((0, 0), (0, 0), (top, bottom), (left, right)))
        count, _, rows, columns = shape_of(self.result)
        filters = rhs.reshape(window.groups, -1, *rhs.shape[1:])
        total = np.zeros(
            (count, window.groups, filters.shape[1], rows * columns), lhs.dtype
        )
        for tap in np.ndindex(*rhs.shape[2:]):
            seen = padded[:, :, *self._seen(tap, (rows, columns))]
            grouped = seen.reshape(count, window.groups, rhs.shape[1], rows * columns)
            total += np.matmul(filters[:, :, :, *tap], grouped)
        return total.reshape(shape_of(self.result))

    def _seen(self, tap: tuple[int, ...], extents: tuple[int, int]) -> list[slice]:
        """The rows and columns that one tap of the filters meets."""
        window = self.window
        return [
            slice(at * dilation, at * dilation + stride * (extent - 1) + 1, stride)
            for at, dilation, stride, extent in zip(
                tap, window.dilation, window.strides, extents, strict=True
            )
        ]
