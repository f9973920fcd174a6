"""Two-dimensional convolution."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.irdl import irdl_op_definition, prop_def
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.access import Access, Accesses
from tlf.dialects.graph.contraction import ContractionOperation, ContractOp
from tlf.dialects.graph.movement import ReshapeOp
from tlf.dialects.graph.tensors import (
    axes_attribute,
    element_of,
    result_type,
    shape_of,
    shape_text,
)
from tlf.dialects.graph.window import Window
from tlf.dialects.interfaces import (
    Array,
    Iterator,
    WindowInterface,
    parallel,
    reduction,
)


def _result_shape(
    images: Sequence[int], filters: Sequence[int], window: Window, groups: int
) -> tuple[int, ...]:
    """The shape of a convolution, or an error where the operands do not fit."""
    window.verify()
    if groups < 1:
        raise VerifyException(
            f"expected a number of at least 1 for groups, got {groups}"
        )
    if images[1] != filters[1] * groups:
        raise VerifyException(
            f"expected images of {filters[1] * groups} channels, "
            f"{groups} times those of a filter, got {images[1]}"
        )
    if filters[0] % groups:
        raise VerifyException(
            f"expected as many filters for each of {groups} groups, got {filters[0]}"
        )
    return (images[0], filters[0], *window.extents(images))


def _taps(images: Sequence[int], filters: Sequence[int]) -> tuple[int, ...]:
    """The rows and columns of filters."""
    if len(images) != 4 or len(filters) != 4:
        raise VerifyException(
            "expected images and filters of rank 4, "
            f"got {shape_text(images)} and {shape_text(filters)}"
        )
    return tuple(filters[2:])


@irdl_op_definition
class Conv2dOp(ContractionOperation, WindowInterface):
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
        images, filters = shape_of(inputs[0]), shape_of(inputs[1])
        taps = _taps(images, filters)
        window = Window(taps, tuple(strides), tuple(padding), tuple(dilation))
        shape = _result_shape(images, filters, window, groups)
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
            _taps(shape_of(self.lhs), shape_of(self.rhs)),
            tuple(self.strides.get_values()),
            tuple(self.padding.get_values()),
            tuple(self.dilation.get_values()),
        )

    @property
    def group_count(self) -> int:
        """How many runs channels and filters fall into."""
        return self.groups.value.data

    def inferred_shape(self) -> tuple[int, ...]:
        images, filters = shape_of(self.lhs), shape_of(self.rhs)
        return _result_shape(images, filters, self.window, self.group_count)

    def iterators(self) -> tuple[Iterator, ...]:
        images, _, rows, columns = shape_of(self.result)
        filters, channels, *taps = shape_of(self.rhs)
        groups = self.group_count
        per_group = (groups, filters // groups) if groups > 1 else (filters,)
        kept = (images, *per_group, rows, columns)
        return (*map(parallel, kept), *map(reduction, (channels, *taps)))

    def operand_accesses(self) -> tuple[Accesses, ...]:
        first = len(self.iterators()) - 5
        row, column, channel, *taps = range(first, first + 5)
        per_group = shape_of(self.rhs)[1]
        of_group = ((1, per_group),) if self.group_count > 1 else ()
        images = (
            Access.of(0),
            Access((*of_group, *self._term(channel))),
            *self.window.accesses((row, column), taps),
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
        groups = self.group_count
        if groups == 1:
            return Access.of(1)
        return Access(((1, shape_of(self.rhs)[0] // groups), *self._term(2)))

    def _term(self, iterator: int) -> tuple[tuple[int, int], ...]:
        """What an iterator adds to an index: nothing if it only ever is 0."""
        return () if self.iterators()[iterator].extent == 1 else ((iterator, 1),)

    def untileable(self) -> dict[int, str]:
        groups = self.group_count
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
        window, groups = self.window, self.group_count
        top, left, bottom, right = window.padding
        padded = np.pad(lhs, ((0, 0), (0, 0), (top, bottom), (left, right)))
        count, _, rows, columns = shape_of(self.result)
        filters = rhs.reshape(groups, -1, *rhs.shape[1:])
        total = np.zeros((count, groups, filters.shape[1], rows * columns), lhs.dtype)
        for tap in np.ndindex(*rhs.shape[2:]):
            seen = padded[:, :, *window.slices(tap, (rows, columns))]
            grouped = seen.reshape(count, groups, rhs.shape[1], rows * columns)
            total += np.matmul(filters[:, :, :, *tap], grouped)
        return total.reshape(shape_of(self.result))

    def without_windows(self, builder: Builder) -> Sequence[SSAValue]:
        """A contraction of the unfolded images; of the images themselves if 1x1."""
        groups, point = self.group_count, self.window.is_point
        images, filters = self.lhs, self.rhs
        if not point:
            unfolded = self.window.unfolded(images, 0, groups)
            images = builder.insert(unfolded).result
        elif groups > 1:
            images = _split(builder, images, 1, groups)
        if point:
            shape = shape_of(filters)[:2]
            filters = builder.insert(ReshapeOp(filters, shape)).result
        init = self.init
        if groups > 1:
            filters = _split(builder, filters, 0, groups)
            init = None if init is None else _split(builder, init, 1, groups)
        contraction = ContractOp(
            images,
            filters,
            _maps(point, groups > 1),
            init,
            self.acc,
            self.precision,
            element_of(self.result),
        )
        total = builder.insert(contraction).result
        if total.type == self.result.type:
            return [total]
        merged = ReshapeOp.create(operands=[total], result_types=self.result_types)
        return builder.insert(merged).results


def _split(builder: Builder, value: SSAValue, axis: int, groups: int) -> SSAValue:
    """A tensor with an axis split into groups."""
    shape = shape_of(value)
    split = (*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :])
    return builder.insert(ReshapeOp(value, split)).result


def _maps(point: bool, grouped: bool) -> list[AffineMap]:
    """
    The maps of images, filters and result, over images, groups, filters, rows, columns,
    channels, and the rows and columns of filters.
    """
    group, taps = [1] if grouped else [], [] if point else [6, 7]
    axes = [
        [0, *group, 5, *taps, 3, 4],
        [*group, 2, 5, *taps],
        [0, *group, 2, 3, 4],
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
