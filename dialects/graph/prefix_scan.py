"""Prefix scans: running sums, products, maxima and minima along an axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from tlf.dialects.graph.elementwise import (
    AddOp,
    BinaryOperation,
    MaximumOp,
    MinimumOp,
    MulOp,
)
from tlf.dialects.graph.logic import Relation
from tlf.dialects.graph.mask_builder import MaskBuilder, with_extent
from tlf.dialects.graph.movement import ReshapeOp
from tlf.dialects.graph.padding import PadOp
from tlf.dialects.graph.reduction import (
    ReduceKind,
    ReduceKindAttr,
    ReduceOp,
    neutral_element_of,
)
from tlf.dialects.graph.slicing import SliceOp
from tlf.dialects.graph.tensor_types import (
    NUMBERS,
    GraphTensor,
    element_of,
    promote_to_f32,
    round_to_type,
    shape_of,
    verify_axes,
    verify_element_type,
    verify_shape,
)
from tlf.dialects.interfaces import Array, DecompositionInterface
from tlf.dialects.types import accumulator_of

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

BLOCK_SIZE = 32
"""Approximate number of elements in a block of a long axis."""

MAX_UNBLOCKED_EXTENT = 128
"""Greatest extent that is scanned as a single block."""


@irdl_op_definition
class CumulateOp(IRDLOperation, DecompositionInterface):
    """
    Sum (`sum`), product (`prod`), maximum (`max`) or minimum (`min`) of each element
    and those before it along an axis. The maximum and the minimum are NaN from the
    first NaN on. 16-bit floats are combined in f32 and rounded once, integers in their
    own type.

    ```mlir
    %y = graph.cumulate %x <sum> axis 1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "graph.cumulate"

    operand = operand_def(GraphTensor(NUMBERS))
    kind = prop_def(ReduceKindAttr)
    axis = prop_def(IntegerAttr.constr(i64))
    result = result_def(GraphTensor(NUMBERS))

    traits = traits_def(Pure())

    assembly_format = (
        "$operand $kind `axis` $axis attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self, operand: SSAValue | Operation, kind: ReduceKind | str, axis: int
    ):
        value = SSAValue.get(operand)
        super().__init__(
            operands=[value],
            properties={
                "kind": ReduceKindAttr(ReduceKind(kind)),
                "axis": IntegerAttr(axis, i64),
            },
            result_types=[value.type],
        )

    def verify_(self) -> None:
        shape = shape_of(self.operand)
        verify_axes([self.axis.value.data], len(shape))
        verify_shape(self.result, shape)
        verify_element_type(self.result, element_of(self.operand))

    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        wide, combine = promote_to_f32(operands[0]), _NUMPY_COMBINERS[self.kind.data]
        with np.errstate(all="ignore"):
            total = combine.accumulate(
                wide, axis=self.axis.value.data, dtype=wide.dtype
            )
        return (round_to_type(total, element_of(self.result)),)

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        program = MaskBuilder(builder)
        scan = PrefixScan(program, self.kind.data, self.axis.value.data)
        total = scan.build_scan(self.operand, Relation.LE)
        return [program.to_result_type(total, self.result.type)]


@dataclass(frozen=True)
class PrefixScan:
    """
    Builder of prefix scans along an axis, blocked where the axis is long. Within an
    axis that is not long, each element looks at all others. A long one is cut into
    blocks: each element combines those of its own block, and the running total of the
    blocks before, which is a scan of the total of each. So the work grows with the
    length, not with its square.
    """

    program: MaskBuilder
    kind: ReduceKind
    axis: int

    def build_scan(self, value: SSAValue, relation: Relation) -> SSAValue:
        """
        Build, for each element, the total of those whose index is so related to its
        own.
        """
        extent = shape_of(value)[self.axis]
        if extent <= MAX_UNBLOCKED_EXTENT:
            return self._scan_by_comparison(value, self.axis, relation)
        size = select_block_size(extent)
        count = -(-extent // size)
        blocks = self._split_into_blocks(self._promote(value), count, size)
        own = self._scan_by_comparison(blocks, self.axis + 1, relation)
        totals = self.program.insert(ReduceOp(blocks, self.kind, [self.axis + 1]))
        before = self.build_scan(totals, Relation.LT)
        spread = self.program.insert_unit_axes(before, self.axis + 1)
        step = _COMBINE_OPS[self.kind].create(
            operands=[spread, own], result_types=[own.type]
        )
        return self._merge_blocks(self.program.insert(step), extent)

    def _scan_by_comparison(
        self, value: SSAValue, axis: int, relation: Relation
    ) -> SSAValue:
        """Build the scan of an axis by comparison of all pairs of indices."""
        program, shape = self.program, shape_of(value)
        behind = len(shape) - axis - 1
        own = program.axis_indices(shape[axis], behind + 1)
        others = program.axis_indices(shape[axis], behind)
        chosen = program.compare(others, own, relation)
        spread = program.insert_unit_axes(value, axis)
        return program.reduce_where(chosen, spread, self.kind, axis + 1)

    def _promote(self, value: SSAValue) -> SSAValue:
        """
        Promote a value to the accumulator type, so that no block total is rounded.
        """
        element = element_of(value)
        wide = accumulator_of(element)
        return value if wide == element else self.program.cast(value, wide)

    def _split_into_blocks(self, value: SSAValue, count: int, size: int) -> SSAValue:
        """Split the axis into blocks and elements of a block, padded as needed."""
        shape = shape_of(value)
        if (missing := count * size - shape[self.axis]) > 0:
            none = [0] * len(shape)
            fill = neutral_element_of(self.kind, element_of(value))
            high = with_extent(none, self.axis, missing)
            value = self.program.insert(PadOp(value, none, high, fill))
        cut = (*shape[: self.axis], count, size, *shape[self.axis + 1 :])
        return self.program.insert(ReshapeOp(value, cut))

    def _merge_blocks(self, value: SSAValue, extent: int) -> SSAValue:
        """Merge blocks into one axis of `extent` elements."""
        *front, count, size = shape_of(value)[: self.axis + 2]
        shape = (*front, count * size, *shape_of(value)[self.axis + 2 :])
        joined = self.program.insert(ReshapeOp(value, shape))
        if count * size == extent:
            return joined
        offsets = [0] * len(shape)
        return self.program.insert(
            SliceOp(joined, offsets, with_extent(shape, self.axis, extent))
        )


def select_block_size(extent: int) -> int:
    """Select a block size near `BLOCK_SIZE` that divides the extent, if any."""
    near = range(BLOCK_SIZE // 2, 2 * BLOCK_SIZE + 1)
    whole = [size for size in near if extent % size == 0]
    return min(whole, key=lambda size: abs(size - BLOCK_SIZE), default=BLOCK_SIZE)
