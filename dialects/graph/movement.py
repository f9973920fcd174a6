"""
Operations `graph.reshape`, `graph.transpose` and `graph.broadcast`, which move data
without arithmetic.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm, prod

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.interfaces import HasFolderInterface
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.graph.canonicalizable import CanonicalizableOperation
from tlf.dialects.graph.tensor_types import (
    GraphTensorConstraint,
    element_type_of_value,
    format_shape,
    infer_result_type,
    shape_of,
    to_integers_attribute,
    verify_element_type,
    verify_shape,
)
from tlf.dialects.interfaces import (
    Array,
    LoopDim,
    MovementInterface,
    ViewInterface,
    parallel_dim,
)
from tlf.support.affine.index_access import (
    Accesses,
    IndexAccess,
    broadcast_accesses,
    identity_accesses,
)


class MovementOperation(
    IRDLOperation,
    HasFolderInterface,
    CanonicalizableOperation,
    MovementInterface,
    abc.ABC,
):
    """
    Base of movements of the elements of one tensor. A movement folds to its operand if
    `is_identity` is true.
    """

    operand = operand_def(GraphTensorConstraint())
    result = result_def(GraphTensorConstraint())

    traits = traits_def(Pure())

    def is_identity(self) -> bool:
        """Return `True` if no element changes its position."""
        return self.operand.type == self.result.type

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        return [self.operand] if self.is_identity() else None

    def iteration_domain(self) -> tuple[LoopDim, ...]:
        return tuple(parallel_dim(extent) for extent in shape_of(self.result))

    def result_indexing_maps(self) -> tuple[Accesses, ...]:
        return (identity_accesses(len(shape_of(self.result))),)


@dataclass(frozen=True)
class ReshapeAxisGroup:
    """
    Axes of a reshape's operand and result that contain the same elements in order.

    One iteration moves `elements_per_iteration` elements, the least common multiple of
    the row sizes of both sides, where a row spans all axes of the side but the first.
    """

    source_axes: tuple[int, ...]
    result_axes: tuple[int, ...]
    iteration_count: int
    elements_per_iteration: int

    @staticmethod
    def from_axes(
        source_axes: Sequence[int],
        result_axes: Sequence[int],
        source_shape: Sequence[int],
        result_shape: Sequence[int],
    ) -> ReshapeAxisGroup:
        """Return the group of the operand axes `source` and result axes `result`."""
        total = prod(source_shape[axis] for axis in source_axes)
        step = lcm(
            prod(source_shape[axis] for axis in source_axes[1:]),
            prod(result_shape[axis] for axis in result_axes[1:]),
        )
        return ReshapeAxisGroup(
            tuple(source_axes), tuple(result_axes), total // step, step
        )


def split_into_reshape_axis_groups(
    source_shape: Sequence[int], result_shape: Sequence[int]
) -> tuple[ReshapeAxisGroup, ...]:
    """
    Split two shapes of equal element count into the shortest runs of axes with equal
    element counts. Axes of extent 1 belong to no group.
    """
    sources = [axis for axis, extent in enumerate(source_shape) if extent != 1]
    results = [axis for axis, extent in enumerate(result_shape) if extent != 1]
    groups: list[ReshapeAxisGroup] = []
    while sources:
        left, right = [sources.pop(0)], [results.pop(0)]
        counts = [source_shape[left[0]], result_shape[right[0]]]
        while counts[0] != counts[1]:
            if counts[0] < counts[1]:
                left.append(sources.pop(0))
                counts[0] *= source_shape[left[-1]]
            else:
                right.append(results.pop(0))
                counts[1] *= result_shape[right[-1]]
        groups.append(
            ReshapeAxisGroup.from_axes(left, right, source_shape, result_shape)
        )
    return tuple(groups)


def _accesses_of_axis_groups(
    groups: Sequence[tuple[tuple[int, ...], int]], shape: Sequence[int]
) -> Accesses:
    """Return the accesses of one side, given the axes and the step of each group."""
    accesses = [IndexAccess() for _ in shape]
    for iterator, (axes, step) in enumerate(groups):
        rows = step // prod(shape[axis] for axis in axes[1:])
        accesses[axes[0]] = IndexAccess(((iterator, rows),), width=rows)
        for axis in axes[1:]:
            accesses[axis] = IndexAccess(width=shape[axis])
    return tuple(accesses)


@irdl_op_definition
class ReshapeOp(MovementOperation, ViewInterface):
    """
    Reshape that preserves the row-major order of elements.

    ```mlir
    %heads = graph.reshape %x : (tensor<16x64xf32>) -> tensor<16x4x16xf32>
    ```
    """

    name = "graph.reshape"

    assembly_format = "$operand attr-dict `:` functional-type(operands, results)"

    def __init__(self, operand: SSAValue | Operation, shape: Sequence[int]):
        value = SSAValue.get(operand)
        super().__init__(
            operands=[value],
            result_types=[
                infer_result_type([value], shape, element_type_of_value(value))
            ],
        )

    def verify_(self) -> None:
        verify_element_type(self.result, element_type_of_value(self.operand))
        source, result = shape_of(self.operand), shape_of(self.result)
        if prod(source) != prod(result):
            raise VerifyException(
                f"expected a result of {prod(source)} elements, got {prod(result)}"
            )

    def _reshape_axis_groups(self) -> tuple[ReshapeAxisGroup, ...]:
        return split_into_reshape_axis_groups(
            shape_of(self.operand), shape_of(self.result)
        )

    def iteration_domain(self) -> tuple[LoopDim, ...]:
        return tuple(
            parallel_dim(group.iteration_count) for group in self._reshape_axis_groups()
        )

    def indexing_maps(self) -> tuple[Accesses, ...]:
        sides = [
            (group.source_axes, group.elements_per_iteration)
            for group in self._reshape_axis_groups()
        ]
        return (_accesses_of_axis_groups(sides, shape_of(self.operand)),)

    def result_indexing_maps(self) -> tuple[Accesses, ...]:
        sides = [
            (group.result_axes, group.elements_per_iteration)
            for group in self._reshape_axis_groups()
        ]
        return (_accesses_of_axis_groups(sides, shape_of(self.result)),)

    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        return (operands[0].reshape(shape_of(self.result)),)


@irdl_op_definition
class TransposeOp(MovementOperation):
    """
    Permutation of axes: axis `i` of the result is axis `permutation[i]` of the operand.

    ```mlir
    %y = graph.transpose %x permutation [0, 2, 1]
        : (tensor<2x4x8xf32>) -> tensor<2x8x4xf32>
    ```
    """

    name = "graph.transpose"

    permutation = prop_def(DenseArrayBase.constr(i64))

    assembly_format = (
        "$operand `permutation` $permutation attr-dict"
        " `:` functional-type(operands, results)"
    )

    def __init__(self, operand: SSAValue | Operation, permutation: Sequence[int]):
        value = SSAValue.get(operand)
        shape = [shape_of(value)[axis] for axis in permutation]
        super().__init__(
            operands=[value],
            properties={"permutation": to_integers_attribute(permutation)},
            result_types=[
                infer_result_type([value], shape, element_type_of_value(value))
            ],
        )

    @property
    def axis_list(self) -> tuple[int, ...]:
        """Operand axis of each result axis."""
        return tuple(self.permutation.get_values())

    def verify_(self) -> None:
        shape = shape_of(self.operand)
        if sorted(self.axis_list) != list(range(len(shape))):
            raise VerifyException(
                f"expected a permutation of {len(shape)} axes, "
                f"got {list(self.axis_list)}"
            )
        verify_element_type(self.result, element_type_of_value(self.operand))
        verify_shape(self.result, [shape[axis] for axis in self.axis_list])

    def is_identity(self) -> bool:
        in_order = self.axis_list == tuple(range(len(self.axis_list)))
        return in_order and super().is_identity()

    def indexing_maps(self) -> tuple[Accesses, ...]:
        positions = sorted(range(len(self.axis_list)), key=lambda i: self.axis_list[i])
        return (tuple(IndexAccess.of_iterator(position) for position in positions),)

    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        return (np.transpose(operands[0], self.axis_list),)


@irdl_op_definition
class BroadcastOp(MovementOperation):
    """
    Broadcast along axes of extent 1 and new leading axes, as in numpy.

    ```mlir
    %y = graph.broadcast %x : (tensor<4x1xf32>) -> tensor<2x4x8xf32>
    ```
    """

    name = "graph.broadcast"

    assembly_format = "$operand attr-dict `:` functional-type(operands, results)"

    def __init__(self, operand: SSAValue | Operation, shape: Sequence[int]):
        value = SSAValue.get(operand)
        super().__init__(
            operands=[value],
            result_types=[
                infer_result_type([value], shape, element_type_of_value(value))
            ],
        )

    def verify_(self) -> None:
        verify_element_type(self.result, element_type_of_value(self.operand))
        source, result = shape_of(self.operand), shape_of(self.result)
        aligned = result[len(result) - len(source) :]
        if len(source) > len(result) or any(
            each not in (1, wanted)
            for each, wanted in zip(source, aligned, strict=True)
        ):
            raise VerifyException(
                f"expected a shape that {format_shape(source)} broadcasts to, "
                f"got {format_shape(result)}"
            )

    def indexing_maps(self) -> tuple[Accesses, ...]:
        return (broadcast_accesses(shape_of(self.operand), shape_of(self.result)),)

    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        return (np.broadcast_to(operands[0], shape_of(self.result)),)
