"""Operation `graph.scatter`: scatter of updates into a tensor along an axis."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import auto

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import IntegerAttr, i1, i32, i64
from xdsl.ir import Attribute, Data, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from tlf.dialects.graph.canonicalizable import CanonicalizableOperation
from tlf.dialects.graph.indexing import INDEX_TYPES, TakeOp, verify_indices
from tlf.dialects.graph.logic import Relation
from tlf.dialects.graph.mask_builder import MaskBuilder, in_bounds_mask, with_extent
from tlf.dialects.graph.movement import BroadcastOp, ReshapeOp
from tlf.dialects.graph.padding import PadOp
from tlf.dialects.graph.reduction import ReduceKind, ReduceOp, neutral_element_of
from tlf.dialects.graph.tensor_types import (
    GraphTensor,
    element_of,
    format_shape,
    infer_result_type,
    promote_to_f32,
    round_to_type,
    shape_of,
    verify_axes,
    verify_element_type,
    verify_same_element_types,
    verify_shape,
)
from tlf.dialects.indexed_write_interface import IndexedWriteInterface
from tlf.dialects.interfaces import Array, DecompositionInterface
from tlf.dialects.keyword_params import parse_keyword_param
from tlf.dialects.value_check_interface import (
    ValueCheck,
    ValueCheckInterface,
    index_check,
)


class ScatterKind(StrEnum):
    """Combining operation of an update with the element at its index."""

    SET = auto()
    ADD = auto()
    MUL = auto()
    MAX = auto()
    MIN = auto()


def _replace_element(_: Array, update: Array) -> Array:
    return update


_UPDATE_FUNCTIONS: Mapping[ScatterKind, Callable[[Array, Array], Array]] = {
    ScatterKind.SET: _replace_element,
    ScatterKind.ADD: np.add,
    ScatterKind.MUL: np.multiply,
    ScatterKind.MAX: np.maximum,
    ScatterKind.MIN: np.minimum,
}

_REDUCE_KINDS: Mapping[ScatterKind, ReduceKind] = {
    ScatterKind.ADD: ReduceKind.SUM,
    ScatterKind.MUL: ReduceKind.PROD,
    ScatterKind.MAX: ReduceKind.MAX,
    ScatterKind.MIN: ReduceKind.MIN,
}


@irdl_attr_definition
class ScatterKindAttr(Data[ScatterKind]):
    """
    Combining operation of an update with the element at its index.

    ```mlir
    #graph.scatter_kind<add>
    ```
    """

    name = "graph.scatter_kind"

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.data)

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ScatterKind:
        return parse_keyword_param(parser, ScatterKind)


@irdl_op_definition
class ScatterOp(
    IRDLOperation,
    CanonicalizableOperation,
    DecompositionInterface,
    IndexedWriteInterface,
    ValueCheckInterface,
):
    """
    Scatter of updates into a tensor along an axis.

    An update is combined with the operand element at the position of the update, with
    the coordinate along `axis` replaced by its index. It replaces the element (`set`;
    of several updates, the last along the axis), or is combined with it by sum (`add`),
    product (`mul`), maximum (`max`) or minimum (`min`), NaN if either is NaN. Updates
    whose index is negative, or not less than the extent of the axis, are dropped. Along
    the other axes, updates may be shorter than the operand, and indices of extent 1
    broadcast to the updates. 16-bit floats are combined in f32 and rounded once.

    ```mlir
    %y = graph.scatter %x, %indices, %updates axis 1 <add>
        : (tensor<4x9xf32>, tensor<4x2xi64>, tensor<4x2xf32>) -> tensor<4x9xf32>
    ```
    """

    name = "graph.scatter"

    operand = operand_def(GraphTensor())
    indices = operand_def(GraphTensor(INDEX_TYPES))
    updates = operand_def(GraphTensor())
    axis = prop_def(IntegerAttr.constr(i64))
    kind = prop_def(ScatterKindAttr)
    result = result_def(GraphTensor())

    traits = traits_def(Pure())

    assembly_format = (
        "$operand `,` $indices `,` $updates `axis` $axis $kind attr-dict"
        " `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        operand: SSAValue | Operation,
        indices: SSAValue | Operation,
        updates: SSAValue | Operation,
        axis: int,
        kind: ScatterKind | str,
    ):
        values = [SSAValue.get(each) for each in (operand, indices, updates)]
        super().__init__(
            operands=values,
            properties={
                "axis": IntegerAttr(axis, i64),
                "kind": ScatterKindAttr(ScatterKind(kind)),
            },
            result_types=[
                infer_result_type(values, shape_of(values[0]), element_of(values[0]))
            ],
        )

    def verify_(self) -> None:
        shape, axis = shape_of(self.operand), self.axis.value.data
        verify_axes([axis], len(shape))
        verify_indices(self.indices, shape, axis)
        self._verify_updates()
        verify_same_element_types([self.operand, self.updates])
        verify_shape(self.result, shape)
        verify_element_type(self.result, element_of(self.operand))
        if self.kind.data is ScatterKind.ADD and element_of(self.operand) == i1:
            raise VerifyException("expected numbers to add, got i1")

    def build_value_checks(self, builder: Builder) -> Sequence[ValueCheck]:
        last = shape_of(self.operand)[self.axis.value.data] - 1
        return (index_check(self.indices, 0, last),)

    def _verify_updates(self) -> None:
        """Check that indices broadcast to the updates, and updates fit the operand."""
        update_shape, index_shape = shape_of(self.updates), shape_of(self.indices)
        limits = with_extent(shape_of(self.operand), self.axis.value.data, 0)
        fits = len(update_shape) == len(index_shape) and all(
            extent == count or (count == 1 and 0 < extent <= limit)
            for extent, count, limit in zip(
                update_shape, index_shape, limits, strict=True
            )
        )
        if not fits:
            raise VerifyException(
                f"expected updates of shape {format_shape(index_shape)}, "
                f"got {format_shape(update_shape)}"
            )

    @property
    def written_axis(self) -> int:
        return self.axis.value.data

    @property
    def is_scatter_add(self) -> bool | None:
        return {ScatterKind.SET: False, ScatterKind.ADD: True}.get(self.kind.data)

    def build_with_element_type(
        self, builder: Builder, element: Attribute
    ) -> Sequence[SSAValue]:
        program, kind = MaskBuilder(builder), self.kind.data
        start = program.cast(self.operand, element)
        updates = program.cast(self.updates, element)
        scatter = ScatterOp(start, self.indices, updates, self.written_axis, kind)
        return [program.to_result_type(program.insert(scatter), self.result.type)]

    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        array, indices, updates = operands
        indices = np.broadcast_to(indices, updates.shape)
        axis, combine = self.axis.value.data, _UPDATE_FUNCTIONS[self.kind.data]
        total, updates = promote_to_f32(array).copy(), promote_to_f32(updates)
        extent = array.shape[axis]
        view = total[tuple(map(slice, with_extent(indices.shape, axis, extent)))]
        in_bounds = in_bounds_mask(indices, extent)
        positions = np.where(in_bounds, indices, 0).astype(np.int64)
        with np.errstate(all="ignore"):
            for step in range(indices.shape[axis]):
                current = (slice(None),) * axis + (slice(step, step + 1),)
                old = np.take_along_axis(view, positions[current], axis)
                new = np.where(in_bounds[current], combine(old, updates[current]), old)
                np.put_along_axis(view, positions[current], new, axis)
        return (round_to_type(total, element_of(self.result)),)

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        """
        Build a masked reduction over the axis of the updates, which directly follows
        the axis of the operand. If each index addresses a whole slice, the mask has one
        element per slice, and `set` takes slices of the updates.
        """
        program, axis = MaskBuilder(builder), self.axis.value.data
        shape, count = shape_of(self.operand), shape_of(self.indices)[axis]
        start = program.promote_boolean(self.operand)
        updates = self._pad_to_operand(
            program, program.promote_boolean(self.updates), 0
        )
        updates = program.insert_unit_axes(updates, axis)
        slice_indices = self._slice_indices()
        indices = slice_indices
        if indices is None:
            indices = self._pad_to_operand(
                program, self._broadcast_indices(program), -1
            )
        indices = program.insert_unit_axes(indices, axis)
        trailing = len(shape) - axis
        positions = program.axis_indices(shape[axis], trailing, element_of(indices))
        mask = program.compare(indices, positions, Relation.EQ)
        if self.kind.data is not ScatterKind.SET:
            total = self._combine_updates(program, mask, start, updates)
            return [program.to_result_type(total, self.result.type)]
        steps = program.axis_indices(count, trailing - 1)
        last_step = program.insert(
            ReduceOp(
                program.select(mask, steps, program.constant(-1, i32)),
                ReduceKind.MAX,
                [axis + 1],
                keepdims=True,
            )
        )
        if slice_indices is not None:
            last_updates = program.insert(ReshapeOp(last_step, (shape[axis],)))
            replacement = program.promote_boolean(
                program.insert(TakeOp(self.updates, last_updates, axis))
            )
        else:
            mask = program.compare(last_step, steps, Relation.EQ)
            replacement = program.extract_where(mask, updates, axis + 1)
        last_step = program.insert(
            ReshapeOp(last_step, _drop_axis(shape_of(last_step), axis + 1))
        )
        is_updated = program.compare(last_step, program.constant(0, i32), Relation.GE)
        return [
            program.to_result_type(
                program.select(is_updated, replacement, start), self.result.type
            )
        ]

    def _slice_indices(self) -> SSAValue | None:
        """Return the indices if each addresses a whole slice of the operand."""
        axis, shape = self.axis.value.data, shape_of(self.indices)
        wanted = with_extent(shape_of(self.operand), axis, shape[axis])
        is_whole = shape_of(self.updates) == wanted
        ones = with_extent((1,) * len(shape), axis, shape[axis])
        return self.indices if is_whole and shape == ones else None

    def _broadcast_indices(self, program: MaskBuilder) -> SSAValue:
        """Broadcast the indices to the shape of the updates."""
        shape = shape_of(self.updates)
        if shape_of(self.indices) == shape:
            return self.indices
        return program.insert(BroadcastOp(self.indices, shape))

    def _pad_to_operand(
        self, program: MaskBuilder, value: SSAValue, fill: int
    ) -> SSAValue:
        """Pad a value to the operand's extents along the other axes."""
        shape, axis = shape_of(value), self.axis.value.data
        wanted = with_extent(shape_of(self.operand), axis, shape[axis])
        if shape == wanted:
            return value
        high = [most - extent for most, extent in zip(wanted, shape, strict=True)]
        return program.insert(PadOp(value, [0] * len(shape), high, fill))

    def _combine_updates(
        self,
        program: MaskBuilder,
        chosen: SSAValue,
        start: SSAValue,
        updates: SSAValue,
    ) -> SSAValue:
        """Build the combination of `start` with the masked updates of each element."""
        kind, element = _REDUCE_KINDS[self.kind.data], element_of(updates)
        neutral = program.constant(neutral_element_of(kind, element), element)
        chosen = program.select(chosen, updates, neutral)
        axis = self.axis.value.data + 1
        return program.insert(ReduceOp(chosen, kind, [axis], init=start))


def _drop_axis(shape: Sequence[int], axis: int) -> tuple[int, ...]:
    """Return the shape without an axis."""
    return (*shape[:axis], *shape[axis + 1 :])
