"""Pass `graph-decompose`: replaces composite operations by their decompositions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias, TypeGuard

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    RewritePattern,
)
from xdsl.utils.exceptions import PassFailedException

from tlf.dialects import graph
from tlf.dialects.concat_like_interface import ConcatLikeInterface
from tlf.dialects.graph.stored_images import (
    CHANNEL_AXIS,
    IMAGE_RANK,
    WindowRowsInterface,
)
from tlf.dialects.indexed_write_interface import IndexedWriteInterface
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ConstantInterface,
    DecompositionInterface,
    DelinearizedReadInterface,
    IndexedReadInterface,
    ScanInterface,
)
from tlf.dialects.located_rewriting import rewrite_module
from tlf.dialects.sort_interface import SortInterface
from tlf.dialects.target import TargetSpec
from tlf.dialects.types import tensor_type, tensor_type_like
from tlf.passes.op_replacement import build_operations_before, is_in_planned_group
from tlf.planner.cost.gpu.combined_write_cost import CombinedWriteCost
from tlf.planner.cost.gpu.sort_cost import SortCost
from tlf.planner.cost.npu.indexed_costs import IndexedCosts

NativeOperations: TypeAlias = Sequence[tuple[Callable[[Operation], bool], str]]
"""
Predicates of operations that the target performs natively, each with its description.
"""


def _mnemonic_of(op: Operation) -> str:
    return op.name.removeprefix("graph.")


def _reason_not_decomposed(
    op: Operation, excluded_names: tuple[str, ...]
) -> str | None:
    """
    Return the reason why an operation is not decomposed: it is named in
    `excluded_names`, or its group has a plan; else None.
    """
    if is_in_planned_group(op):
        return "its group has a plan"
    return "named in keep" if _mnemonic_of(op) in excluded_names else None


def _describe_operation_count(operations: Sequence[Operation]) -> str:
    """
    Return a phrase for the number of operations other than constants.
    """
    count = sum(not isinstance(each, ConstantInterface) for each in operations)
    if not count:
        return "its operand"
    return f"{count} operation" + "s" * (count > 1)


def _has_narrow_result(op: Operation) -> bool:
    """
    Return `True` if the result of an accumulating operation is narrower than its
    accumulator.
    """
    if not isinstance(op, AccumulatingInterface):
        return False
    return tensor_type(op.results[0]).element_type != op.accumulator_type


def _native_operations_of(op: ModuleOp) -> NativeOperations:
    """
    Return the operations that the target of a program performs natively; none without a
    target.
    """
    if not TargetSpec.is_attached_to(op):
        return ()
    target = TargetSpec.read_from_module(op)
    native = list(_GATHERED_BY_LOADS) if target.has_indexed_loads else []
    if target.has_scans:
        native.append((_is_scan_of_tiles, "the target scans tiles natively"))
    if (indexed := IndexedCosts.from_target(target)) is not None:
        native.append(
            (indexed.is_indexed_move_cheaper, "the target moves by indices natively")
        )
    if (combined := CombinedWriteCost.from_target(target)) is not None:
        native.append(
            (
                combined.is_combination_cheaper,
                "the target combines elements of memory natively",
            )
        )
    if (sorts := SortCost.from_target(target)) is not None:
        native.append((sorts.is_network_cheaper, "the target sorts tiles natively"))
    if target.can_concat_in_place:
        native.append(
            (
                make_type_predicate(ConcatLikeInterface),
                "its operands are written next to each other",
            )
        )
    return native


def _is_rewritten_to_rows(op: Operation) -> TypeGuard[WindowRowsInterface]:
    """
    Return `True` for an operation on windows that `graph-convert-to-channels-last`
    rewrites: one that is not in a group.
    """
    is_in_group = isinstance(op.parent_op(), graph.GroupOp)
    return isinstance(op, WindowRowsInterface) and not is_in_group


def _is_concat_of_images(op: Operation) -> bool:
    """
    Return `True` if an operation concatenates the channels of images of a block with
    convolutions, which are stored with channels last.
    """
    if not isinstance(op, graph.ConcatOp) or op.parent is None:
        return False
    rank = tensor_type(op.result).get_num_dims()
    return (rank >= IMAGE_RANK and op.axis.value.data == CHANNEL_AXIS) and any(
        _is_rewritten_to_rows(each) and each.prefers_channels_last
        for each in op.parent.ops
    )


def _is_scan_of_tiles(op: Operation) -> bool:
    """Return `True` for a scan whose tiles can be scanned one after the other."""
    return isinstance(op, ScanInterface) and not op.rounds_once


def make_type_predicate(kind: type[Operation]) -> Callable[[Operation], bool]:
    """Return a predicate for operations that have an interface."""
    return lambda op: isinstance(op, kind)


_GATHERED_BY_LOADS: NativeOperations = (
    (
        make_type_predicate(IndexedReadInterface),
        "the target loads by indices natively",
    ),
    (
        make_type_predicate(DelinearizedReadInterface),
        "the target loads windows as rows natively",
    ),
    (_is_rewritten_to_rows, "its windows become rows of a matrix"),
    (_is_concat_of_images, "windows read its operands next to each other"),
)
"""Operations of targets whose loads gather elements."""


def _describe_native_operation(
    op: Operation, native_operations: NativeOperations
) -> str | None:
    """Return a description of how the target performs an operation, or None."""
    return next(
        (description for is_native, description in native_operations if is_native(op)),
        None,
    )


@dataclass
class DecomposePattern(RewritePattern):
    """
    Replace a composite graph operation by its decomposition, unless its name is
    excluded or the target performs it natively.
    """

    excluded_names: tuple[str, ...]
    native_operations: NativeOperations = ()
    """Operations that the target performs natively."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, DecompositionInterface) or _reason_not_decomposed(
            op, self.excluded_names
        ):
            return
        if _describe_native_operation(op, self.native_operations) is not None:
            return
        steps, results = build_operations_before(op, rewriter, op.decompose)
        text = f"{_mnemonic_of(op)} became {_describe_operation_count(steps)}"
        graph.add_remark(op, GraphDecomposePass.name, "passed", text)
        rewriter.replace(op, [], results)


@dataclass
class PromoteAccumulatorPattern(RewritePattern):
    """
    Let an accumulating operation return its accumulator's type, and cast the result.
    """

    excluded_names: tuple[str, ...]

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, AccumulatingInterface) or not _has_narrow_result(op):
            return
        if _reason_not_decomposed(op, self.excluded_names):
            return
        result, wide = tensor_type(op.results[0]), op.accumulator_type
        text = (
            f"{_mnemonic_of(op)} keeps its accumulator of {wide}, and a cast rounds it"
        )
        graph.add_remark(op, GraphDecomposePass.name, "passed", text)
        operands: list[SSAValue] = list(op.inputs)
        if op.init_value is not None:
            init = rewriter.insert(graph.CastOp(op.init_value, wide))
            init.location = op.location
            operands.append(init.result)
        widened = type(op).create(
            operands=operands,
            result_types=[tensor_type_like(result, result.get_shape(), wide)],
            properties=dict(op.properties),
            attributes=dict(op.attributes),
        )
        rounded = graph.CastOp.create(operands=widened.results, result_types=[result])
        for new in (widened, rounded):
            new.location = op.location
        rewriter.replace(op, [widened, rounded])


def _build_native_form(
    op: Operation,
    rewriter: PatternRewriter,
    build: Callable[[Builder], Sequence[SSAValue]],
    text: str,
) -> None:
    """Replace an operation by a form of it that the target performs, with a remark."""
    remark = f"{_mnemonic_of(op)} {text}"
    graph.add_remark(op, GraphDecomposePass.name, "passed", remark)
    _, results = build_operations_before(op, rewriter, build)
    rewriter.replace(op, [], results)


@dataclass
class PromoteIndexedWritePattern(RewritePattern):
    """
    Let indexed writes accumulate in a type that moves can add, and cast the result.
    """

    costs: IndexedCosts

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, IndexedWriteInterface) or is_in_planned_group(op):
            return
        if not self.costs.is_indexed_move_cheaper(op):
            return
        wide = op.element_type_of_moves
        if wide in (None, tensor_type(op.results[0]).element_type):
            return
        build = partial(op.build_with_element_type, element_type=wide)
        _build_native_form(op, rewriter, build, f"adds in {wide}, and a cast rounds it")


@dataclass
class CombineIndexedWritePattern(RewritePattern):
    """
    Let indexed writes combine updates in any order, in a type that the target combines,
    where that takes less time than comparisons.
    """

    costs: CombinedWriteCost

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, IndexedWriteInterface) or is_in_planned_group(op):
            return
        if op.combining_kind is not None or not self.costs.is_combination_cheaper(op):
            return
        text = "combines its updates in any order"
        _build_native_form(op, rewriter, op.build_combined_writes, text)


@dataclass
class SortAlongLastAxisPattern(RewritePattern):
    """
    Let sorts that take less time in tiles than by comparisons sort along the last axis.
    """

    costs: SortCost

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, SortInterface) or is_in_planned_group(op):
            return
        if op.is_along_last_axis or not self.costs.is_network_cheaper(op):
            return
        text = "sorts along the last axis of a transposed tensor"
        _build_native_form(op, rewriter, op.build_along_last_axis, text)


@dataclass
class SplitSortPattern(RewritePattern):
    """Let sorts for whose rows a tile has no room select from the firsts of chunks."""

    costs: SortCost

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, SortInterface) or is_in_planned_group(op):
            return
        if not op.is_along_last_axis or not self.costs.is_network_cheaper(op):
            return
        if (chunk := self.costs.find_chunk_extent(op)) is None:
            return
        build = partial(op.build_from_chunks, chunk_extent=chunk)
        text = f"selects from the first elements of chunks of {chunk}"
        _build_native_form(op, rewriter, build, text)


def _patterns_of_native_forms(op: ModuleOp) -> Iterator[RewritePattern]:
    """Yield the patterns that build forms of operations that the target performs."""
    if not TargetSpec.is_attached_to(op):
        return
    target = TargetSpec.read_from_module(op)
    if (indexed := IndexedCosts.from_target(target)) is not None:
        yield PromoteIndexedWritePattern(indexed)
    if (writes := CombinedWriteCost.from_target(target)) is not None:
        yield CombineIndexedWritePattern(writes)
    if (sorts := SortCost.from_target(target)) is not None:
        yield SortAlongLastAxisPattern(sorts)
        yield SplitSortPattern(sorts)


def _remark_not_decomposed(
    op: Operation, excluded_names: tuple[str, ...], native_operations: NativeOperations
) -> None:
    """
    Add a remark with the reason why a composite operation is kept, if there is one.
    """
    if not isinstance(op, DecompositionInterface) and not _has_narrow_result(op):
        return
    if (reason := _reason_not_decomposed(op, excluded_names)) is not None:
        text = f"{_mnemonic_of(op)} is not decomposed: {reason}"
        graph.add_remark(op, GraphDecomposePass.name, "missed", text)
    elif (how := _describe_native_operation(op, native_operations)) is not None:
        text = f"{_mnemonic_of(op)} is not decomposed: {how}"
        graph.add_remark(op, GraphDecomposePass.name, "passed", text)


@dataclass(frozen=True)
class GraphDecomposePass(ModulePass):
    """
    Replace composite operations by their decompositions.

    Softmax, means, normalizations and activations become reductions and elementwise
    operations; narrower elements are computed in f32 and rounded once at the end.
    Contractions and reductions with a result narrower than their accumulator return the
    accumulator's type, followed by a `graph.cast`.

    Indexed movements such as gathers are kept if the target has indexed loads, or if
    its indexed moves take less time than comparing all indices with all positions;
    otherwise, and without a target, they become these comparisons. The same applies to
    indexed writes and additions, in an element type that the moves can add.
    Concatenations are kept if the target writes tiles into slices of buffers.
    Operations of a group with a plan are kept, because the plan refers to their
    iterators by index. Remarks name the replaced operations, and why others are kept.
    """

    name = "graph-decompose"

    keep: tuple[str, ...] = ()
    """Names of operations that are not decomposed, such as `softmax`."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        known = {each.name.removeprefix("graph.") for each in graph.Graph.operations}
        for name in self.keep:
            if name not in known:
                raise PassFailedException(
                    f"graph-decompose: expected operations of graph to keep, got {name}"
                )
        native = _native_operations_of(op)
        patterns: list[RewritePattern] = [
            DecomposePattern(self.keep, native),
            PromoteAccumulatorPattern(self.keep),
            *_patterns_of_native_forms(op),
        ]
        rewrite_module(op, GreedyRewritePatternApplier(patterns))
        for each in op.walk():
            _remark_not_decomposed(each, self.keep, native)
