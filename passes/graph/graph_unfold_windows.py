"""
Pass `graph-unfold-windows`: rewrites window operations as `unfold` and contraction.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    PatternRewriter,
    RewritePattern,
)

from tlf.dialects.interfaces import WindowInterface
from tlf.dialects.located_rewriting import rewrite_module
from tlf.passes.op_replacement import is_in_planned_group, replace_by_built_values


class UnfoldWindowsPattern(RewritePattern):
    """Replace a window operation by an equivalent one on unfolded operands."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, WindowInterface) and not is_in_planned_group(op):
            replace_by_built_values(op, rewriter, op.decompose_windows)


@dataclass(frozen=True)
class GraphUnfoldWindowsPass(ModulePass):
    """
    Replace convolutions and poolings by a `graph.unfold`, which gathers the elements of
    every window, and a contraction or reduction of the gathered tensor, for targets
    without overlapping windows in tiles. Moves of tiles may perform the gather. A
    convolution with 1x1 filters becomes a contraction without `graph.unfold`.

    Operations of a group with a plan are kept, because the plan refers to their
    iterators by index.
    """

    name = "graph-unfold-windows"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite_module(op, UnfoldWindowsPattern(), is_recursive=False)
