"""
Part of the pass `graph-hoist-reshapes` that computes elementwise operations and
reductions on both sides of reshapes under one shape.

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

from xdsl.builder import Builder
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph
from tlf.dialects.interfaces import ElementwiseInterface
from tlf.dialects.located_rewriting import located_rewriter_at
from tlf.dialects.types import tensor_type
from tlf.passes.graph.permutations import reshape_to
from tlf.passes.graph.pointwise import is_pointwise, rebuild_elementwise
from tlf.passes.graph.split_axes import (
    AxisFactors,
    factor_indices_of_axes,
    has_several_factors,
    remark_split_before_op,
    split_factors_of_shapes,
    split_shape_of_broadcast,
)
from tlf.passes.op_replacement import is_in_planned_group

MAX_OPERATIONS = 256
"""Maximum number of operations of a region."""


def refine_regions_of_block(block: Block) -> None:
    """
    Compute what is computed between and behind reshapes on the common refinement of
    their shapes, where a reduction reduces axes that a reshape merged, and elementwise
    operations compute the same elements under another shape.
    """
    order = {op: index for index, op in enumerate(block.ops)}
    for op in order:
        if op.parent is None or not isinstance(op, graph.ReshapeOp):
            continue
        if is_in_planned_group(op):
            return
        region = _RefinedRegion.behind_reshape(op, order)
        if region is not None and region.is_worth_refining(op):
            region.rebuild(op)


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
class _RefinedRegion:
    """
    Elementwise operations, reductions and reshapes behind a reshape, which can be
    computed under another shape.
    """

    shape: tuple[int, ...]
    factors: dict[SSAValue, AxisFactors]
    """Factors of the axes of the tensors with all elements, in order."""
    operations: list[Operation] = field(default_factory=list[Operation])

    @staticmethod
    def behind_reshape(
        op: graph.ReshapeOp, order: Mapping[Operation, int]
    ) -> _RefinedRegion | None:
        """Return the region behind a reshape; None if shapes have no refinement."""
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
        region = _RefinedRegion(shape, {op.result: factors})
        region._collect_operations(op, order)
        return region

    def _collect_operations(
        self, first: graph.ReshapeOp, order: Mapping[Operation, int]
    ) -> None:
        """Collect the operations of the region, in program order."""
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
            tensor_type(each).get_shape() == shape and _is_computed_once(each)
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
        if _is_computed_once(op.operand) and is_pointwise(op.operand.owner):
            shapes.add(tensor_type(op.operand).get_shape())
        reduced = {
            tensor_type(each.operand).get_shape()
            for each in self.operations
            if isinstance(each, graph.ReduceOp)
        }
        return merged and len(shapes | reduced) > 1

    def rebuild(self, op: graph.ReshapeOp) -> None:
        """Rebuild the operations on the refined shape, after the operand of `op`."""
        source = reshape_to(op.operand, self.shape, _builder_at(op))
        refined: dict[SSAValue, SSAValue] = {op.result: source}
        for each in self.operations:
            builder = _builder_at(each)
            if isinstance(each, graph.ReshapeOp):
                refined[each.result] = refined[each.operand]
            elif isinstance(each, graph.ReduceOp):
                self._rebuild_reduction(each, refined[each.operand], builder)
            else:
                assert is_pointwise(each)
                remark_split_before_op(each)
                operands = self._split_operands(each, refined, builder)
                rebuilt = rebuild_elementwise(each, operands, self.shape, builder)
                rebuilt.name_hint = each.results[0].name_hint
                refined[each.results[0]] = rebuilt
        self._replace_results(refined)
        for each in reversed([op, *self.operations]):
            if not any(result.uses for result in each.results):
                each.detach()
                each.erase()

    def _split_operands(
        self,
        op: ElementwiseInterface,
        refined: Mapping[SSAValue, SSAValue],
        builder: Builder,
    ) -> list[SSAValue]:
        """Return the operands of an elementwise operation with their axes split."""
        factors = self.factors[op.results[0]]
        return [
            refined.get(each)
            or reshape_to(each, split_shape_of_broadcast(each, factors), builder)
            for each in op.operands
        ]

    def _rebuild_reduction(
        self, op: graph.ReduceOp, operand: SSAValue, builder: Builder
    ) -> None:
        """Reduce the factors of axes, and replace the result."""
        axes = factor_indices_of_axes(self.factors[op.operand], op.axis_list)
        reduction = graph.ReduceOp(
            operand,
            op.reduce_kind,
            axes,
            keepdims=op.keepdims is not None,
            acc=op.acc,
            element=tensor_type(op.result).element_type,
        )
        reduction.location = op.location
        result = builder.insert(reduction).result
        shape = tensor_type(op.result).get_shape()
        op.result.replace_all_uses_with(reshape_to(result, shape, builder))

    def _replace_results(self, refined: Mapping[SSAValue, SSAValue]) -> None:
        """Let the readers outside of the region read reshapes of what is refined."""
        members = {*self.operations}
        for op in self.operations:
            readers = [
                use for use in op.results[0].uses if use.operation not in members
            ]
            if isinstance(op, graph.ReduceOp) or not readers:
                continue
            shape = tensor_type(op.results[0]).get_shape()
            merged = reshape_to(refined[op.results[0]], shape, _builder_at(op))
            for use in readers:
                use.operation.operands[use.index] = merged


def _builder_at(op: Operation) -> Builder:
    """Return a builder before an operation, whose operations take its location."""
    rewriter = located_rewriter_at(op)
    rewriter.insertion_point = InsertPoint.before(op)
    return rewriter


def _is_computed_once(value: SSAValue) -> bool:
    """Return `True` if an operation computes a tensor for one reader alone."""
    return isinstance(value.owner, Operation) and value.has_one_use()
