"""
IR utility of the dialects: rewriters of xDSL that give new operations the locations of
replaced ones.

xDSL's rewriters leave the location of new operations unknown. Rewrites through this
module set it, so that an error of a late pass still names a line of the source.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import LocationAttr, ModuleOp, UnknownLoc
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import (
    PatternRewriter,
    PatternRewriterListener,
    PatternRewriteWalker,
    RewritePattern,
)
from xdsl.rewriter import Rewriter


def propagate_locations(op: Operation) -> None:
    """
    Give every nested operation without a location that of its predecessor in the block,
    or that of the enclosing operation for the first one.
    """
    for region in op.regions:
        for block in region.blocks:
            location = op.location
            for inner in block.ops:
                # An instance check of an abstract class takes four times as long.
                if type(inner.location) is UnknownLoc:
                    inner.location = location
                location = inner.location
                if inner.regions:
                    propagate_locations(inner)


def set_missing_location(op: Operation, location: LocationAttr) -> None:
    """Set the location of an operation without one, and of its nested operations."""
    if isinstance(op.location, UnknownLoc):
        op.location = location
        propagate_locations(op)


def replace_op(
    op: Operation,
    new_ops: Operation | Sequence[Operation],
    new_results: Sequence[SSAValue | None] | None = None,
) -> None:
    """Replace an operation by others, which take its location."""
    for new in (new_ops,) if isinstance(new_ops, Operation) else new_ops:
        set_missing_location(new, op.location)
    Rewriter.replace_op(op, new_ops, new_results)


def located_rewriter_at(op: Operation) -> PatternRewriter:
    """Return a rewriter whose new operations take the location of `op`."""
    rewriter = PatternRewriter(op)
    rewriter.operation_insertion_handler.append(
        lambda new: set_missing_location(new, op.location)
    )
    return rewriter


class LocatedPattern(RewritePattern):
    """Pattern whose new operations take the location of the matched operation."""

    def __init__(self, pattern: RewritePattern) -> None:
        self.pattern = pattern
        self.listener = PatternRewriterListener(
            operation_insertion_handler=[
                lambda new: set_missing_location(new, self._location)
            ]
        )
        self._location: LocationAttr = UnknownLoc()

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        self._location = op.location
        self.pattern.match_and_rewrite(op, rewriter)


def rewrite_module(
    module: ModuleOp, pattern: RewritePattern, is_recursive: bool = True
) -> bool:
    """
    Apply a pattern to the operations of a module, and to newly created ones if
    `is_recursive`. Return `True` if the module changed.
    """
    located = LocatedPattern(pattern)
    return PatternRewriteWalker(
        located, apply_recursively=is_recursive, listener=located.listener
    ).rewrite_module(module)
