"""
Regions of elementwise operations and reductions on both sides of reshapes, which the
pass `graph-hoist-reshapes` computes under one shape.

A group normalization reshapes images to rows, one per group of channels, and the
normalized rows to images again. Its reductions and its elementwise operations have one
shape only if axes are split that are merged in the rows, or in the images: the common
refinement of both shapes. What is computed under one shape can be fused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import accumulate, pairwise
from operator import mul

from xdsl.ir import Operation, SSAValue

from tlf.dialects import graph
from tlf.dialects.types import tensor_type
from tlf.passes.graph.pointwise import is_pointwise
from tlf.passes.graph.split_axes import (
    AxisFactors,
    has_several_factors,
    split_factors_of_shapes,
)
from tlf.passes.op_replacement import is_in_planned_group

MAX_OPERATIONS = 256
"""Maximum number of operations of a region."""


def find_common_refinement(
    first: Sequence[int], second: Sequence[int]
) -> tuple[int, ...] | None:
    """
    Return the shape with the fewest axes that both shapes merge; None if there is none.
    """
    ends = sorted({*accumulate(first, mul), *accumulate(second, mul)} - {1})
    if 0 in ends or any(end % start for start, end in pairwise(ends)):
        return None
    return tuple(end // start for start, end in pairwise([1, *ends]))


@dataclass
class RefinedRegion:
    """
    Elementwise operations, reductions and reshapes around a reshape, which can be
    computed under another shape.
    """

    shape: tuple[int, ...]
    factors: dict[SSAValue, AxisFactors]
    """Factors of the axes of the tensors with all elements, in order."""
    operations: list[Operation] = field(default_factory=list[Operation])
    """Operations in program order."""
    starts_from_memory: bool = False
    """True if the region has all operations that compute its first operand."""

    @staticmethod
    def around_reshape(
        op: graph.ReshapeOp, order: Mapping[Operation, int]
    ) -> RefinedRegion | None:
        """Return the region of a reshape; None if its shapes have no refinement."""
        before, after = (
            tensor_type(value).get_shape() for value in (op.operand, op.result)
        )
        shape = find_common_refinement(before, after)
        factors = None if shape is None else split_factors_of_shapes(after, shape)
        if (
            shape is None
            or factors is None
            or not any(map(has_several_factors, factors))
        ):
            return None
        region = RefinedRegion(shape, {op.result: factors})
        region._collect_producers(op, order)
        region._collect_readers(op, order)
        return region

    def _collect_producers(
        self, op: graph.ReshapeOp, order: Mapping[Operation, int]
    ) -> None:
        """Collect the operations that compute the operand from tensors in memory."""
        producers = _find_producers_from_memory(op.operand)
        if producers is not None and all(each in order for each in producers):
            self.starts_from_memory = True
            self.operations = sorted(producers, key=order.__getitem__)
        shape = tensor_type(op.operand).get_shape()
        factors = split_factors_of_shapes(shape, self.shape)
        assert factors is not None
        self.factors.update((each.results[0], factors) for each in self.operations)
        self.operations.append(op)

    def _collect_readers(
        self, first: graph.ReshapeOp, order: Mapping[Operation, int]
    ) -> None:
        """Collect the operations behind a reshape, in program order."""
        pending = list[tuple[int, Operation]]()
        seen: set[Operation] = {first}

        def add_readers(value: SSAValue) -> None:
            for reader in {use.operation for use in value.uses} - seen:
                if (index := order.get(reader)) is not None:
                    seen.add(reader)
                    heappush(pending, (index, reader))

        add_readers(first.result)
        while pending and len(self.operations) < MAX_OPERATIONS:
            _, op = heappop(pending)
            if (factors := self._factors_of_result(op)) is None:
                continue
            self.operations.append(op)
            if not isinstance(op, graph.ReduceOp):
                self.factors[op.results[0]] = factors
                add_readers(op.results[0])

    def _factors_of_result(self, op: Operation) -> AxisFactors | None:
        """
        Return the factors of the axes of a result, or of the operand of a reduction;
        None for an operation that is not part of the region.
        """
        value = next(each for each in op.operands if each in self.factors)
        if is_in_planned_group(op):
            return None
        if isinstance(op, graph.ReshapeOp):
            after = tensor_type(op.result).get_shape()
            return split_factors_of_shapes(after, self.shape)
        if isinstance(op, graph.ReduceOp):
            return self.factors[value] if op.init is None else None
        shape = tensor_type(value).get_shape()
        if not is_pointwise(op) or tensor_type(op.results[0]).get_shape() != shape:
            return None
        others = [each for each in op.operands if each not in self.factors]
        has_own_producer = any(
            tensor_type(each).get_shape() == shape and is_computed_once(each)
            for each in others
        )
        return None if has_own_producer else self.factors[value]

    def is_worth_refining(self, op: graph.ReshapeOp) -> bool:
        """
        Return `True` if a reduction reduces merged axes, and an elementwise operation
        computes the same elements under another shape.
        """
        merged = any(
            isinstance(each, graph.ReduceOp)
            and any(
                has_several_factors(self.factors[each.operand][axis])
                for axis in each.axis_list
            )
            for each in self.operations
        )
        shapes = {
            tensor_type(each.results[0]).get_shape()
            for each in self.operations
            if is_pointwise(each)
        }
        if is_computed_once(op.operand) and is_pointwise(op.operand.owner):
            shapes.add(tensor_type(op.operand).get_shape())
        reduced = {
            tensor_type(each.operand).get_shape()
            for each in self.operations
            if isinstance(each, graph.ReduceOp)
        }
        return merged and len(shapes | reduced) > 1


def _find_producers_from_memory(value: SSAValue) -> set[Operation] | None:
    """
    Return the elementwise operations that compute a value from tensors that are stored
    in any case; None if it is computed from others.
    """
    producers, pending = set[Operation](), [value]
    shape = tensor_type(value).get_shape()
    while pending:
        each = pending.pop()
        owner = each.owner
        if isinstance(owner, graph.ReshapeOp):
            each, owner = owner.operand, owner.operand.owner
            if is_computed_once(each):
                return None
        if not is_computed_once(each) or isinstance(owner, graph.ConstantOp):
            continue
        if not is_pointwise(owner) or is_in_planned_group(owner):
            return None
        producers.add(owner)
        pending += [o for o in owner.operands if tensor_type(o).get_shape() == shape]
    return producers


def is_computed_once(value: SSAValue) -> bool:
    """Return `True` if an operation computes a tensor for one reader alone."""
    return isinstance(value.owner, Operation) and value.has_one_use()
