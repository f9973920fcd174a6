"""Running sums, products, maxima and minima."""

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

from tlf.dialects.graph.choosing import ChoiceProgram, with_axis
from tlf.dialects.graph.elementwise import (
    AddOp,
    BinaryOperation,
    MaximumOp,
    MinimumOp,
    MulOp,
)
from tlf.dialects.graph.logic import Relation
from tlf.dialects.graph.movement import ReshapeOp
from tlf.dialects.graph.padding import PadOp
from tlf.dialects.graph.reduction import (
    ReduceKind,
    ReduceKindAttr,
    ReduceOp,
    neutral_of,
)
from tlf.dialects.graph.slicing import SliceOp
from tlf.dialects.graph.tensors import (
    NUMBERS,
    GraphTensor,
    element_of,
    rounded,
    shape_of,
    verify_axes,
    verify_element,
    verify_shape,
    widened,
)
from tlf.dialects.interfaces import Array, DecompositionInterface
from tlf.dialects.types import accumulator_of

_COMBINE: Mapping[ReduceKind, np.ufunc] = {
    ReduceKind.SUM: np.add,
    ReduceKind.PROD: np.multiply,
    ReduceKind.MAX: np.maximum,
    ReduceKind.MIN: np.minimum,
}

_STEP: Mapping[ReduceKind, type[BinaryOperation]] = {
    ReduceKind.SUM: AddOp,
    ReduceKind.PROD: MulOp,
    ReduceKind.MAX: MaximumOp,
    ReduceKind.MIN: MinimumOp,
}

BLOCK = 32
"""About how many elements of a long axis are compared with each other."""

WHOLE = 128
"""The longest axis of which all elements are."""


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
        verify_element(self.result, element_of(self.operand))

    def reference(self, *operands: Array) -> tuple[Array, ...]:
        wide, combine = widened(operands[0]), _COMBINE[self.kind.data]
        with np.errstate(all="ignore"):
            total = combine.accumulate(
                wide, axis=self.axis.value.data, dtype=wide.dtype
            )
        return (rounded(total, element_of(self.result)),)

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        program = ChoiceProgram(builder)
        scan = Scan(program, self.kind.data, self.axis.value.data)
        total = scan.of(self.operand, Relation.LE)
        return [program.finish(total, self.result.type)]


@dataclass(frozen=True)
class Scan:
    """
    Builds running totals along an axis. Within an axis that is not long, each element
    looks at all others. A long one is cut into blocks: each element combines those of
    its own block, and the running total of the blocks before, which is a scan of
    the total of each. So the work grows with the length, not with its square.
    """

    program: ChoiceProgram
    kind: ReduceKind
    axis: int

    def of(self, value: SSAValue, relation: Relation) -> SSAValue:
        """For each element the total of those whose places are so to its own."""
        extent = shape_of(value)[self.axis]
        if extent <= WHOLE:
            return self._compared(value, self.axis, relation)
        size = block_of(extent)
        count = -(-extent // size)
        blocks = self._cut(self._widened(value), count, size)
        own = self._compared(blocks, self.axis + 1, relation)
        totals = self.program.insert(ReduceOp(blocks, self.kind, [self.axis + 1]))
        before = self.of(totals, Relation.LT)
        spread = self.program.spread(before, self.axis + 1)
        step = _STEP[self.kind].create(operands=[spread, own], result_types=[own.type])
        return self._whole(self.program.insert(step), extent)

    def _compared(self, value: SSAValue, axis: int, relation: Relation) -> SSAValue:
        """Each element's own axis comes before that of the elements it combines."""
        program, shape = self.program, shape_of(value)
        behind = len(shape) - axis - 1
        own = program.positions(shape[axis], behind + 1)
        others = program.positions(shape[axis], behind)
        chosen = program.compare(others, own, relation)
        spread = program.spread(value, axis)
        return program.reduce(chosen, spread, self.kind, axis + 1)

    def _widened(self, value: SSAValue) -> SSAValue:
        """A value in the type that totals of blocks are in, so that none is rounded."""
        element = element_of(value)
        wide = accumulator_of(element)
        return value if wide == element else self.program.cast(value, wide)

    def _cut(self, value: SSAValue, count: int, size: int) -> SSAValue:
        """A value with the axis as that of blocks, then that of a block's elements."""
        shape = shape_of(value)
        if (missing := count * size - shape[self.axis]) > 0:
            none = [0] * len(shape)
            fill = neutral_of(self.kind, element_of(value))
            high = with_axis(none, self.axis, missing)
            value = self.program.insert(PadOp(value, none, high, fill))
        cut = (*shape[: self.axis], count, size, *shape[self.axis + 1 :])
        return self.program.insert(ReshapeOp(value, cut))

    def _whole(self, value: SSAValue, extent: int) -> SSAValue:
        """Blocks as one axis again, of so many elements."""
        *front, count, size = shape_of(value)[: self.axis + 2]
        shape = (*front, count * size, *shape_of(value)[self.axis + 2 :])
        joined = self.program.insert(ReshapeOp(value, shape))
        if count * size == extent:
            return joined
        offsets = [0] * len(shape)
        return self.program.insert(
            SliceOp(joined, offsets, with_axis(shape, self.axis, extent))
        )


def block_of(extent: int) -> int:
    """The elements of a block: those that make whole blocks, if there are."""
    near = range(BLOCK // 2, 2 * BLOCK + 1)
    whole = [size for size in near if extent % size == 0]
    return min(whole, key=lambda size: abs(size - BLOCK), default=BLOCK)
