"""
Rules that rewrite operations of `graph`.

They stand apart from the operations, which they know, and are given to their classes
when the dialect is imported, before anybody can use these.
"""

from __future__ import annotations

from tlf.dialects.graph.filled import FilledOperation
from tlf.dialects.graph.group import GroupOp
from tlf.dialects.graph.indexing import IndexingOperation
from tlf.dialects.graph.movement import BroadcastOp, ReshapeOp, TransposeOp
from tlf.dialects.graph.rewrites.canonicalization import (
    MergeShapesPattern,
    MergeSlicesPattern,
    MergeTransposesPattern,
    NameOncePattern,
    PermuteUnfoldedPattern,
    RepeatUnfoldedPattern,
    SimplifyPattern,
    SlicePartPattern,
    UnfoldNamedPattern,
    WholeSlicePattern,
)
from tlf.dialects.graph.rewrites.group_canonicalization import YieldOncePattern
from tlf.dialects.graph.rewrites.simplification import simplifications_of
from tlf.dialects.graph.ruled import SimplifiableOperation
from tlf.dialects.graph.scattering import ScatterOp
from tlf.dialects.graph.slicing import SliceOp
from tlf.dialects.graph.unfold import UnfoldOp


def give_rules() -> None:
    """Give the rules to the classes of operations."""
    SimplifiableOperation.SIMPLER = simplifications_of
    SimplifiableOperation.PATTERNS = (SimplifyPattern(),)
    GroupOp.PATTERNS = (YieldOncePattern(),)
    IndexingOperation.PATTERNS = (UnfoldNamedPattern(),)
    ReshapeOp.PATTERNS = (MergeShapesPattern(),)
    BroadcastOp.PATTERNS = (MergeShapesPattern(),)
    TransposeOp.PATTERNS = (MergeTransposesPattern(), PermuteUnfoldedPattern())
    ScatterOp.PATTERNS = (NameOncePattern(),)
    SliceOp.PATTERNS = (WholeSlicePattern(), MergeSlicesPattern(), SlicePartPattern())
    UnfoldOp.PATTERNS = (*FilledOperation.PATTERNS, RepeatUnfoldedPattern())
