"""Pass `graph-hoist-reshapes`: hoists reshapes that split axes above operations."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    RewritePattern,
)
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph
from tlf.dialects.function_calls import defined_functions_of
from tlf.dialects.interfaces import (
    ContractionInterface,
    ElementwiseInterface,
    PositionDependentInterface,
    ReductionInterface,
    TilingInterface,
    ViewInterface,
)
from tlf.dialects.located_rewriting import rewrite_module
from tlf.dialects.types import tensor_type, tensor_type_like
from tlf.dialects.value_users import single_user_of
from tlf.passes.graph.broadcast_gathers import BroadcastGatherPattern
from tlf.passes.graph.cancel_transposes import CancelTransposesPattern
from tlf.passes.graph.contraction_product import Product
from tlf.passes.graph.permutations import (
    can_move_transpose_past,
    inverse_permutation,
    non_unit_extents,
    reshape_to,
)
from tlf.passes.graph.region_rebuilding import refine_regions_of_block
from tlf.passes.graph.reshape_broadcasts import SplitBroadcastPattern
from tlf.passes.graph.reshape_for_residency import (
    SplitBeforeSlicePattern,
    SplitReducedDimsPattern,
    has_residency_levels,
)
from tlf.passes.graph.sink_collapse import SinkCollapsePattern, SplitBatchDimsPattern
from tlf.passes.graph.sink_interleaving import (
    SinkInterleavingBelowReductionPattern,
    SinkInterleavingPattern,
)
from tlf.passes.graph.split_axes import (
    PASS_NAME,
    AxisFactors,
    IteratorSplits,
    factor_indices_of_axes,
    remark_split_before_op,
    shape_of_factors,
    split_factors_of_shapes,
    split_factors_of_single_use,
    split_iterators_of_product,
    split_shape_of_broadcast,
    split_shape_of_operand,
)
from tlf.passes.graph.split_axis_reductions import (
    SplitReductionPattern,
    can_other_users_read_split,
    replace_reshape_by_split_tensor,
    split_factors_readable_by_users,
)
from tlf.passes.op_replacement import is_in_planned_group


def _remark_reshape_not_hoisted(op: Operation) -> None:
    """Emit a remark on why a reshape was not hoisted above the operation before it."""
    if not isinstance(op, graph.ReshapeOp) or not _has_elementwise_or_reduction_user(
        op.result
    ):
        return
    shapes = [tensor_type(value).get_shape() for value in (op.operand, op.result)]
    factors, before = split_factors_of_shapes(*shapes), op.operand.owner
    if factors is None or all(len(each) == 1 for each in factors):
        return
    if not isinstance(before, ElementwiseInterface | ContractionInterface):
        return
    if op.operand.uses.get_length() > 1:
        reason = "the result has other users"
    elif is_in_planned_group(before):
        reason = "it has a plan"
    else:
        reason = "it has windows, or starts from a tensor"
    text = f"axes are split after {before.name.removeprefix('graph.')}: {reason}"
    graph.add_remark(before, GraphHoistReshapesPass.name, "missed", text)


def _has_elementwise_or_reduction_user(
    value: SSAValue, allows_contractions_and_slices: bool = False
) -> bool:
    """
    Return `True` if an elementwise operation or a reduction reads a value, directly or
    through views and transposes; with `allows_contractions_and_slices` also if a
    contraction reads the value, or if one of these operations reads a slice of it.
    """
    readers = (
        ElementwiseInterface,
        ReductionInterface,
        *((ContractionInterface,) if allows_contractions_and_slices else ()),
    )
    through = (
        ViewInterface,
        graph.TransposeOp,
        *((graph.SliceOp,) if allows_contractions_and_slices else ()),
    )
    users = [use.operation for use in value.uses]
    return any(
        isinstance(user, readers)
        or (
            isinstance(user, through)
            and _has_elementwise_or_reduction_user(
                user.results[0], allows_contractions_and_slices
            )
        )
        for user in users
    )


@dataclass
class SplitElementwisePattern(RewritePattern):
    """
    Split the operands of elementwise operations instead of their results, if other
    operations compute with the split results, or if a reshape cancels out.
    """

    has_residency: bool = False
    """True if tensors may be resident in a level near the engines between groups."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, graph.ReshapeOp):
            return
        if (factors := split_factors_readable_by_users(op)) is None:
            return
        before = op.operand.owner
        if not isinstance(before, ElementwiseInterface) or is_in_planned_group(before):
            return
        if isinstance(before, PositionDependentInterface):
            return
        is_used = _has_elementwise_or_reduction_user(op.result, self.has_residency)
        is_returned = all(
            isinstance(e.operation, func.ReturnOp) for e in op.result.uses
        )
        if not (
            is_used or _can_cancel_reshape_of_operands(before, factors, is_returned)
        ):
            return
        remark_split_before_op(before)
        rewriter.insertion_point = InsertPoint.before(before)
        operands = [
            reshape_to(operand, split_shape_of_broadcast(operand, factors), rewriter)
            for operand in before.operands
        ]
        element = tensor_type(before.results[0]).element_type
        shape = tensor_type(op.result).get_shape()
        type_ = tensor_type_like(tensor_type(op.result), shape, element)
        rebuilt = before.tiled_implementation(operands, [type_])
        rebuilt.location = before.location
        rewriter.insert(rebuilt)
        replace_reshape_by_split_tensor(op, rebuilt.results[0], factors, rewriter)
        rewriter.erase(before)


@dataclass
class SplitContractionPattern(RewritePattern):
    """
    Split the operands of contractions instead of their results, if other operations
    permute or compute with the split results, or if a reshape of an operand cancels
    out.
    """

    has_residency: bool = False
    """True if tensors may be resident in a level near the engines between groups."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, graph.ReshapeOp):
            return
        if (factors := split_factors_readable_by_users(op)) is None:
            return
        before = op.operand.owner
        if not isinstance(before, Operation):
            return
        if (product := Product.from_operation(before)) is None:
            return
        splits = dict(zip(product.result, factors, strict=True))
        is_permuted = isinstance(single_user_of(op.result), graph.TransposeOp)
        is_used = is_permuted or _has_elementwise_or_reduction_user(
            op.result, self.has_residency
        )
        if not (is_used or _can_cancel_reshape_of_product(product, splits)):
            return
        remark_split_before_op(before)
        rewriter.insertion_point = InsertPoint.before(before)
        contract = rewriter.insert(
            split_iterators_of_product(product, splits, rewriter).build_contract()
        )
        replace_reshape_by_split_tensor(op, contract.results[0], factors, rewriter)
        rewriter.erase(before)


@dataclass
class SplitBeforeTransposePattern(RewritePattern):
    """
    Hoist a reshape that splits axes above a transpose, unless the function only returns
    the reshaped tensor, where the reshape is a view.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if (
            not isinstance(op, graph.ReshapeOp)
            or (factors := split_factors_of_single_use(op)) is None
        ):
            return
        before = op.operand.owner
        if not isinstance(before, graph.TransposeOp) or is_in_planned_group(before):
            return
        if all(isinstance(use.operation, func.ReturnOp) for use in op.result.uses):
            return
        factors_by_axis = dict(zip(before.axis_list, factors, strict=True))
        source = tuple(factors_by_axis[axis] for axis in range(len(factors)))
        split = reshape_to(before.operand, shape_of_factors(source), rewriter)
        order = factor_indices_of_axes(source, before.axis_list)
        rewriter.replace(op, graph.TransposeOp(split, order))
        rewriter.erase(before)


@dataclass
class SliceBeforeTransposePattern(RewritePattern):
    """
    Hoist a slice above a transpose, if nothing else needs the transposed tensor in
    memory: all users are slices, or elementwise operations if rows stay contiguous.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, graph.SliceOp) or is_in_planned_group(op):
            return
        before = op.operand.owner
        if not isinstance(before, graph.TransposeOp):
            return
        if not _is_read_by_slices(before):
            return
        inverse = inverse_permutation(before.axis_list)
        shape = tensor_type(op.result).get_shape()
        starts, sizes, steps = (
            [each[axis] for axis in inverse] for each in (op.starts, shape, op.steps)
        )
        slice_ = rewriter.insert(graph.SliceOp(before.operand, starts, sizes, steps))
        rewriter.replace(op, graph.TransposeOp(slice_, before.axis_list))


def _is_read_by_slices(transpose: graph.TransposeOp) -> bool:
    """
    Return `True` if all users of a transpose are slices, or elementwise operations of
    its shape that read rows through it, such as those beside a rotation of halves.
    """
    users = [use.operation for use in transpose.result.uses]
    others = [user for user in users if not isinstance(user, graph.SliceOp)]
    shape = tensor_type(transpose.result).get_shape()
    has_rows = transpose.axis_list[-1] == len(shape) - 1
    return not others or (
        has_rows
        and all(
            can_move_transpose_past(user)
            and tensor_type(user.results[0]).get_shape() == shape
            for user in others
        )
    )


def _can_cancel_reshape_of_operands(
    op: Operation, factors: AxisFactors, is_returned: bool
) -> bool:
    """
    Return `True` if splitting the axes of an elementwise operation cancels out with a
    reshape of its operands, or of the operands of a contraction before it. Reshapes of
    arguments and of returned values are views, which nothing needs to cancel.
    """
    split = shape_of_factors(factors)
    for operand in op.operands:
        before = operand.owner
        if tensor_type(operand).get_shape() != tensor_type(op.results[0]).get_shape():
            continue
        if isinstance(before, graph.ReshapeOp):
            is_computed = isinstance(before.operand.owner, Operation)
            if tensor_type(before.operand).get_shape() == split and (
                is_computed or not is_returned
            ):
                return True
            continue
        if not isinstance(before, Operation) or not can_other_users_read_split(
            operand, op, factors
        ):
            continue
        if isinstance(before, ElementwiseInterface):
            if _can_cancel_reshape_of_operands(before, factors, is_returned):
                return True
        elif (product := Product.from_operation(before)) is not None:
            if _can_cancel_reshape_of_product(
                product, dict(zip(product.result, factors, strict=True))
            ):
                return True
    return False


def _can_cancel_reshape_of_product(
    product: Product, iterator_splits: IteratorSplits
) -> bool:
    """
    Return `True` if splitting an operand cancels out with a reshape of a computed
    value, up to unit axes.
    """
    for value, axes in zip(product.values, product.axes, strict=True):
        source = value.owner
        is_split = any(len(iterator_splits.get(axis, ())) > 1 for axis in axes)
        if not isinstance(source, ViewInterface) or not is_split:
            continue
        viewed = source.operands[0]
        is_computed = isinstance(viewed.owner, TilingInterface)
        shape = non_unit_extents(tensor_type(viewed).get_shape())
        if is_computed and shape == non_unit_extents(
            split_shape_of_operand(value, axes, iterator_splits)
        ):
            return True
    return False


@dataclass(frozen=True)
class GraphHoistReshapesPass(ModulePass):
    """
    Hoist reshapes that split axes above elementwise operations and contractions.

    The reshape of a result becomes reshapes of the operands, which often cancel out
    with other reshapes. A product and its users under another shape can then be fused,
    and contractions can absorb the movements before a reshape.

    Reductions of the same tensor along other axes read the split tensor, and their
    results are reshaped back. An axis of a contraction is split if a reshape merged it
    from axes along which a broadcast repeats a tensor: the tensor is read once.

    Elementwise operations and reductions on both sides of a reshape that merges reduced
    axes are computed under the common refinement of both shapes.

    A reshape is kept if no elementwise operation, reduction or permutation reads its
    result: it costs nothing there. Splits and slices are also hoisted above transposes.

    If tiles of a target have more than one level, tensors may be resident between
    groups, but not under another shape. Then a contraction reduces several axes instead
    of one merged axis, and axes are split before they are sliced.
    """

    name = PASS_NAME

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions_of(op):
            refine_regions_of_block(function.body.block)
        has_residency = has_residency_levels(op)
        patterns: list[RewritePattern] = [
            SplitElementwisePattern(has_residency),
            SplitContractionPattern(has_residency),
            SplitReductionPattern(),
            SplitBroadcastPattern(),
            SplitBatchDimsPattern(),
            SplitBeforeTransposePattern(),
            SinkCollapsePattern(),
            BroadcastGatherPattern(),
            SinkInterleavingPattern(),
            SinkInterleavingBelowReductionPattern(),
            SliceBeforeTransposePattern(),
            CancelTransposesPattern(),
            *graph.ReshapeOp.get_canonicalization_patterns(),
            *graph.TransposeOp.get_canonicalization_patterns(),
        ]
        if has_residency:
            patterns += (SplitBeforeSlicePattern(), SplitReducedDimsPattern())
        applier = GreedyRewritePatternApplier(patterns, dce_enabled=True)
        rewrite_module(op, applier)
        for each in op.walk():
            _remark_reshape_not_hoisted(each)
