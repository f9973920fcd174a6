"""Operation `graph.conv2d`: two-dimensional convolution."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from xdsl.builder import Builder
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, prop_def

from tlf.dialects.graph.contraction import ContractionOperation
from tlf.dialects.graph.correlation import (
    Correlation,
    filter_tap_extents,
)
from tlf.dialects.graph.correlation_rows import CorrelationRowsInterface
from tlf.dialects.graph.image_windows import IMAGE_AXES, Window, to_padding_property
from tlf.dialects.graph.tensor_types import (
    element_type_of_value,
    infer_result_type,
    shape_of,
    to_integers_attribute,
)
from tlf.dialects.interfaces import (
    Array,
    LoopDim,
    WindowInterface,
    parallel_dim,
    reduction_dim,
)
from tlf.dialects.padding_interface import PaddingInterface
from tlf.support.affine.index_access import Accesses, IndexAccess


@irdl_op_definition
class Conv2dOp(
    ContractionOperation, PaddingInterface, WindowInterface, CorrelationRowsInterface
):
    """
    Two-dimensional convolution: correlation of each image of `lhs`, N x C x H x W, with
    the filters `rhs`, F x C/groups x KH x KW.

    `padding` is the number of zero rows and columns around an image: top, left, bottom,
    right. Channels and filters are split into `groups` runs of equal length; filters
    read the channels of the run with the same index.

    ```mlir
    %y = graph.conv2d %x, %w strides [2, 2] padding [1, 1, 1, 1] acc f32
        : (tensor<1x8x9x9xbf16>, tensor<16x8x3x3xbf16>) -> tensor<1x16x5x5xbf16>
    ```
    """

    name = "graph.conv2d"

    strides = prop_def(
        DenseArrayBase.constr(i64), default_value=to_integers_attribute((1, 1))
    )
    padding = prop_def(
        DenseArrayBase.constr(i64), default_value=to_integers_attribute((0, 0, 0, 0))
    )
    dilation = prop_def(
        DenseArrayBase.constr(i64), default_value=to_integers_attribute((1, 1))
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
        taps = filter_tap_extents(images, filters, 2)
        window = Window(taps, tuple(strides), tuple(padding), tuple(dilation))
        shape = Correlation(window, groups).infer_result_shape(images, filters)
        result_element = (
            element_type_of_value(inputs[0]) if element is None else element
        )
        type_ = (
            infer_result_type(inputs, shape, result_element)
            if init is None
            else SSAValue.get(init).type
        )
        super().__init__(
            operands=[*inputs, init],
            properties={
                "strides": to_integers_attribute(strides),
                "padding": to_integers_attribute(padding),
                "dilation": to_integers_attribute(dilation),
                "groups": IntegerAttr(groups, i64),
                "acc": acc,
                "precision": StringAttr(precision),
            },
            result_types=[type_],
        )

    @property
    def window(self) -> Window:
        """
        Geometry of the sliding windows: filter taps, strides, padding and dilation.
        """
        return Window(
            filter_tap_extents(shape_of(self.lhs), shape_of(self.rhs), 2),
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

    def infer_result_shape(self) -> tuple[int, ...]:
        return self.correlation.infer_result_shape(
            shape_of(self.lhs), shape_of(self.rhs)
        )

    def iteration_domain(self) -> tuple[LoopDim, ...]:
        images, _, rows, columns = shape_of(self.result)
        filters, channels, *taps = shape_of(self.rhs)
        groups = self.group_count
        per_group = (groups, filters // groups) if groups > 1 else (filters,)
        parallel = (images, *per_group, rows, columns)
        return (*map(parallel_dim, parallel), *map(reduction_dim, (channels, *taps)))

    def indexing_maps(self) -> tuple[Accesses, ...]:
        first = len(self.iteration_domain()) - 5
        row, column, channel, *taps = range(first, first + 5)
        per_group = shape_of(self.rhs)[1]
        group_term = ((1, per_group),) if self.group_count > 1 else ()
        images = (
            IndexAccess.of_iterator(0),
            IndexAccess((*group_term, *self._index_term_of_iterator(channel))),
            *self.window.image_accesses((row, column), taps),
        )
        filters = (
            self._filter_channel_access(),
            *(
                IndexAccess(self._index_term_of_iterator(axis))
                for axis in (channel, *taps)
            ),
        )
        return (images, filters, *self.result_indexing_maps())[: len(self.operands)]

    def result_indexing_maps(self) -> tuple[Accesses, ...]:
        row = len(self.iteration_domain()) - 5
        spatial = (IndexAccess.of_iterator(row), IndexAccess.of_iterator(row + 1))
        return ((IndexAccess.of_iterator(0), self._filter_channel_access(), *spatial),)

    def _filter_channel_access(self) -> IndexAccess:
        """
        Return the access along the axis of filters: `group * (F / groups) + filter`, or
        one iterator without groups.
        """
        groups = self.group_count
        if groups == 1:
            return IndexAccess.of_iterator(1)
        return IndexAccess(
            ((1, shape_of(self.rhs)[0] // groups), *self._index_term_of_iterator(2))
        )

    def _index_term_of_iterator(self, iterator: int) -> tuple[tuple[int, int], ...]:
        """
        Return the term of an iterator in an index; empty if the iterator is always 0.
        """
        return () if self.iteration_domain()[iterator].extent == 1 else ((iterator, 1),)

    def untileable_dims(self) -> dict[int, str]:
        """
        Return the filter and channel dimensions of a grouped convolution, with the
        reason; nothing if there is one group.
        """
        groups = self.group_count
        if groups == 1:
            return {}
        reason = f"a tile of several of the {groups} groups must hold whole ones"
        extents = [iterator.extent for iterator in self.iteration_domain()]
        return {each: reason for each in (2, 5) if extents[each] > 1}

    def implicitly_padded_axes(self) -> Collection[int]:
        return IMAGE_AXES

    def padded_tiled_implementation(
        self,
        operands: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        padding_counts: Sequence[tuple[int, int]],
    ) -> Operation:
        """
        Build the convolution on tiles, with the padding `padding_counts` and the number
        of groups in the tiles.
        """
        images, filters = (shape_of(operand) for operand in operands[:2])
        inside = {
            "padding": to_padding_property(padding_counts),
            "groups": IntegerAttr(images[1] // filters[1], i64),
        }
        return Conv2dOp.create(
            operands=operands,
            result_types=result_types,
            properties=dict(self.properties) | inside,
            attributes=dict(self.attributes),
        )

    def contract_operand_arrays(self, lhs: Array, rhs: Array) -> Array:
        return self.correlation.correlate_arrays(lhs, rhs)

    def decompose_windows(self, builder: Builder) -> Sequence[SSAValue]:
        """Build a contraction of the unfolded images, or of the images if 1x1."""
        return [
            self.correlation.build_contraction(
                builder,
                self.lhs,
                self.rhs,
                self.result,
                self.init,
                self.acc,
                self.precision,
            )
        ]
