"""Running sums, products, maxima and minima."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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

from tlf.dialects.graph.choosing import ChoiceProgram
from tlf.dialects.graph.logic import Relation
from tlf.dialects.graph.reduction import ReduceKind, ReduceKindAttr
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

_COMBINE: Mapping[ReduceKind, np.ufunc] = {
    ReduceKind.SUM: np.add,
    ReduceKind.PROD: np.multiply,
    ReduceKind.MAX: np.maximum,
    ReduceKind.MIN: np.minimum,
}


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
        """Each element's own axis comes before that of the elements it combines."""
        program, axis = ChoiceProgram(builder), self.axis.value.data
        shape = shape_of(self.operand)
        behind = len(shape) - axis - 1
        own = program.positions(shape[axis], behind + 1)
        others = program.positions(shape[axis], behind)
        chosen = program.compare(others, own, Relation.LE)
        value = program.spread(self.operand, axis)
        total = program.reduce(chosen, value, self.kind.data, axis + 1)
        return [program.finish(total, self.result.type)]
