"""
Operation `graph.cumulate`: running sums, products, maxima and minima along an axis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import IntegerAttr, UnitAttr, f32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
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

from tlf.dialects.graph.constant import ConstantOp
from tlf.dialects.graph.elementwise import (
    AddOp,
    BinaryOperation,
    MaximumOp,
    MinimumOp,
    MulOp,
)
from tlf.dialects.graph.mask_builder import MaskBuilder, replace_axis_extent
from tlf.dialects.graph.movement import ReshapeOp
from tlf.dialects.graph.padding import PadOp
from tlf.dialects.graph.reduction import (
    ReduceKind,
    ReduceKindAttr,
    ReduceOp,
    combine_scalars,
    neutral_element_of,
)
from tlf.dialects.graph.slicing import SliceOp
from tlf.dialects.graph.tensor_types import (
    NUMBERS,
    GraphTensorConstraint,
    element_type_of_value,
    promote_to_f32,
    round_to_type,
    shape_of,
    verify_axes,
    verify_element_type,
    verify_shape,
)
from tlf.dialects.graph.unfold import UnfoldOp
from tlf.dialects.interfaces import (
    Array,
    DecompositionInterface,
    LoopDim,
    Scalar,
    ScanInterface,
    parallel_dim,
)
from tlf.dialects.types import is_16_bit_float, tensor_type
from tlf.support.affine.index_access import Accesses, identity_accesses

_NUMPY_COMBINERS: Mapping[ReduceKind, np.ufunc] = {
    ReduceKind.SUM: np.add,
    ReduceKind.PROD: np.multiply,
    ReduceKind.MAX: np.maximum,
    ReduceKind.MIN: np.minimum,
}

_COMBINE_OPS: Mapping[ReduceKind, type[BinaryOperation]] = {
    ReduceKind.SUM: AddOp,
    ReduceKind.PROD: MulOp,
    ReduceKind.MAX: MaximumOp,
    ReduceKind.MIN: MinimumOp,
}

BLOCK_SIZE = 16
"""Preferred number of elements in a block of a long axis."""

MAX_UNBLOCKED_EXTENT = 32
"""Maximum extent that is scanned as a single block."""

MAX_MASKED_TOTALS = 128
"""Maximum number of block totals that are masked and reduced rather than scanned."""


@irdl_op_definition
class CumulateOp(IRDLOperation, ScanInterface, DecompositionInterface):
    """
    Inclusive prefix scan along an axis: sum (`sum`), product (`prod`), maximum (`max`)
    or minimum (`min`); with `reverse`, from the last element to the first. Maxima and
    minima are NaN from the first NaN on. 16-bit floats
    are combined in f32 and rounded once, integers are combined in their own type.

    ```mlir
    %y = graph.cumulate %x <sum> axis 1 reverse : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "graph.cumulate"

    operand = operand_def(GraphTensorConstraint(NUMBERS))
    kind = prop_def(ReduceKindAttr)
    axis = prop_def(IntegerAttr.constr(i64))
    reverse = opt_prop_def(UnitAttr)
    result = result_def(GraphTensorConstraint(NUMBERS))

    traits = traits_def(Pure())

    assembly_format = (
        "$operand $kind `axis` $axis (`reverse` $reverse^)? attr-dict"
        " `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        operand: SSAValue | Operation,
        kind: ReduceKind | str,
        axis: int,
        reverse: bool = False,
    ):
        value = SSAValue.get(operand)
        super().__init__(
            operands=[value],
            properties={
                "kind": ReduceKindAttr(ReduceKind(kind)),
                "axis": IntegerAttr(axis, i64),
                "reverse": UnitAttr() if reverse else None,
            },
            result_types=[value.type],
        )

    def verify_(self) -> None:
        shape = shape_of(self.operand)
        verify_axes([self.axis.value.data], len(shape))
        verify_shape(self.result, shape)
        verify_element_type(self.result, element_type_of_value(self.operand))

    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        wide, combine = promote_to_f32(operands[0]), _NUMPY_COMBINERS[self.kind.data]
        axis = self.scan_iterator
        wide = np.flip(wide, axis) if self.is_reversed else wide
        with np.errstate(all="ignore"):
            total = combine.accumulate(wide, axis=axis, dtype=wide.dtype)
        total = np.flip(total, axis) if self.is_reversed else total
        return (round_to_type(total, element_type_of_value(self.result)),)

    @property
    def scan_iterator(self) -> int:
        return self.axis.value.data

    @property
    def is_reversed(self) -> bool:
        return self.reverse is not None

    def iteration_domain(self) -> tuple[LoopDim, ...]:
        return tuple(map(parallel_dim, shape_of(self.operand)))

    def indexing_maps(self) -> tuple[Accesses, ...]:
        return (identity_accesses(len(shape_of(self.operand))),)

    def result_indexing_maps(self) -> tuple[Accesses, ...]:
        return (identity_accesses(len(shape_of(self.operand))),)

    def untileable_dims(self) -> dict[int, str]:
        return {self.scan_iterator: "an element depends on others along it"}

    def padding_value(self, operand_index: int) -> Scalar | None:
        return self.neutral_element() if self.is_reversed else None

    def neutral_element(self) -> Scalar:
        return neutral_element_of(self.kind.data, element_type_of_value(self.operand))

    def build_combination_of_scalars(
        self, builder: Builder, element: SSAValue, accumulator: SSAValue
    ) -> SSAValue:
        return combine_scalars(self.kind.data, builder, element, accumulator)

    def build_continuation(
        self, builder: Builder, tile: SSAValue, scanned: SSAValue, total: SSAValue
    ) -> tuple[SSAValue, SSAValue]:
        combine = _COMBINE_OPS[self.kind.data].create(
            operands=[total, scanned], result_types=[scanned.type]
        )
        reduce = ReduceOp(
            tile,
            self.kind.data,
            [self.scan_iterator],
            keepdims=True,
            init=total,
            acc=element_type_of_value(tile),
        )
        return builder.insert(combine).results[0], builder.insert(reduce).result

    def build_in_blocks(self, builder: Builder, block_count: int) -> SSAValue:
        scan = self._scan_builder(MaskBuilder(builder))
        return scan.build_scan_of_blocks(self.operand, block_count)

    def _scan_builder(self, program: MaskBuilder) -> PrefixScanBuilder:
        kind, axis = self.kind.data, self.scan_iterator
        return PrefixScanBuilder(program, kind, axis, self.is_reversed)

    def flops(self) -> int:
        return tensor_type(self.operand).element_count()

    def linear_operands(self) -> tuple[int, ...]:
        return (0,) if self.kind.data is ReduceKind.SUM else ()

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        program = MaskBuilder(builder)
        if self.rounds_once:
            wide = program.cast(self.operand, f32)
            kind, axis = self.kind.data, self.scan_iterator
            total = program.insert(CumulateOp(wide, kind, axis, self.is_reversed))
        else:
            total = self._scan_builder(program).build_scan(self.operand)
        return [program.cast_to_type(total, self.result.type)]

    @property
    def rounds_once(self) -> bool:
        is_exact = self.kind.data in (ReduceKind.MAX, ReduceKind.MIN)
        return not is_exact and is_16_bit_float(element_type_of_value(self.operand))


@dataclass(frozen=True)
class PrefixScanBuilder:
    """
    Builder of prefix scans along an axis. A short axis is scanned in steps of doubled
    distances. An axis longer than `MAX_UNBLOCKED_EXTENT` is split into blocks: the
    result is the scan within the block, combined with the total of the preceding
    blocks, a scan of the shifted block totals.
    """

    mask_builder: MaskBuilder
    kind: ReduceKind
    axis: int
    is_reversed: bool = False
    """True for the totals from the last element on."""

    def build_scan(self, value: SSAValue) -> SSAValue:
        """Build, for each element, the total of the elements up to it."""
        extent = shape_of(value)[self.axis]
        if extent <= MAX_UNBLOCKED_EXTENT:
            return self._scan_in_doubling_steps(value, self.axis)
        size = select_block_size(extent)
        blocks = self._split_into_blocks(value, -(-extent // size), size)
        scanned = self._scan_in_doubling_steps(blocks, self.axis + 1)
        totals = self._build_block_totals(blocks)
        preceding = self.build_scan(self._shift_elements(totals, self.axis, 1))
        return self._combine_blocks(preceding, scanned, extent)

    def build_scan_of_blocks(self, value: SSAValue, block_count: int) -> SSAValue:
        """
        Build the scan of `block_count` blocks, each combined with the total of those
        before it.
        """
        extent, program = shape_of(value)[self.axis], self.mask_builder
        blocks = self._split_into_blocks(value, block_count, -(-extent // block_count))
        scan = CumulateOp(blocks, self.kind, self.axis + 1, self.is_reversed)
        preceding = self._build_preceding_totals(self._build_block_totals(blocks))
        return self._combine_blocks(preceding, program.insert(scan), extent)

    def _build_block_totals(self, blocks: SSAValue) -> SSAValue:
        """Build the total of each block, in the type of the elements."""
        element = element_type_of_value(blocks)
        reduce = ReduceOp(blocks, self.kind, [self.axis + 1], acc=element)
        return self.mask_builder.insert(reduce)

    def _combine_blocks(
        self, preceding: SSAValue, scanned: SSAValue, extent: int
    ) -> SSAValue:
        """Build the combination of each block with the total before it, as one axis."""
        spread = self.mask_builder.insert_unit_axes(preceding, self.axis + 1)
        return self._merge_blocks(self._combine(spread, scanned), extent)

    def _combine(self, before: SSAValue, value: SSAValue) -> SSAValue:
        """Build the elementwise combination, of the type of the second tensor."""
        step = _COMBINE_OPS[self.kind].create(
            operands=[before, value], result_types=[value.type]
        )
        return self.mask_builder.insert(step)

    def _build_preceding_totals(self, totals: SSAValue) -> SSAValue:
        """Build the total of all blocks before each block: masked, or scanned."""
        program, shape = self.mask_builder, shape_of(totals)
        if (count := shape[self.axis]) > MAX_MASKED_TOTALS:
            scan = CumulateOp(totals, self.kind, self.axis, self.is_reversed)
            return self._shift_elements(program.insert(scan), self.axis, 1)
        is_before = np.tri(count, count, -1, np.bool_)
        is_before = is_before.T if self.is_reversed else is_before
        trailing = [1] * (len(shape) - self.axis - 1)
        mask = program.insert(ConstantOp(is_before.reshape(count, count, *trailing)))
        spread = program.insert_unit_axes(totals, self.axis)
        return program.reduce_masked_elements(mask, spread, self.kind, self.axis + 1)

    def _scan_in_doubling_steps(self, value: SSAValue, axis: int) -> SSAValue:
        """
        Build the scan of an axis in steps of doubled distances: each combines a partial
        total with that of the elements before it (Hillis and Steele, 1986).
        """
        distance = 1
        while distance < shape_of(value)[axis]:
            before = self._shift_elements(value, axis, distance)
            value, distance = self._combine(before, value), 2 * distance
        return value

    def _shift_elements(self, value: SSAValue, axis: int, distance: int) -> SSAValue:
        """
        Build the elements at a distance before each element, neutral where there are
        none.
        """
        shape = shape_of(value)
        offset = distance if self.is_reversed else -distance
        indices = [AffineExpr.dimension(each) for each in range(len(shape))]
        indices[axis] = indices[axis] + offset
        map_ = AffineMap(len(shape), 0, tuple(indices))
        fill = neutral_element_of(self.kind, element_type_of_value(value))
        return self.mask_builder.insert(UnfoldOp(value, map_, shape, fill))

    def _split_into_blocks(
        self, value: SSAValue, block_count: int, block_size: int
    ) -> SSAValue:
        """
        Split the axis into `block_count` blocks of `block_size` elements, padded as
        needed.
        """
        shape = shape_of(value)
        if (missing := block_count * block_size - shape[self.axis]) > 0:
            zeros = [0] * len(shape)
            fill = neutral_element_of(self.kind, element_type_of_value(value))
            high = replace_axis_extent(zeros, self.axis, missing)
            value = self.mask_builder.insert(PadOp(value, zeros, high, fill))
        block_shape = (
            *shape[: self.axis],
            block_count,
            block_size,
            *shape[self.axis + 1 :],
        )
        return self.mask_builder.insert(ReshapeOp(value, block_shape))

    def _merge_blocks(self, value: SSAValue, extent: int) -> SSAValue:
        """
        Build a reshape of the axes of blocks and of their elements into one axis, and a
        slice of its first `extent` elements if there are more.
        """
        *front, count, size = shape_of(value)[: self.axis + 2]
        shape = (*front, count * size, *shape_of(value)[self.axis + 2 :])
        merged = self.mask_builder.insert(ReshapeOp(value, shape))
        if count * size == extent:
            return merged
        offsets = [0] * len(shape)
        return self.mask_builder.insert(
            SliceOp(merged, offsets, replace_axis_extent(shape, self.axis, extent))
        )


def select_block_size(extent: int) -> int:
    """Select the block size closest to `BLOCK_SIZE` that divides the extent, if any."""
    candidates = range(BLOCK_SIZE // 2, 2 * BLOCK_SIZE + 1)
    divisors = [size for size in candidates if extent % size == 0]
    return min(divisors, key=lambda size: abs(size - BLOCK_SIZE), default=BLOCK_SIZE)
