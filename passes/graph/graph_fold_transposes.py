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
from tlf.dialects.interfaces import (
    ContractionInterface,
    MovementInterface,
    ViewInterface,
)
from tlf.dialects.located_rewriting import rewrite_module
from tlf.dialects.op_replacement import is_in_planned_group
from tlf.dialects.types import tensor_type
from tlf.passes.graph.contraction_product import Axes, Product, axes_of_projection
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


def permutation_axes(op: Operation) -> tuple[Axes, Axes] | None:
    """
    Return the iterators along the operand and along the result of a movement that only
    permutes whole axes; None for an operation that slices, pads or does more.
    """
    if not isinstance(op, MovementInterface) or len(op.operands) != 1:
        return None
    source = axes_of_projection(op.indexing_maps()[0])
    moved = axes_of_projection(op.result_indexing_maps()[0])
    if source is None or moved is None or op.padding_value(0) is not None:
        return None
    extents = dict(zip(moved, tensor_type(op.results[0]).get_shape(), strict=True))
    whole = tuple(extents.get(axis) for axis in source)
    is_whole = whole == tensor_type(op.operands[0]).get_shape()
    return (source, moved) if is_whole and not is_in_planned_group(op) else None


def fold_operand_movement(product: Product, side: int) -> Product | None:
    """
    Return the product that reads the operand of a movement instead of its result, if
    each axis of that operand is one of the result's; else None.
    """
    movement = product.values[side].owner
    if (
        not isinstance(movement, Operation)
        or (found := permutation_axes(movement)) is None
    ):
        return None
    source, moved = found
    iterator = dict(zip(moved, product.axes[side], strict=True))
    axes = tuple(iterator[axis] for axis in source)
    values, sides = list(product.values), list(product.axes)
    values[side], sides[side] = movement.operands[0], axes
    changed = Product(
        product.op,
        cast(tuple[SSAValue, SSAValue], tuple(values)),
        cast(tuple[Axes, Axes], tuple(sides)),
        product.result,
    )
    return changed if changed.has_all_iterators() else None


def _mnemonic(op: Operation) -> str:
    return op.name.removeprefix("graph.")


def _remark_folded(op: Operation, what: str, movement: Operation) -> None:
    """Note that a contraction `reads` or `writes` through a movement."""
    text = f"{_mnemonic(op)} {what} through a {_mnemonic(movement)}"
    graph.add_remark(op, GraphFoldTransposesPass.name, "passed", text)


@dataclass
class FoldOperandTransposePattern(RewritePattern):
    """Fold transposes of operands into a contraction."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if (product := Product.of(op)) is None:
            return
        found = product
        for side in range(2):
            if (changed := fold_operand_movement(found, side)) is not None:
                _remark_folded(op, "reads", cast(Operation, found.values[side].owner))
                found = changed
        if found is not product:
            rewriter.replace(op, found.build_contract())


@dataclass
class FoldResultTransposePattern(RewritePattern):
    """Fold a transpose that is the only user of a contraction into it."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if (found := permutation_axes(op)) is None:
            return
        source, moved = found
        owner = op.operands[0].owner
        if sorted(source) != sorted(moved) or not isinstance(owner, Operation):
            return
        if op.operands[0].uses.get_length() != 1:
            return
        if (product := Product.of(owner)) is None:
            return
        iterator = dict(zip(source, product.result, strict=True))
        written = tuple(iterator[axis] for axis in moved)
        changed = Product(product.op, product.values, product.axes, written)
        _remark_folded(owner, "writes", op)
        rewriter.replace(op, changed.build_contract())
        rewriter.erase(product.op)


def transpose_patterns() -> Sequence[RewritePattern]:
    """The rewrites of the pass."""
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


def _reason_not_foldable(op: ContractionInterface) -> str | None:
    """Return why a contraction cannot absorb movements, or None if it can."""
    if is_in_planned_group(op):
        return "the group has a plan"
    if op.init_value is not None:
        return f"the {_mnemonic(op)} starts from a tensor"
    return None if Product.of(op) else f"the {_mnemonic(op)} has windows"


def _reason_not_permutation(movement: MovementInterface) -> str | None:
    """Return why a movement is not a permutation of whole axes, or None if it is."""
    if is_in_planned_group(movement):
        return "the group has a plan"
    if permutation_axes(movement) is not None:
        return None
    accesses = movement.indexing_maps()[0] or ()
    if any(not access.terms for access in accesses):
        return "an axis of extent 1 is repeated"
    return "an axis is cut, padded or a window"


def _movement_of(op: object) -> MovementInterface | None:
    """Return an operation as a movement of one tensor, unless it is a view."""
    if not isinstance(op, MovementInterface) or isinstance(op, ViewInterface):
        return None
    return op if len(op.operands) == 1 else None


def _remark_operand_movement(op: ContractionInterface, side: int) -> None:
    """Emit a remark on why the movement of an operand is not folded."""
    if (movement := _movement_of(op.operands[side].owner)) is None:
        return
    reason = _reason_not_foldable(op) or _reason_not_permutation(movement)
    reason = reason or "an axis would run along no operand"
    text = f"{_mnemonic(movement)} before {_mnemonic(op)} stays: {reason}"
    graph.add_remark(op, GraphFoldTransposesPass.name, "missed", text)


def _remark_result_movement(op: Operation) -> None:
    """Emit a remark on why the movement of a contraction's result is not folded."""
    if (movement := _movement_of(op)) is None:
        return
    product = movement.operands[0].owner
    if not isinstance(product, ContractionInterface):
        return
    reason = _reason_not_foldable(product) or _reason_not_permutation(movement)
    if reason is None and movement.operands[0].uses.get_length() > 1:
        reason = "the result has other users"
    reason = reason or "the result is repeated"
    text = f"{_mnemonic(movement)} after {_mnemonic(product)} stays: {reason}"
    graph.add_remark(movement, GraphFoldTransposesPass.name, "missed", text)


@dataclass(frozen=True)
class GraphFoldTransposesPass(ModulePass):
    """
    Let contractions read and write through the movements around them: a transposition
    becomes the order of axes in a map of `graph.contract`, and what a broadcast repeats
    along new axes is read without them, as are axes of extent 1 that stand for all
    heads or a whole batch, and those that a reshape adds beside longer ones of the
    result alone. So the heads of an attention are split and merged without moving data.
    Of what a gather by a map repeats, the axis that it runs along side by side becomes
    the last one.

    A movement stays where an axis is padded, cut or a window, where a broadcast repeats
    an axis of extent 1, and where the result of a contraction has other users.
    Operations of a group that has a plan stay, because the plan counts their iterators.
    Functions get remarks about what was read and written through, and why other
    movements stayed; those that are views of the same bytes need no remark.
    """

    name = "graph-fold-transposes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        applier = GreedyRewritePatternApplier(
            list(transpose_patterns()), dce_enabled=True
        )
        rewrite_module(op, applier)
        for each in op.walk():
            if isinstance(each, ContractionInterface):
                _remark_operand_movement(each, 0)
                _remark_operand_movement(each, 1)
            else:
                _remark_result_movement(each)
