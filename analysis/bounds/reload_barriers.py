"""
Analysis of inputs that must be reloaded, because every result depends on all their
elements.

Consider a result that needs each element of an input through a chain of operations that
preserve elements, and that also needs all other elements, as a normalization over the
whole input does. When the last element has been read for the first time, no such result
exists. For each element, either a value of its chain is in inner memory at this time,
or is read afterwards. Elements that exceed the inner memories are therefore read again:
the argument of the red-blue pebble game (Hong and Kung, I/O complexity: the red-blue
pebble game, STOC 1981).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import TypeGuard

from xdsl.ir import SSAValue

from tlf.analysis.bounds.dataflow import DataflowGraph
from tlf.analysis.bounds.extra_traffic import ExtraTraffic
from tlf.dialects.graph.tensor_types import shape_of
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    DelinearizedReadInterface,
    ElementwiseInterface,
    IteratorType,
    MovementInterface,
    ReferenceInterface,
    TilingInterface,
)
from tlf.dialects.types import element_count_of, itemsize_of
from tlf.support.affine.index_access import Accesses, IndexAccess


def has_exact_accesses(
    op: ReferenceInterface,
) -> TypeGuard[AccumulatingInterface | ElementwiseInterface | MovementInterface]:
    """
    Return `True` if the results of an operation need all elements that its accesses
    name. A composite, or a read of windows as rows, may name a whole axis and need a
    part of it.
    """
    if isinstance(op, DelinearizedReadInterface):
        return False
    return isinstance(
        op, AccumulatingInterface | ElementwiseInterface | MovementInterface
    )


@dataclass(frozen=True)
class ElementDependence:
    """Injective dependence: each element derives from one distinct input element."""

    axes: Mapping[int, int]
    """For each axis of the value, the axis of the input that it follows."""
    min_itemsize: int
    """Smallest element size of the chain, in bytes."""


@dataclass(frozen=True)
class AxisDependence:
    """Dependence of each element on all input elements along some axes."""

    axes: Mapping[int, int]
    """For each axis of the value, the axis of the input that it follows."""
    whole_axes: frozenset[int]
    """Axes of the input that each element needs completely."""


@dataclass
class InputBarriers:
    """
    Analysis of the values that depend on one input of a dataflow, for a lower bound on
    the bytes of the input that are read again.
    """

    dataflow: DataflowGraph
    input_value: SSAValue

    def __post_init__(self) -> None:
        self.shape = shape_of(self.input_value)
        axes = {axis: axis for axis in range(len(self.shape))}
        self._chains = {
            self.input_value: ElementDependence(axes, itemsize_of(self.input_value))
        }
        self._spreads = {self.input_value: AxisDependence(axes, frozenset())}
        for op in self.dataflow.operations:
            if has_exact_accesses(op):
                self._propagate_dependence_through(op)

    def reloaded_bytes(self, capacity: int) -> int:
        """
        Return the bytes of the input that are read again, with `capacity` bytes of
        inner memory.
        """
        return max(
            (
                self._reloaded_bytes_for(each, capacity)
                for each in self.dataflow.outputs
            ),
            default=0,
        )

    def _reloaded_bytes_for(self, output: SSAValue, capacity: int) -> int:
        """Return the bytes of the input that are read again because of one output."""
        chain, spread = self._chains.get(output), self._spreads.get(output)
        if chain is None or spread is None or not spread.whole_axes:
            return 0
        matched = {
            input_axis
            for axis, input_axis in spread.axes.items()
            if chain.axes.get(axis) == input_axis
        }
        remaining = set(range(len(self.shape))) - spread.whole_axes
        if any(self.shape[axis] > 1 and axis not in matched for axis in remaining):
            return 0
        slices = prod(self.shape[axis] for axis in remaining)
        size = prod(self.shape[axis] for axis in spread.whole_axes) * chain.min_itemsize
        return slices * max(0, size - capacity)

    def _propagate_dependence_through(self, op: TilingInterface) -> None:
        """
        Update the element and axis dependences of the results of `op` on the input by
        those of each operand.
        """
        for index, (operand, accesses) in enumerate(
            zip(self.dataflow.operands_of(op), op.indexing_maps(), strict=True)
        ):
            if accesses is None or operand not in self._spreads:
                continue
            for result, written in zip(
                op.results, op.result_indexing_maps(), strict=True
            ):
                along = _axis_map_of(op, operand, accesses, written)
                if along is not None:
                    self._propagate_element_dependence(op, index, result, along)
                    self._propagate_axis_dependence(operand, result, along)

    def _propagate_element_dependence(
        self,
        op: ReferenceInterface,
        operand_index: int,
        result: SSAValue,
        axis_map: OperandAxisMap,
    ) -> None:
        """
        Record an injective dependence of `result` on the input if the operand has one
        and no element is dropped; of two, that with larger elements wins.
        """
        operand = self.dataflow.operands_of(op)[operand_index]
        chain = self._chains.get(operand)
        is_whole = element_count_of(operand) == element_count_of(result)
        if chain is None or not is_whole or not axis_map.has_all_axes:
            return
        dependence = ElementDependence(
            {
                new: chain.axes[old]
                for old, new in axis_map.axes.items()
                if old in chain.axes
            },
            min(chain.min_itemsize, itemsize_of(result)),
        )
        known = self._chains.get(result)
        if known is None or known.min_itemsize < dependence.min_itemsize:
            self._chains[result] = dependence

    def _propagate_axis_dependence(
        self, operand: SSAValue, result: SSAValue, axis_map: OperandAxisMap
    ) -> None:
        """
        Record the input axes that each element of `result` needs completely; of two
        dependences, that on more elements wins.
        """
        spread = self._spreads[operand]
        new_whole = {
            spread.axes[old] for old in axis_map.whole_axes if old in spread.axes
        }
        dependence = AxisDependence(
            {
                new: spread.axes[old]
                for old, new in axis_map.axes.items()
                if old in spread.axes and old not in axis_map.whole_axes
            },
            spread.whole_axes | new_whole,
        )
        known = self._spreads.get(result)
        if known is None or self._count_elements_of_whole_axes(
            known
        ) < self._count_elements_of_whole_axes(dependence):
            self._spreads[result] = dependence

    def _count_elements_of_whole_axes(self, dependence: AxisDependence) -> int:
        return prod(self.shape[axis] for axis in dependence.whole_axes)


@dataclass(frozen=True)
class OperandAxisMap:
    """Map from the axes of an operand to those of a result."""

    axes: Mapping[int, int]
    """For each axis of the operand, the axis of the result with the same indices."""
    whole_axes: frozenset[int]
    """Axes of the operand that each element of the result needs completely."""
    has_all_axes: bool
    """True if every axis of the operand is an axis of the result."""


def _axis_map_of(
    op: TilingInterface,
    operand: SSAValue,
    accesses: Accesses,
    result_accesses: Accesses,
) -> OperandAxisMap | None:
    """
    Return the map from the axes of an operand to those of the result; None if an axis
    maps neither to an axis of the result nor to a whole reduction.
    """
    shape = shape_of(operand)
    axis_of_iterator = {
        access.terms[0][0]: axis
        for axis, access in enumerate(result_accesses)
        if _is_identity_index(access)
    }
    axes, whole = dict[int, int](), set[int]()
    for axis, access in enumerate(accesses):
        if shape[axis] == 1:
            continue
        if not _is_identity_index(access) or access.index is not None:
            return None
        iterator = access.terms[0][0]
        if op.iteration_domain()[iterator].extent != shape[axis]:
            return None
        if iterator in axis_of_iterator:
            axes[axis] = axis_of_iterator[iterator]
        elif op.iteration_domain()[iterator].kind is IteratorType.REDUCTION:
            whole.add(axis)
        else:
            return None
    return OperandAxisMap(
        axes, frozenset(whole), len(axes) == sum(e > 1 for e in shape)
    )


def _is_identity_index(access: IndexAccess) -> bool:
    """Return `True` if an index is a plain iterator."""
    is_one = access.width == 1 and access.offset == 0 and len(access.terms) == 1
    return is_one and access.terms[0][1] == 1


def find_largest_input_reload(
    flow: DataflowGraph, capacity: int
) -> ExtraTraffic | None:
    """
    Return the largest reload of one input, given the capacity of inner memories. Only
    one input counts, because chains of several inputs may merge and share inner memory.
    """
    barriers: list[ExtraTraffic] = []
    for value in flow.inputs:
        if element_count_of(value) * itemsize_of(value) <= capacity:
            continue
        if reloaded := InputBarriers(flow, value).reloaded_bytes(capacity):
            name = value.name_hint or "an argument"
            barriers.append(ExtraTraffic("barrier", f"%{name}", reloaded))
    return max(barriers, key=lambda barrier: barrier.bytes, default=None)
