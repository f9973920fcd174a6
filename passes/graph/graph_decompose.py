"""Replacing composite graph operations by the programs that they stand for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

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
from tlf.dialects.indexed_write import IndexedWriteInterface
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ConstantInterface,
    DecompositionInterface,
    IndexedInterface,
)
from tlf.dialects.joining import JoiningInterface
from tlf.dialects.replacement import build_program, is_planned
from tlf.dialects.rewriting import rewrite_module
from tlf.dialects.target import Target
from tlf.dialects.types import like, tensor_type
from tlf.planner.cost.npu.indexed import IndexedCosts

Native: TypeAlias = Sequence[tuple[Callable[[Operation], bool], str]]
"""
Operations that need no decomposition, each with the way in which they are performed.
"""


def _mnemonic(op: Operation) -> str:
    return op.name.removeprefix("graph.")


def _why_kept(op: Operation, keep: tuple[str, ...]) -> str | None:
    """Return why an operation is kept: it was named, or a plan counts its iterators."""
    if is_planned(op):
        return "its group has a plan"
    return "named in keep" if _mnemonic(op) in keep else None


def _counted(steps: Sequence[Operation]) -> str:
    """
    Return the text for the number of operations that compute something, constants
    apart.
    """
    count = sum(not isinstance(each, ConstantInterface) for each in steps)
    if not count:
        return "its operand"
    return f"{count} operation" + "s" * (count > 1)


def _is_narrow(op: Operation) -> bool:
    """
    Return `True` if an accumulating operation rounds its accumulator to its result.
    """
    if not isinstance(op, AccumulatingInterface):
        return False
    return tensor_type(op.results[0]).element_type != op.accumulator_type


def _native_to(op: ModuleOp) -> Native:
    """
    Return the operations that the target of a program performs natively; none without a
    target.
    """
    if not Target.is_known(op):
        return ()
    target = Target.of(op)
    found: list[tuple[Callable[[Operation], bool], str]] = []
    if target.indexed_loads:
        found.append((is_a(IndexedInterface), "loads follow its indices"))
    if (indexed := IndexedCosts.of(target)) is not None:
        found.append((indexed.are_less, "moves follow its indices"))
    if target.joins:
        found.append(
            (is_a(JoiningInterface), "its operands are made next to each other")
        )
    return found


def is_a(kind: type[Operation]) -> Callable[[Operation], bool]:
    """Return a predicate for operations that have an interface."""
    return lambda op: isinstance(op, kind)


def _why_native(op: Operation, native: Native) -> str | None:
    """Return how the target performs an operation natively, or None."""
    return next((how for does, how in native if does(op)), None)


@dataclass
class DecomposePattern(RewritePattern):
    """
    Replace a composite by its decomposition.
    """

    keep: tuple[str, ...]
    native: Native = ()
    """Operations that the target performs natively."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, DecompositionInterface) or _why_kept(op, self.keep):
            return
        if _why_native(op, self.native) is not None:
            return
        steps, results = build_program(op, rewriter, op.decompose)
        text = f"{_mnemonic(op)} became {_counted(steps)}"
        graph.remark(op, GraphDecomposePass.name, "passed", text)
        rewriter.replace(op, [], results)


@dataclass
class WidenAccumulatorPattern(RewritePattern):
    """
    Let an accumulating operation keep its accumulator's type, and round afterwards.
    """

    keep: tuple[str, ...]

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, AccumulatingInterface) or not _is_narrow(op):
            return
        if _why_kept(op, self.keep):
            return
        result, wide = tensor_type(op.results[0]), op.accumulator_type
        text = f"{_mnemonic(op)} keeps its accumulator of {wide}, and a cast rounds it"
        graph.remark(op, GraphDecomposePass.name, "passed", text)
        operands: list[SSAValue] = list(op.inputs)
        if op.init_value is not None:
            init = rewriter.insert(graph.CastOp(op.init_value, wide))
            init.location = op.location
            operands.append(init.result)
        widened = type(op).create(
            operands=operands,
            result_types=[like(result, result.get_shape(), wide)],
            properties=dict(op.properties),
            attributes=dict(op.attributes),
        )
        rounded = graph.CastOp.create(operands=widened.results, result_types=[result])
        for new in (widened, rounded):
            new.location = op.location
        rewriter.replace(op, [widened, rounded])


@dataclass
class WidenWritePattern(RewritePattern):
    """Let moves add in a type that they can add, and round afterwards."""

    native: Native

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, IndexedWriteInterface) or is_planned(op):
            return
        if not any(does(op) for does, _ in self.native):
            return
        wide = op.moved_element
        if wide in (None, tensor_type(op.results[0]).element_type):
            return
        text = f"{_mnemonic(op)} adds in {wide}, and a cast rounds it"
        graph.remark(op, GraphDecomposePass.name, "passed", text)
        _, results = build_program(op, rewriter, partial(op.written_in, element=wide))
        rewriter.replace(op, [], results)


def _note_kept(op: Operation, keep: tuple[str, ...], native: Native) -> None:
    """Note why an operation stays that might have been replaced."""
    if not isinstance(op, DecompositionInterface) and not _is_narrow(op):
        return
    if (reason := _why_kept(op, keep)) is not None:
        text = f"{_mnemonic(op)} stays: {reason}"
        graph.remark(op, GraphDecomposePass.name, "missed", text)
    elif (how := _why_native(op, native)) is not None:
        text = f"{_mnemonic(op)} stays: {how}"
        graph.remark(op, GraphDecomposePass.name, "passed", text)


@dataclass(frozen=True)
class GraphDecomposePass(ModulePass):
    """
    Replace composites by the operations they are made of: softmax, means,
    normalizations and activations become reductions and elementwise operations, in f32
    where elements are narrower and rounded once at the end. Contractions and reductions
    with a result narrower than their accumulator get a result of the accumulator's type
    and a `graph.cast`.

    A movement that finds its elements by indices stays where the target has indexed
    loads, or moves that follow indices in less time than comparisons of all of them
    with all places take; elsewhere, and without a target, it becomes these. So does
    what writes at indices, or adds, in a type that such moves can add.
    What joins tensors stays where tiles move into parts of buffers.
    Operations of a group that has a plan stay, because the plan counts their iterators.
    Functions get remarks about what became of operations, and why others stayed.
    """

    name = "graph-decompose"

    keep: tuple[str, ...] = ()
    """Names of operations that stay as they are, such as `softmax`."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        known = {each.name.removeprefix("graph.") for each in graph.Graph.operations}
        for name in self.keep:
            if name not in known:
                raise PassFailedException(
                    f"graph-decompose: expected operations of graph to keep, got {name}"
                )
        native = _native_to(op)
        patterns: list[RewritePattern] = [
            DecomposePattern(self.keep, native),
            WidenAccumulatorPattern(self.keep),
            WidenWritePattern(native),
        ]
        rewrite_module(op, GreedyRewritePatternApplier(patterns))
        for each in op.walk():
            _note_kept(each, self.keep, native)
