"""
Rewrite rules of the `graph` dialect: registration with its operations at import.

Rules depend on the operations, but not conversely: `register_rewrites` registers them
with the operation classes when the dialect is imported.
"""

from __future__ import annotations

from tlf.dialects.graph.canonicalizable import SimplifiableOperation
from tlf.dialects.graph.concat import ConcatOp
from tlf.dialects.graph.filled_movement import FilledMovementOperation
from tlf.dialects.graph.group import GroupOp
from tlf.dialects.graph.im2col import Im2colOp
from tlf.dialects.graph.movement import BroadcastOp, ReshapeOp, TransposeOp
from tlf.dialects.graph.rewrites.canonicalization import (
    ApplyExactSimplificationPattern,
    FoldBroadcastOfScatterIndicesPattern,
    FoldSliceOfConcatPattern,
    FoldTransposeOfUnfoldPattern,
    FoldWholeSlicePattern,
    GatherToUnfoldPattern,
    MergeReshapesOrBroadcastsPattern,
    MergeSlicesPattern,
    MergeTransposesPattern,
    SplitBroadcastFromUnfoldPattern,
)
from tlf.dialects.graph.rewrites.group_canonicalization import DeduplicateYieldsPattern
from tlf.dialects.graph.rewrites.im2col_canonicalization import (
    FoldReshapeOfIm2colPattern,
    FoldTransposeIntoIm2colPattern,
    Im2colToReshapePattern,
    MergeIm2colDigitsPattern,
)
from tlf.dialects.graph.rewrites.scan_canonicalization import (
    FoldReversedScanPattern,
    ScanConcatPattern,
)
from tlf.dialects.graph.rewrites.simplification import simplifications_of
from tlf.dialects.graph.scatter import ScatterOp
from tlf.dialects.graph.slicing import SliceOp
from tlf.dialects.graph.take_and_gather import IndexingOperation
from tlf.dialects.graph.unfold import UnfoldOp


def register_rewrites() -> None:
    """Register the patterns and simplification rules with the operation classes."""
    SimplifiableOperation.SIMPLIFICATION_RULES = simplifications_of
    SimplifiableOperation.PATTERNS = (ApplyExactSimplificationPattern(),)
    GroupOp.PATTERNS = (DeduplicateYieldsPattern(),)
    IndexingOperation.PATTERNS = (GatherToUnfoldPattern(),)
    ReshapeOp.PATTERNS = (
        MergeReshapesOrBroadcastsPattern(),
        FoldReshapeOfIm2colPattern(),
    )
    BroadcastOp.PATTERNS = (MergeReshapesOrBroadcastsPattern(),)
    TransposeOp.PATTERNS = (MergeTransposesPattern(), FoldTransposeOfUnfoldPattern())
    ScatterOp.PATTERNS = (FoldBroadcastOfScatterIndicesPattern(),)
    SliceOp.PATTERNS = (
        FoldWholeSlicePattern(),
        MergeSlicesPattern(),
        FoldSliceOfConcatPattern(),
    )
    Im2colOp.PATTERNS = (
        *FilledMovementOperation.PATTERNS,
        Im2colToReshapePattern(),
        MergeIm2colDigitsPattern(),
        FoldTransposeIntoIm2colPattern(),
    )
    UnfoldOp.PATTERNS = (
        *FilledMovementOperation.PATTERNS,
        SplitBroadcastFromUnfoldPattern(),
        FoldReversedScanPattern(),
    )
    ConcatOp.PATTERNS = (ScanConcatPattern(),)
