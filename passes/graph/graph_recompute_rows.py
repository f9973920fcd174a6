"""
Pass `graph-recompute-rows`: gives reductions of long rows their own computation of the
elements.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph
from tlf.dialects.dead_operations import erase_dead_operations
from tlf.dialects.function_calls import defined_functions_of
from tlf.dialects.interfaces import ElementwiseInterface
from tlf.dialects.storage_attributes import mark_recomputed, mark_stored
from tlf.dialects.target import TargetSpec
from tlf.dialects.types import tensor_type
from tlf.passes.graph.merged_axes import MergedAxes
from tlf.passes.graph.permutations import reshape_to
from tlf.passes.graph.pointwise import is_pointwise, rebuild_elementwise
from tlf.passes.op_replacement import is_in_planned_group
from tlf.planner.fusion.producer_closure import reshape_source_of
from tlf.planner.fusion.row_recomputation import RowRecomputation, have_other_readers

NAME = "graph-recompute-rows"


@dataclass
class _RowRebuilder:
    """Rebuilding of the reductions of long rows of a block."""

    rule: RowRecomputation
    _reshaped: dict[tuple[SSAValue, tuple[int, ...]], SSAValue] = field(
        default_factory=dict[tuple[SSAValue, tuple[int, ...]], SSAValue]
    )
    """Reshapes by tensor and shape, so that reductions read the same tensor."""
    _copies: Counter[Operation] = field(default_factory=Counter[Operation])
    """Number of copies by operation."""

    def rebuild_reductions_of_block(self, block: Block) -> None:
        """Rebuild reductions with copies of the operations that they recompute."""
        for op in list(block.ops):
            if not isinstance(op, graph.ReduceOp) or op.init is not None:
                continue
            computing = self.rule.operations_to_recompute(op)
            if computing is not None and not is_in_planned_group(op):
                self._rebuild_reduction(op, computing)

    def _rebuild_reduction(
        self, op: graph.ReduceOp, computing: Sequence[Operation]
    ) -> None:
        """
        Rebuild a reduction with adjacent reduced axes as one axis, and with copies of
        operations that compute its operand, unless neither makes a difference.
        """
        axes = MergedAxes.of_reduction(op)
        if not all(axes.can_rebuild(each) for each in computing):
            axes = MergedAxes.of_single_axes(op)
        if not all(axes.can_rebuild(each) for each in computing):
            return
        has_copies = have_other_readers(computing, op)
        if axes.merges_none and len(axes.reduced_axes) == 1 and not has_copies:
            return
        if computing:
            text = f"recomputes {len(computing)} operations for rows that do not fit"
            graph.add_remark(op, NAME, "passed", text)
        for stored in self.rule.computed_sources_of(op):
            mark_stored(stored)
        builder = Builder(InsertPoint.before(op))
        operand = self._recompute_operand(op, computing, axes, builder)
        result = _reduce_along_spans(op, operand, axes, builder)
        result.name_hint = op.result.name_hint
        reshape = reshape_to(result, tensor_type(op.result).get_shape(), builder)
        op.result.replace_all_uses_with(reshape)
        op.detach()
        op.erase()
        _sink_reshape(reshape)

    def _recompute_operand(
        self,
        op: graph.ReduceOp,
        computing: Sequence[Operation],
        axes: MergedAxes,
        builder: Builder,
    ) -> SSAValue:
        """Build copies of operations that compute the operand of a reduction."""
        values = dict[SSAValue, SSAValue]()
        for each in computing:
            result = each.results[0]
            operands = [
                values[value]
                if value in values
                else self._reshape(value, axes, builder)
                for value in each.operands
            ]
            if not isinstance(each, ElementwiseInterface):
                (values[result],) = operands
                continue
            if axes.has_merged_shape(result):
                operands = [values.get(value, value) for value in each.operands]
            copy = rebuild_elementwise(each, operands, axes.merged_shape, builder)
            assert isinstance(copy.owner, Operation)
            mark_recomputed(copy.owner, self._copies[each])
            self._copies[each] += 1
            values[result] = copy
        return values.get(op.operand) or self._reshape(op.operand, axes, builder)

    def _reshape(self, value: SSAValue, axes: MergedAxes, builder: Builder) -> SSAValue:
        """Reshape a value by spans, unless it is a scalar or each span is one axis."""
        shape = tensor_type(value).get_shape()
        if axes.merges_none or not shape:
            return value
        key = source, merged = reshape_source_of(value), axes.shape_of(shape)
        if key not in self._reshaped:
            self._reshaped[key] = reshape_to(source, merged, builder)
        return self._reshaped[key]


def _reduce_along_spans(
    op: graph.ReduceOp, operand: SSAValue, axes: MergedAxes, builder: Builder
) -> SSAValue:
    """
    Build the reduction of an operand along each of its reduced axes, the longest one
    first, so that reductions of the same rows along one axis may run in one loop.
    """
    keepdims = not axes.merges_none or op.keepdims is not None
    order = sorted(axes.reduced_axes, key=lambda axis: -axes.merged_shape[axis])
    element, acc = tensor_type(op.result).element_type, op.accumulator_type
    is_single = len(order) == 1
    for axis in order:
        reduced = graph.ReduceOp(
            operand,
            op.reduce_kind,
            [axis],
            keepdims=keepdims or not is_single,
            acc=op.acc if axis == order[0] else None,
            element=element if is_single else acc,
        )
        reduced.location = op.location
        operand = builder.insert(reduced).result
    if is_single or acc == element:
        return operand
    rounded = graph.CastOp(operand, element)
    rounded.location = op.location
    return builder.insert(rounded).result


def _sink_reshape(reshape: SSAValue) -> None:
    """
    Compute the elementwise readers of a reshape, which combine it with scalars only,
    before it; nothing if the value is no reshape.
    """
    pending = [reshape]
    while pending:
        value = pending.pop()
        if not isinstance(value.owner, graph.ReshapeOp):
            continue
        source = value.owner.operand
        for reader in [use.operation for use in value.uses]:
            if not is_pointwise(reader) or not _combines_with_scalars(reader, value):
                continue
            builder = Builder(InsertPoint.before(reader))
            operands = [source if each is value else each for each in reader.operands]
            shape = tensor_type(source).get_shape()
            result = rebuild_elementwise(reader, operands, shape, builder)
            sunk = reshape_to(result, tensor_type(value).get_shape(), builder)
            reader.results[0].replace_all_uses_with(sunk)
            reader.detach()
            reader.erase()
            pending.append(sunk)


def _combines_with_scalars(op: Operation, value: SSAValue) -> bool:
    """Return `True` if an operation reads a value and otherwise scalars only."""
    others = [each for each in op.operands if each is not value]
    return all(not tensor_type(each).get_shape() for each in others)


@dataclass(frozen=True)
class GraphRecomputeRowsPass(ModulePass):
    """
    Rebuild reductions of rows that exceed the innermost level on copies of the
    elementwise operations that compute their operand from tensors in memory, so that no
    kernel stores these values for others. Adjacent reduced axes become one axis.

    Applies on targets that compute on tiles in registers. Values that are computed
    where they are stored, such as in the epilogue of a product, and operations that
    take longer than the moves are not copied.
    """

    name = NAME

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not TargetSpec.is_attached_to(op):
            return
        target = TargetSpec.read_from_module(op)
        if not target.computes_in_registers:
            return
        for function in defined_functions_of(op):
            rule = RowRecomputation(target.tile_levels[0], target)
            _RowRebuilder(rule).rebuild_reductions_of_block(function.body.block)
        erase_dead_operations(op.body)
