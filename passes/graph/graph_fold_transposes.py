"""Pass `graph-fold-transposes`: folds transposes into the accesses of contractions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    RewritePattern,
)

from tlf.dialects import graph
from tlf.dialects.graph.remark_batch import RemarkBatch
from tlf.dialects.interfaces import (
    ContractionInterface,
    DelinearizedReadInterface,
    MovementInterface,
    ViewInterface,
)
from tlf.dialects.located_rewriting import rewrite_module
from tlf.dialects.types import tensor_type
from tlf.passes.graph.contraction_product import (
    Axes,
    Product,
    iterators_of_plain_accesses,
)
from tlf.passes.graph.drop_broadcast_dims import DropBroadcastDimsPattern
from tlf.passes.graph.drop_unit_dims import DropUnitDimsPattern
from tlf.passes.graph.gather_axis_order import (
    ContiguousUnfoldPattern,
    HoistTransposeAboveTakePattern,
)
from tlf.passes.graph.permutations import (
    HoistPermutationPattern,
    SinkPermutationPattern,
)
from tlf.passes.op_replacement import is_in_planned_group


def iterators_of_permutation(op: Operation) -> tuple[Axes, Axes] | None:
    """
    Return the iterators along the operand and along the result of a movement that
    permutes or adds whole axes; None if it also slices or pads.
    """
    if not isinstance(op, MovementInterface) or len(op.operands) != 1:
        return None
    source = iterators_of_plain_accesses(op.indexing_maps()[0])
    result = iterators_of_plain_accesses(op.result_indexing_maps()[0])
    if source is None or result is None or op.padding_value(0) is not None:
        return None
    extents = dict(zip(result, tensor_type(op.results[0]).get_shape(), strict=True))
    source_shape = tuple(extents.get(axis) for axis in source)
    is_whole = source_shape == tensor_type(op.operands[0]).get_shape()
    return (source, result) if is_whole and not is_in_planned_group(op) else None


def fold_movement_into_product(product: Product, operand_index: int) -> Product | None:
    """
    Return the product that reads the operand of a movement instead of its result, if
    the movement permutes whole axes and every iterator still runs along an operand;
    else None.
    """
    movement = product.values[operand_index].owner
    if (
        not isinstance(movement, Operation)
        or (permutation := iterators_of_permutation(movement)) is None
    ):
        return None
    source, moved = permutation
    iterator = dict(zip(moved, product.axes[operand_index], strict=True))
    axes = tuple(iterator[axis] for axis in source)
    values, sides = list(product.values), list(product.axes)
    values[operand_index], sides[operand_index] = movement.operands[0], axes
    folded = Product(
        product.op,
        cast(tuple[SSAValue, SSAValue], tuple(values)),
        cast(tuple[Axes, Axes], tuple(sides)),
        product.result,
    )
    return folded if folded.has_all_iterators_in_operands() else None


def _mnemonic_of(op: Operation) -> str:
    return op.name.removeprefix("graph.")


def _remark_folded_movement(
    op: Operation, access_verb: str, movement: Operation
) -> None:
    """Emit a remark that a contraction `reads` or `writes` through a movement."""
    text = f"{_mnemonic_of(op)} {access_verb} through a {_mnemonic_of(movement)}"
    graph.add_remark(op, GraphFoldTransposesPass.name, "passed", text)


@dataclass
class FoldOperandTransposePattern(RewritePattern):
    """
    Fold transposes and other movements of operands into the indexing maps of a
    contraction.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if (product := Product.from_operation(op)) is None:
            return
        current = product
        for side in range(2):
            if (folded := fold_movement_into_product(current, side)) is not None:
                _remark_folded_movement(
                    op, "reads", cast(Operation, current.values[side].owner)
                )
                current = folded
        if current is not product:
            rewriter.replace(op, current.build_contract())


@dataclass
class FoldResultTransposePattern(RewritePattern):
    """Fold a transpose into a contraction of which it is the only user."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if (permutation := iterators_of_permutation(op)) is None:
            return
        source, moved = permutation
        owner = op.operands[0].owner
        if sorted(source) != sorted(moved) or not isinstance(owner, Operation):
            return
        if op.operands[0].uses.get_length() != 1:
            return
        if (product := Product.from_operation(owner)) is None:
            return
        iterator = dict(zip(source, product.result, strict=True))
        result = tuple(iterator[axis] for axis in moved)
        folded = Product(product.op, product.values, product.axes, result)
        _remark_folded_movement(owner, "writes", op)
        rewriter.replace(op, folded.build_contract())
        rewriter.erase(product.op)


def transpose_folding_patterns() -> Sequence[RewritePattern]:
    """Return new rewrite patterns of `graph-fold-transposes`, in the order of trial."""
    return (
        FoldOperandTransposePattern(),
        FoldResultTransposePattern(),
        DropUnitDimsPattern(),
        DropBroadcastDimsPattern(),
        SinkPermutationPattern(),
        HoistPermutationPattern(),
        HoistTransposeAboveTakePattern(),
        ContiguousUnfoldPattern(),
    )


def _reason_cannot_absorb_movements(op: ContractionInterface) -> str | None:
    """Return the reason why a contraction cannot absorb movements; None if it can."""
    if is_in_planned_group(op):
        return "the group has a plan"
    if op.init_value is not None:
        return f"the {_mnemonic_of(op)} starts from a tensor"
    return None if Product.from_operation(op) else f"the {_mnemonic_of(op)} has windows"


def _reason_not_whole_axis_permutation(movement: MovementInterface) -> str | None:
    """
    Return the reason why a movement is not a permutation of whole axes; None if it is.
    """
    if is_in_planned_group(movement):
        return "the group has a plan"
    if iterators_of_permutation(movement) is not None:
        return None
    accesses = movement.indexing_maps()[0] or ()
    has_axes = not isinstance(movement, DelinearizedReadInterface)
    if has_axes and any(not access.terms for access in accesses):
        return "an axis of extent 1 is repeated"
    return "an axis is sliced, padded or a window"


def _as_movement_of_tensor(op: object) -> MovementInterface | None:
    """Return an operation as a movement of one tensor, unless it is a view."""
    if not isinstance(op, MovementInterface) or isinstance(op, ViewInterface):
        return None
    return op if len(op.operands) == 1 else None


def _remark_unfolded_operand_movement(
    op: ContractionInterface, operand_index: int, remarks: RemarkBatch
) -> None:
    """Add a remark on why the movement of an operand is not folded."""
    if (movement := _as_movement_of_tensor(op.operands[operand_index].owner)) is None:
        return
    reason = _reason_cannot_absorb_movements(op) or _reason_not_whole_axis_permutation(
        movement
    )
    reason = reason or "an axis would run along no operand"
    text = f"{_mnemonic_of(movement)} before {_mnemonic_of(op)} is not folded: {reason}"
    remarks.add_remark(op, "missed", text)


def _remark_unfolded_result_movement(op: Operation, remarks: RemarkBatch) -> None:
    """Add a remark on why the movement of a contraction's result is not folded."""
    if (movement := _as_movement_of_tensor(op)) is None:
        return
    product = movement.operands[0].owner
    if not isinstance(product, ContractionInterface):
        return
    reason = _reason_cannot_absorb_movements(
        product
    ) or _reason_not_whole_axis_permutation(movement)
    if reason is None and movement.operands[0].uses.get_length() > 1:
        reason = "the result has other users"
    reason = reason or "the result is repeated"
    names = f"{_mnemonic_of(movement)} after {_mnemonic_of(product)}"
    text = f"{names} is not folded: {reason}"
    remarks.add_remark(movement, "missed", text)


@dataclass(frozen=True)
class GraphFoldTransposesPass(ModulePass):
    """
    Fold movements into the operands and results of contractions.

    A transpose becomes the order of axes in an indexing map of `graph.contract`. A
    broadcast along new axes is read without these axes. Unit axes are dropped if they
    are broadcast over heads or a batch, or if a reshape adds them next to longer axes
    of one operand. The heads of an attention are then split and merged without moving
    data. If a gather by a map reuses elements, the source axis along which the
    innermost axis of the result runs becomes the innermost one.

    A movement is kept if an axis is padded, sliced or a window, if a broadcast repeats
    a unit axis, or if the result of the contraction has other users. Operations of a
    group with a plan are kept, because the plan refers to their iterators by index.
    Remarks name the folded movements, and why others are kept; views get no remark.
    """

    name = "graph-fold-transposes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        applier = GreedyRewritePatternApplier(
            list(transpose_folding_patterns()), dce_enabled=True
        )
        rewrite_module(op, applier)
        remarks = RemarkBatch(self.name)
        for each in op.walk():
            if isinstance(each, ContractionInterface):
                _remark_unfolded_operand_movement(each, 0, remarks)
                _remark_unfolded_operand_movement(each, 1, remarks)
            else:
                _remark_unfolded_result_movement(each, remarks)
        remarks.attach()
