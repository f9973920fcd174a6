"""Operation `graph.slice`: strided slice of a tensor."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, prop_def
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.graph.movement import MovementOperation
from tlf.dialects.graph.tensor_types import (
    element_type_of_value,
    infer_result_type,
    shape_of,
    to_integers_attribute,
    verify_element_type,
)
from tlf.dialects.interfaces import Array
from tlf.support.affine.index_access import Accesses, IndexAccess


@irdl_op_definition
class SliceOp(MovementOperation):
    """
    Strided slice: along each axis, every `strides`-th element from `offsets` on.

    ```mlir
    %y = graph.slice %x offsets [0, 1] strides [1, 2]
        : (tensor<4x8xf32>) -> tensor<3x4xf32>
    ```
    """

    name = "graph.slice"

    offsets = prop_def(DenseArrayBase.constr(i64))
    strides = prop_def(DenseArrayBase.constr(i64))

    assembly_format = (
        "$operand `offsets` $offsets `strides` $strides attr-dict"
        " `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        operand: SSAValue | Operation,
        offsets: Sequence[int],
        sizes: Sequence[int],
        strides: Sequence[int] | None = None,
    ):
        value = SSAValue.get(operand)
        steps = [1] * len(offsets) if strides is None else strides
        super().__init__(
            operands=[value],
            properties={
                "offsets": to_integers_attribute(offsets),
                "strides": to_integers_attribute(steps),
            },
            result_types=[
                infer_result_type([value], sizes, element_type_of_value(value))
            ],
        )

    @property
    def starts(self) -> tuple[int, ...]:
        """First index along each axis."""
        return tuple(self.offsets.get_values())

    @property
    def steps(self) -> tuple[int, ...]:
        """Distance between indices along each axis."""
        return tuple(self.strides.get_values())

    def verify_(self) -> None:
        verify_element_type(self.result, element_type_of_value(self.operand))
        shape, sizes = shape_of(self.operand), shape_of(self.result)
        counts = (("offsets", self.starts, 0), ("strides", self.steps, 1))
        for what, numbers, least in counts:
            if len(numbers) != len(shape) or any(each < least for each in numbers):
                raise VerifyException(
                    f"expected {len(shape)} numbers of at least {least} for {what}, "
                    f"got {list(numbers)}"
                )
        if len(sizes) != len(shape):
            raise VerifyException(
                f"expected a result of rank {len(shape)}, got {len(sizes)}"
            )
        for axis, (first, step) in enumerate(zip(self.starts, self.steps, strict=True)):
            last = first + step * (sizes[axis] - 1)
            if last >= shape[axis]:
                raise VerifyException(
                    f"expected indices below {shape[axis]} along axis {axis}, "
                    f"got {last}"
                )

    def indexing_maps(self) -> tuple[Accesses, ...]:
        pairs = zip(self.starts, self.steps, strict=True)
        return (
            tuple(
                IndexAccess(((axis, step),), offset=first)
                for axis, (first, step) in enumerate(pairs)
            ),
        )

    def tiled_implementation(
        self, operands: Sequence[SSAValue], result_types: Sequence[Attribute]
    ) -> Operation:
        origin = {"offsets": to_integers_attribute([0] * len(self.starts))}
        return SliceOp.create(
            operands=operands,
            result_types=result_types,
            properties=dict(self.properties) | origin,
            attributes=dict(self.attributes),
        )

    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        sizes = shape_of(self.result)
        slices = tuple(
            slice(first, first + step * (size - 1) + 1, step)
            for first, step, size in zip(self.starts, self.steps, sizes, strict=True)
        )
        return (np.asarray(operands[0][slices]),)
