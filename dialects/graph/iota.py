"""Operation `graph.iota`: index tensor along one axis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.graph.constant import ConstantOp
from tlf.dialects.graph.movement import BroadcastOp
from tlf.dialects.graph.tensor_types import (
    NUMBERS,
    GraphTensorConstraint,
    element_type_of_value,
    shape_of,
    verify_axes,
)
from tlf.dialects.interfaces import Array, DecompositionInterface
from tlf.dialects.types import dtype_of, is_float, tensor_type, tensor_type_like


@irdl_op_definition
class IotaOp(IRDLOperation, DecompositionInterface):
    """
    Index of each element along an axis, rounded to the element type.

    ```mlir
    %columns = graph.iota axis 1 : tensor<4x8xi32>
    ```
    """

    name = "graph.iota"

    axis = prop_def(IntegerAttr.constr(i64))
    result = result_def(GraphTensorConstraint(NUMBERS))

    traits = traits_def(Pure())

    assembly_format = "`axis` $axis attr-dict `:` type($result)"

    def __init__(self, type_: Attribute, axis: int):
        super().__init__(
            properties={"axis": IntegerAttr(axis, i64)}, result_types=[type_]
        )

    def verify_(self) -> None:
        axis, element = self.axis.value.data, element_type_of_value(self.result)
        shape = shape_of(self.result)
        verify_axes([axis], len(shape))
        if is_float(element):
            return
        greatest = int(np.iinfo(dtype_of(element).name).max)
        if shape[axis] - 1 > greatest:
            raise VerifyException(
                f"expected at most {greatest + 1} indices in {element}, "
                f"got {shape[axis]}"
            )

    def _make_index_array(self) -> Array:
        """Return the indices in a shape that broadcasts to the result shape."""
        shape, axis = shape_of(self.result), self.axis.value.data
        ones = [1] * (len(shape) - axis - 1)
        indices = np.arange(shape[axis]).reshape(shape[axis], *ones)
        return indices.astype(dtype_of(element_type_of_value(self.result)))

    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        return (np.broadcast_to(self._make_index_array(), shape_of(self.result)),)

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        """Build a constant along the axis, broadcast along the other axes."""
        indices, result = self._make_index_array(), tensor_type(self.result)
        constant = ConstantOp(indices, tensor_type_like(result, indices.shape))
        if constant.result.type == result:
            return builder.insert(constant).results
        builder.insert(constant)
        repeated = BroadcastOp.create(
            operands=constant.results, result_types=self.result_types
        )
        return builder.insert(repeated).results
