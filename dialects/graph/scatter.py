"""Operation `graph.scatter`: scatter of updates into a tensor along an axis."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import auto

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import IntegerAttr, TensorType, UnitAttr, f32, i1, i32, i64
from xdsl.ir import Attribute, Data, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from tlf.dialects.combining_kind import (
    COMBINABLE_TYPES,
    CombiningKind,
    verify_combinable_element_type,
)
from tlf.dialects.graph.canonicalizable import CanonicalizableOperation
from tlf.dialects.graph.comparison_and_logic import Relation
from tlf.dialects.graph.constant import ConstantOp
from tlf.dialects.graph.elementwise import MaximumOp, MinimumOp
from tlf.dialects.graph.iota import IotaOp
from tlf.dialects.graph.mask_builder import (
    MaskBuilder,
    compute_in_bounds_mask_array,
    replace_axis_extent,
)
from tlf.dialects.graph.movement import BroadcastOp, ReshapeOp
from tlf.dialects.graph.padding import PadOp
from tlf.dialects.graph.reduction import ReduceKind, ReduceOp, neutral_element_of
from tlf.dialects.graph.take_and_gather import (
    INDEX_TYPES,
    GatherOp,
    TakeOp,
    verify_index_extents,
)
from tlf.dialects.graph.tensor_types import (
    GraphTensorConstraint,
    element_type_of_value,
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
from tlf.dialects.indexed_write_interface import (
    CombinedWrites,
    IndexedWriteInterface,
)
from tlf.dialects.interfaces import Array, DecompositionInterface
from tlf.dialects.keyword_params import parse_keyword_param
from tlf.dialects.types import accumulator_type_of, is_16_bit_float, is_float
from tlf.dialects.value_check_interface import (
    ValueCheck,
    ValueCheckInterface,
    make_index_check,
)


class ScatterKind(StrEnum):
    """Combining operation of an update with the element at its index."""

    SET = auto()
    ADD = auto()
    MUL = auto()
    MAX = auto()
    MIN = auto()


def _replace_element_by_update(_: Array, update: Array) -> Array:
    return update


_UPDATE_FUNCTIONS: Mapping[ScatterKind, Callable[[Array, Array], Array]] = {
    ScatterKind.SET: _replace_element_by_update,
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

_COMBINING_KINDS: Mapping[ScatterKind, CombiningKind] = {
    ScatterKind.ADD: CombiningKind.ADD,
    ScatterKind.MAX: CombiningKind.MAX,
    ScatterKind.MIN: CombiningKind.MIN,
}
"""Kinds whose updates can be combined in any order."""


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
    Copy of a tensor with updates scattered into it along an axis.

    An update is combined with the operand element at the position of the update, with
    the coordinate along `axis` replaced by its index. It replaces the element (`set`;
    of several updates, the last along the axis), or is combined with it by sum (`add`),
    product (`mul`), maximum (`max`) or minimum (`min`), NaN if either is NaN. Updates
    whose index is negative, or not less than the extent of the axis, are dropped. Along
    the other axes, updates may be shorter than the operand, and indices of extent 1
    broadcast to the updates. 16-bit floats are combined in f32 and rounded once.

    With `combined`, sums and extrema of f32, i32 or i64 are combined in memory, in any
    order; updates of f32 may be 16-bit floats. The operand of extrema of f32 must not
    be NaN.

    ```mlir
    %y = graph.scatter %x, %indices, %updates axis 1 <add>
        : (tensor<4x9xf32>, tensor<4x2xi64>, tensor<4x2xf32>) -> tensor<4x9xf32>
    ```
    """

    name = "graph.scatter"

    operand = operand_def(GraphTensorConstraint())
    indices = operand_def(GraphTensorConstraint(INDEX_TYPES))
    updates = operand_def(GraphTensorConstraint())
    axis = prop_def(IntegerAttr.constr(i64))
    kind = prop_def(ScatterKindAttr)
    combined = opt_prop_def(UnitAttr)
    result = result_def(GraphTensorConstraint())

    traits = traits_def(Pure())

    assembly_format = (
        "$operand `,` $indices `,` $updates `axis` $axis $kind"
        " (`combined` $combined^)? attr-dict"
        " `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        operand: SSAValue | Operation,
        indices: SSAValue | Operation,
        updates: SSAValue | Operation,
        axis: int,
        kind: ScatterKind | str,
        combined: bool = False,
    ):
        values = [SSAValue.get(each) for each in (operand, indices, updates)]
        super().__init__(
            operands=values,
            properties={
                "axis": IntegerAttr(axis, i64),
                "kind": ScatterKindAttr(ScatterKind(kind)),
                "combined": UnitAttr() if combined else None,
            },
            result_types=[
                infer_result_type(
                    values, shape_of(values[0]), element_type_of_value(values[0])
                )
            ],
        )

    def verify_(self) -> None:
        shape, axis = shape_of(self.operand), self.axis.value.data
        verify_axes([axis], len(shape))
        verify_index_extents(self.indices, shape, axis)
        self._verify_updates()
        self._verify_update_type()
        verify_shape(self.result, shape)
        verify_element_type(self.result, element_type_of_value(self.operand))
        if (
            self.kind.data is ScatterKind.ADD
            and element_type_of_value(self.operand) == i1
        ):
            raise VerifyException("expected numbers to add, got i1")
        if self.combined is not None:
            self._verify_is_combinable()

    def _verify_update_type(self) -> None:
        """
        Check that updates have the element type of the operand, or are 16-bit floats
        that are combined in f32.
        """
        update_type = element_type_of_value(self.updates)
        is_widened = is_16_bit_float(update_type) and self._element_type == f32
        if self.combined is None or not is_widened:
            verify_same_element_types([self.operand, self.updates])

    def _verify_is_combinable(self) -> None:
        """Check that the updates can be combined in memory, in any order."""
        verify_combinable_element_type(self._element_type)
        if self.kind.data not in _COMBINING_KINDS:
            raise VerifyException(
                f"expected a sum or an extremum to combine, got {self.kind.data}"
            )

    def build_value_checks(self, builder: Builder) -> Sequence[ValueCheck]:
        last = shape_of(self.operand)[self.axis.value.data] - 1
        return (make_index_check(self.indices, 0, last),)

    def _verify_updates(self) -> None:
        """Check that indices broadcast to the updates, and updates fit the operand."""
        update_shape, index_shape = shape_of(self.updates), shape_of(self.indices)
        limits = replace_axis_extent(shape_of(self.operand), self.axis.value.data, 0)
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
    def scatter_axis(self) -> int:
        return self.axis.value.data

    @property
    def is_scatter_add(self) -> bool | None:
        return {ScatterKind.SET: False, ScatterKind.ADD: True}.get(self.kind.data)

    def build_with_element_type(
        self, builder: Builder, element_type: Attribute
    ) -> Sequence[SSAValue]:
        """
        Build the scatter on operand and updates cast to `element_type`, and a cast of
        its result back to the result type.
        """
        program, kind = MaskBuilder(builder), self.kind.data
        start = program.cast(self.operand, element_type)
        updates = program.cast(self.updates, element_type)
        scatter = ScatterOp(start, self.indices, updates, self.scatter_axis, kind)
        return [program.cast_to_type(program.insert(scatter), self.result.type)]

    @property
    def combining_kind(self) -> CombiningKind | None:
        if self.combined is None:
            return None
        return _COMBINING_KINDS[self.kind.data]

    @property
    def combined_writes(self) -> CombinedWrites | None:
        table, updates = shape_of(self.operand), shape_of(self.updates)
        element = self._element_type_of_combination
        if self.kind.data is ScatterKind.SET:
            updates, element = shape_of(self.indices), i32
            table = self._shape_of_last_updates
        if self.kind.data is ScatterKind.MUL or element is None:
            return None
        return CombinedWrites(table, updates, element, self.scatter_axis)

    def build_combined_writes(self, builder: Builder) -> Sequence[SSAValue]:
        program, kind = MaskBuilder(builder), self.kind.data
        if kind is ScatterKind.SET:
            return [self._build_set_by_last_updates(program)]
        element = self._element_type_of_combination
        assert element is not None
        if kind is not ScatterKind.ADD and is_float(element):
            return [self._build_combined_extrema(program, element)]
        start = program.cast_elements(self.operand, element)
        result = program.insert(self._build_combination(program, start))
        return [program.cast_to_type(result, self.result.type)]

    def _build_combination(self, program: MaskBuilder, start: SSAValue) -> ScatterOp:
        """
        Return the combination of another operand with the updates. Integers are cast to
        its type, 16-bit floats when they are loaded.
        """
        axis, kind, updates = self.scatter_axis, self.kind.data, self.updates
        if not is_16_bit_float(element_type_of_value(updates)):
            updates = program.cast_elements(updates, element_type_of_value(start))
        return ScatterOp(start, self.indices, updates, axis, kind, combined=True)

    @property
    def _element_type(self) -> Attribute:
        return element_type_of_value(self.operand)

    @property
    def _element_type_of_combination(self) -> Attribute | None:
        """Element type in which updates are combined in memory; None if in none."""
        element = self._element_type
        if element in COMBINABLE_TYPES:
            return element
        wide = accumulator_type_of(element) if is_float(element) else i32
        return wide if wide in COMBINABLE_TYPES else None

    @property
    def _shape_of_last_updates(self) -> tuple[int, ...]:
        """Shape of the numbers of the last updates: one per element or slice."""
        extent = shape_of(self.operand)[self.scatter_axis]
        return replace_axis_extent(shape_of(self.indices), self.scatter_axis, extent)

    def _build_combined_extrema(
        self, program: MaskBuilder, element_type: Attribute
    ) -> SSAValue:
        """
        Build the extrema of the updates in a tensor without NaN, and those with the
        operand.
        """
        neutral = neutral_element_of(_REDUCE_KINDS[self.kind.data], element_type)
        type_ = TensorType(element_type, shape_of(self.operand))
        start = program.insert(ConstantOp.from_splat(neutral, type_))
        extrema = program.insert(self._build_combination(program, start))
        extrema = program.cast_to_type(extrema, self.result.type)
        is_max = self.kind.data is ScatterKind.MAX
        combine = MaximumOp if is_max else MinimumOp
        return program.insert(combine(self.operand, extrema))

    def _build_set_by_last_updates(self, program: MaskBuilder) -> SSAValue:
        """
        Build the greatest number of an update of each element or slice, and the
        elements of these updates.
        """
        axis, index_shape = self.scatter_axis, shape_of(self.indices)
        type_ = TensorType(i32, self._shape_of_last_updates)
        nothing = program.insert(ConstantOp.from_splat(-1, type_))
        numbers = program.insert(IotaOp(TensorType(i32, index_shape), axis))
        kind = ScatterKind.MAX
        scatter = ScatterOp(nothing, self.indices, numbers, axis, kind, combined=True)
        last_updates = program.insert(scatter)
        replacement = self._pad_to_operand_extents(
            program, self._build_gathered_updates(program, last_updates), 0
        )
        is_updated = self._build_is_updated_mask(program, last_updates)
        start = program.promote_boolean(self.operand)
        return program.cast_to_type(
            program.select(is_updated, replacement, start), self.result.type
        )

    def _build_is_updated_mask(
        self, program: MaskBuilder, last_updates: SSAValue
    ) -> SSAValue:
        """
        Build the mask of the elements with an update, of which `last_updates` are the
        numbers; it broadcasts to the operand.
        """
        axis, shape = self.scatter_axis, shape_of(self.operand)
        if replace_axis_extent(shape_of(self.updates), axis, shape[axis]) != shape:
            last_updates = self._pad_to_operand_extents(
                program, self._broadcast_to_updates(program, last_updates), -1
            )
        return program.compare(last_updates, program.constant(0, i32), Relation.GE)

    def _build_gathered_updates(
        self, program: MaskBuilder, last_updates: SSAValue
    ) -> SSAValue:
        """Build the updates of given numbers; they are 0 at negative numbers."""
        axis, shape = self.scatter_axis, shape_of(last_updates)
        updates = program.promote_boolean(self.updates)
        if replace_axis_extent(shape, axis, 1) == (1,) * len(shape):
            numbers = program.insert(ReshapeOp(last_updates, (shape[axis],)))
            return program.insert(TakeOp(updates, numbers, axis))
        numbers = self._broadcast_to_updates(program, last_updates)
        return program.insert(GatherOp(updates, numbers, axis))

    def _broadcast_to_updates(self, program: MaskBuilder, value: SSAValue) -> SSAValue:
        """
        Build a broadcast of a value to the extents of the updates along all axes but
        the scatter axis; return it as it is if it has them.
        """
        extent = shape_of(value)[self.scatter_axis]
        shape = replace_axis_extent(shape_of(self.updates), self.scatter_axis, extent)
        if shape_of(value) == shape:
            return value
        return program.insert(BroadcastOp(value, shape))

    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        array, indices, updates = operands
        indices = np.broadcast_to(indices, updates.shape)
        axis, combine = self.axis.value.data, _UPDATE_FUNCTIONS[self.kind.data]
        total, updates = promote_to_f32(array).copy(), promote_to_f32(updates)
        extent = array.shape[axis]
        view = total[
            tuple(map(slice, replace_axis_extent(indices.shape, axis, extent)))
        ]
        in_bounds = compute_in_bounds_mask_array(indices, extent)
        positions = np.where(in_bounds, indices, 0).astype(np.int64)
        with np.errstate(all="ignore"):
            for step in range(indices.shape[axis]):
                current = (slice(None),) * axis + (slice(step, step + 1),)
                old = np.take_along_axis(view, positions[current], axis)
                new = np.where(in_bounds[current], combine(old, updates[current]), old)
                np.put_along_axis(view, positions[current], new, axis)
        return (round_to_type(total, element_type_of_value(self.result)),)

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        """
        Build a masked reduction over the axis of the updates, which directly follows
        the axis of the operand. If each index addresses a whole slice, the mask has one
        element per slice, and `set` takes slices of the updates.
        """
        program, axis = MaskBuilder(builder), self.axis.value.data
        shape = shape_of(self.operand)
        start = program.promote_boolean(self.operand)
        updates = program.cast_elements(self.updates, self._element_type)
        updates = self._pad_to_operand_extents(
            program, program.promote_boolean(updates), 0
        )
        updates = program.insert_unit_axes(updates, axis)
        slice_indices = self._indices_of_whole_slices()
        indices = slice_indices
        if indices is None:
            indices = self._pad_to_operand_extents(
                program, self._broadcast_to_updates(program, self.indices), -1
            )
        indices = program.insert_unit_axes(indices, axis)
        trailing = len(shape) - axis
        positions = program.build_axis_indices(
            shape[axis], trailing, element_type_of_value(indices)
        )
        mask = program.compare(indices, positions, Relation.EQ)
        if self.kind.data is not ScatterKind.SET:
            total = self._combine_masked_updates(program, mask, start, updates)
            return [program.cast_to_type(total, self.result.type)]
        return [self._build_last_updates(program, mask, start, updates, slice_indices)]

    def _build_last_updates(
        self,
        program: MaskBuilder,
        mask: SSAValue,
        start: SSAValue,
        updates: SSAValue,
        slice_indices: SSAValue | None,
    ) -> SSAValue:
        """Build the result of `set`: the last update of each element, if any."""
        axis, shape = self.axis.value.data, shape_of(self.operand)
        count, trailing = shape_of(self.indices)[axis], len(shape) - axis
        steps = program.build_axis_indices(count, trailing - 1)
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
            replacement = program.extract_masked_element(mask, updates, axis + 1)
        last_step = program.insert(
            ReshapeOp(last_step, _drop_axis_of_shape(shape_of(last_step), axis + 1))
        )
        is_updated = program.compare(last_step, program.constant(0, i32), Relation.GE)
        return program.cast_to_type(
            program.select(is_updated, replacement, start), self.result.type
        )

    def _indices_of_whole_slices(self) -> SSAValue | None:
        """Return the indices if each addresses a whole slice of the operand."""
        axis, shape = self.axis.value.data, shape_of(self.indices)
        wanted = replace_axis_extent(shape_of(self.operand), axis, shape[axis])
        is_whole = shape_of(self.updates) == wanted
        ones = replace_axis_extent((1,) * len(shape), axis, shape[axis])
        return self.indices if is_whole and shape == ones else None

    def _pad_to_operand_extents(
        self, mask_builder: MaskBuilder, value: SSAValue, fill: int
    ) -> SSAValue:
        """
        Build a pad of `value` with `fill`, behind its elements, to the operand's
        extents along all axes but the scatter axis; none if it has them.
        """
        shape, axis = shape_of(value), self.axis.value.data
        wanted = replace_axis_extent(shape_of(self.operand), axis, shape[axis])
        if shape == wanted:
            return value
        high = [most - extent for most, extent in zip(wanted, shape, strict=True)]
        return mask_builder.insert(PadOp(value, [0] * len(shape), high, fill))

    def _combine_masked_updates(
        self,
        mask_builder: MaskBuilder,
        mask: SSAValue,
        initial_value: SSAValue,
        updates: SSAValue,
    ) -> SSAValue:
        """
        Build the combination of `initial_value` with the masked updates of each
        element.
        """
        kind, element = _REDUCE_KINDS[self.kind.data], element_type_of_value(updates)
        neutral = mask_builder.constant(neutral_element_of(kind, element), element)
        mask = mask_builder.select(mask, updates, neutral)
        axis = self.axis.value.data + 1
        return mask_builder.insert(ReduceOp(mask, kind, [axis], init=initial_value))


def _drop_axis_of_shape(shape: Sequence[int], axis: int) -> tuple[int, ...]:
    """Return the shape without an axis."""
    return (*shape[:axis], *shape[axis + 1 :])
