"""
Part of the pass `graph-hoist-reshapes` that computes elementwise operations and
reductions on both sides of reshapes under one shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.builder import Builder
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph
from tlf.dialects.interfaces import ElementwiseInterface
from tlf.dialects.located_rewriting import located_rewriter_at
from tlf.dialects.types import tensor_type
from tlf.passes.graph.permutations import reshape_to
from tlf.passes.graph.pointwise import is_pointwise, rebuild_elementwise
from tlf.passes.graph.refined_regions import RefinedRegion
from tlf.passes.graph.split_axes import (
    factor_indices_of_axes,
    remark_split_before_op,
    split_shape_of_broadcast,
)
from tlf.passes.graph.split_axis_reductions import rebuild_reduction
from tlf.passes.op_replacement import is_in_planned_group


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
        region = RefinedRegion.around_reshape(op, order)
        if region is not None and region.is_worth_refining(op):
            RegionRebuilder.of_region(region).rebuild()


@dataclass
class RegionRebuilder:
    """Rebuilding of the operations of a region under the refined shape."""

    region: RefinedRegion
    spans: Sequence[range]
    """Axes of the refined shape that all operations treat alike, as one axis."""
    _refined: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    @staticmethod
    def of_region(region: RefinedRegion) -> RegionRebuilder:
        """
        Return the rebuilder of a region. If it starts from tensors in memory, axes that
        no operation distinguishes are one axis; otherwise they are those of the
        producer.
        """
        axes = range(len(region.shape))
        starts = [
            axis
            for axis in axes
            if not axis
            or not region.starts_from_memory
            or _is_distinguished_from_next(region, axis - 1)
        ]
        ends = [*starts[1:], len(axes)] if starts else []
        spans = [range(*each) for each in zip(starts, ends, strict=True)]
        return RegionRebuilder(region, spans)

    def rebuild(self) -> None:
        """Rebuild the operations, and erase those that nothing reads any more."""
        for each in self.region.operations:
            builder = _builder_at(each)
            if isinstance(each, graph.ReshapeOp):
                refined = self._refine(each.operand, builder)
                self._refined[each.result] = refined
            elif isinstance(each, graph.ReduceOp):
                self._rebuild_reduction(each, builder)
            else:
                assert is_pointwise(each)
                self._rebuild_elementwise(each, builder)
        self._replace_results()
        for each in reversed(self.region.operations):
            if not any(result.uses for result in each.results):
                each.detach()
                each.erase()

    def _refine(self, value: SSAValue, builder: Builder) -> SSAValue:
        """Return a tensor with all elements under the refined shape."""
        if value not in self._refined:
            shape = self._collapse(self.region.shape)
            self._refined[value] = reshape_to(value, shape, builder)
        return self._refined[value]

    def _collapse(self, shape: Sequence[int]) -> Sequence[int]:
        """Return a shape, which broadcasts to the refined one, with spans as axes."""
        missing = len(self.region.shape) - len(shape)
        extents = [1] * missing + [*shape]
        collapsed = [prod(extents[span.start : span.stop]) for span in self.spans]
        return collapsed[sum(span.stop <= missing for span in self.spans) :]

    def _rebuild_elementwise(self, op: ElementwiseInterface, builder: Builder) -> None:
        """Rebuild an elementwise operation on operands with their axes split."""
        (result,) = op.results
        remark_split_before_op(op)
        operands = [
            self._refined.get(each) or self._reshape_operand(op, each, builder)
            for each in op.operands
        ]
        shape = self._collapse(self.region.shape)
        rebuilt = rebuild_elementwise(op, operands, shape, builder)
        rebuilt.name_hint = result.name_hint
        self._refined[result] = rebuilt

    def _reshape_operand(
        self, op: ElementwiseInterface, value: SSAValue, builder: Builder
    ) -> SSAValue:
        """Reshape an operand from outside of the region, broadcast or not."""
        split = split_shape_of_broadcast(value, self.region.factors[op.results[0]])
        return reshape_to(value, self._collapse(split), builder)

    def _rebuild_reduction(self, op: graph.ReduceOp, builder: Builder) -> None:
        """Reduce the factors of axes, and replace the result."""
        axes = factor_indices_of_axes(self.region.factors[op.operand], op.axis_list)
        spans = [n for n, span in enumerate(self.spans) if span.start in axes]
        operand = self._refine(op.operand, builder)
        result = rebuild_reduction(op, operand, spans, builder)
        shape = tensor_type(op.result).get_shape()
        op.result.replace_all_uses_with(reshape_to(result, shape, builder))

    def _replace_results(self) -> None:
        """Let the readers outside of the region read reshapes of what is refined."""
        members = {*self.region.operations}
        for op in self.region.operations:
            (result,) = op.results
            readers = [use for use in result.uses if use.operation not in members]
            if isinstance(op, graph.ReduceOp) or not readers:
                continue
            shape = tensor_type(result).get_shape()
            merged = reshape_to(self._refined[result], shape, _builder_at(op))
            for use in readers:
                use.operation.operands[use.index] = merged


def _is_distinguished_from_next(region: RefinedRegion, axis: int) -> bool:
    """
    Return `True` if an operation treats an axis of the refined shape and the next one
    differently: it reduces one of them, or an operand varies along one of them.
    """
    return any(
        (axis in axes) != (axis + 1 in axes)
        for op in region.operations
        for axes in _axes_treated_alike(region, op)
    )


def _axes_treated_alike(region: RefinedRegion, op: Operation) -> list[tuple[int, ...]]:
    """Return the axes that an operation reduces, or along which operands vary."""
    if isinstance(op, graph.ReduceOp):
        return [factor_indices_of_axes(region.factors[op.operand], op.axis_list)]
    if isinstance(op, graph.ReshapeOp):
        return []
    factors, rank = region.factors[op.results[0]], len(region.shape)
    varying: list[tuple[int, ...]] = []
    for value in op.operands:
        shape = split_shape_of_broadcast(value, factors)
        first = rank - len(shape)
        varying.append(
            tuple(first + n for n, extent in enumerate(shape) if extent != 1)
        )
    return varying


def _builder_at(op: Operation) -> Builder:
    """Return a builder before an operation, whose operations take its location."""
    rewriter = located_rewriter_at(op)
    rewriter.insertion_point = InsertPoint.before(op)
    return rewriter
