"""
Canonicalization and simplification rules of the graph dialect.

Rules depend on the operations, but not conversely: `register_rewrites` registers them
with the operation classes when the dialect is imported.
"""

from __future__ import annotations

from tlf.dialects.graph.canonicalizable import SimplifiableOperation
from tlf.dialects.graph.filled_movement import FilledOperation
from tlf.dialects.graph.group import GroupOp
from tlf.dialects.graph.indexing import IndexingOperation
from tlf.dialects.graph.movement import BroadcastOp, ReshapeOp, TransposeOp
from tlf.dialects.graph.rewrites.canonicalization import (
    BroadcastAfterUnfoldPattern,
    FoldWholeSlicePattern,
    GatherToUnfoldPattern,
    MergeShapesPattern,
    MergeSlicesPattern,
    MergeTransposesPattern,
    ScatterIndicesBroadcastPattern,
    SimplifyPattern,
    SliceOfConcatPattern,
    TransposeOfUnfoldPattern,
)
from tlf.dialects.graph.rewrites.group_canonicalization import DeduplicateYieldsPattern
from tlf.dialects.graph.rewrites.simplification import simplifications_of
from tlf.dialects.graph.scatter import ScatterOp
from tlf.dialects.graph.slicing import SliceOp
from tlf.dialects.graph.unfold import UnfoldOp


def register_rewrites() -> None:
    """Register the patterns and simplification rules with the operation classes."""
    SimplifiableOperation.FIND_SIMPLIFICATIONS = simplifications_of
    SimplifiableOperation.PATTERNS = (SimplifyPattern(),)
    GroupOp.PATTERNS = (DeduplicateYieldsPattern(),)
    IndexingOperation.PATTERNS = (GatherToUnfoldPattern(),)
    ReshapeOp.PATTERNS = (MergeShapesPattern(),)
    BroadcastOp.PATTERNS = (MergeShapesPattern(),)
    TransposeOp.PATTERNS = (MergeTransposesPattern(), TransposeOfUnfoldPattern())
    ScatterOp.PATTERNS = (ScatterIndicesBroadcastPattern(),)
    SliceOp.PATTERNS = (
        FoldWholeSlicePattern(),
        MergeSlicesPattern(),
        SliceOfConcatPattern(),
    )
    UnfoldOp.PATTERNS = (*FilledOperation.PATTERNS, BroadcastAfterUnfoldPattern())
