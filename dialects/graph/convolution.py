"""Two-dimensional convolution."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from xdsl.builder import Builder
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, prop_def

from tlf.dialects.graph.contraction import ContractionOperation
from tlf.dialects.graph.correlation import Correlation, taps_of
from tlf.dialects.graph.tensors import (
    axes_attribute,
    element_of,
    result_type,
    shape_of,
)
from tlf.dialects.graph.window import IMAGE_AXES, Window, padding_of
from tlf.dialects.interfaces import (
    Array,
    Iterator,
    WindowInterface,
    parallel,
    reduction,
)
from tlf.dialects.padded import PaddedInterface
from tlf.support.affine.access import Access, Accesses


@irdl_op_definition
class Conv2dOp(ContractionOperation, PaddedInterface, WindowInterface):
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
        taps = taps_of(images, filters, 2)
        window = Window(taps, tuple(strides), tuple(padding), tuple(dilation))
        shape = Correlation(window, groups).shape(images, filters)
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
        """Sliding windows of filters over images."""
        return Window(
            taps_of(shape_of(self.lhs), shape_of(self.rhs), 2),
            tuple(self.strides.get_values()),
            tuple(self.padding.get_values()),
            tuple(self.dilation.get_values()),
        )

    @property
    def group_count(self) -> int:
        """Number of groups of channels and filters."""
        return self.groups.value.data

    @property
    def correlation(self) -> Correlation:
        """Correlation of images with filters."""
        return Correlation(self.window, self.group_count)

    def inferred_shape(self) -> tuple[int, ...]:
        return self.correlation.shape(shape_of(self.lhs), shape_of(self.rhs))

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
        """
        Return the term of an iterator in an index; empty if the iterator is always 0.
        """
        return () if self.iterators()[iterator].extent == 1 else ((iterator, 1),)

    def untileable(self) -> dict[int, str]:
        groups = self.group_count
        if groups == 1:
            return {}
        reason = f"a tile of several of the {groups} groups must hold whole ones"
        extents = [iterator.extent for iterator in self.iterators()]
        return {each: reason for each in (2, 5) if extents[each] > 1}

    def padded_axes(self) -> Collection[int]:
        return IMAGE_AXES

    def tiled_padded(
        self,
        operands: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        outside: Sequence[tuple[int, int]],
    ) -> Operation:
        images, filters = (shape_of(operand) for operand in operands[:2])
        inside = {
            "padding": padding_of(outside),
            "groups": IntegerAttr(images[1] // filters[1], i64),
        }
        return Conv2dOp.create(
            operands=operands,
            result_types=result_types,
            properties=dict(self.properties) | inside,
            attributes=dict(self.attributes),
        )

    def multiply(self, lhs: Array, rhs: Array) -> Array:
        return self.correlation.compute(lhs, rhs)

    def without_windows(self, builder: Builder) -> Sequence[SSAValue]:
        """A contraction of the unfolded images; of the images themselves if 1x1."""
        return [
            self.correlation.contraction(
                builder,
                self.lhs,
                self.rhs,
                self.result,
                self.init,
                self.acc,
                self.precision,
            )
        ]
