"""Replacing composite graph operations by the programs that they stand for."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
)
from xdsl.utils.exceptions import PassFailedException

from tlf.dialects import graph
from tlf.dialects.interfaces import AccumulatingInterface, DecompositionInterface
from tlf.dialects.types import like, tensor_type
from tlf.passes.replacement import is_planned, replace_by_program


def _stays(op: Operation, keep: tuple[str, ...]) -> bool:
    """Whether an operation was named to stay, or a plan counts its iterators."""
    return is_planned(op) or op.name.removeprefix("graph.") in keep


@dataclass
class DecomposePattern(RewritePattern):
    """
    Replace a composite by its decomposition.
    """

    keep: tuple[str, ...]

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, DecompositionInterface) or _stays(op, self.keep):
            return
        replace_by_program(op, rewriter, op.decompose)


@dataclass
class WidenAccumulatorPattern(RewritePattern):
    """
    Let an accumulating operation keep its accumulator's type, and round afterwards.
    """

    keep: tuple[str, ...]

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, AccumulatingInterface) or _stays(op, self.keep):
            return
        result, wide = tensor_type(op.results[0]), op.accumulator_type
        if result.element_type == wide:
            return
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


@dataclass(frozen=True)
class GraphDecomposePass(ModulePass):
    """
    Replace composites by the operations they are made of: softmax, means,
    normalizations and activations become reductions and elementwise operations, in f32
    where elements are narrower and rounded once at the end. Contractions and reductions
    with a result narrower than their accumulator get a result of the accumulator's type
    and a `graph.cast`.

    Operations of a group that has a plan stay, because the plan counts their iterators.
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
        PatternRewriteWalker(
            GreedyRewritePatternApplier(
                [DecomposePattern(self.keep), WidenAccumulatorPattern(self.keep)]
            )
        ).rewrite_module(op)
