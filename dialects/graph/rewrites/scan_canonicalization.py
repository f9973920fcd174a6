"""Rewrite rules of the `graph` dialect: canonicalization patterns around scans."""

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import (
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)

from tlf.dialects.graph.concat import ConcatOp
from tlf.dialects.graph.prefix_scan import CumulateOp
from tlf.dialects.graph.rewrites.simplification import is_outside_groups
from tlf.dialects.graph.splat_tensors import splat_scalar_of
from tlf.dialects.graph.tensor_types import shape_of
from tlf.dialects.graph.unfold import UnfoldOp
from tlf.support.affine.index_access import IndexAccess, identity_accesses


class FoldReversedScanPattern(RewritePattern):
    """
    Reverse the direction of a scan instead of its operand and its result, outside of
    groups.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: UnfoldOp, rewriter: PatternRewriter, /) -> None:
        scan = op.operand.owner
        if not isinstance(scan, CumulateOp) or not is_outside_groups(op):
            return
        first, axis = scan.operand.owner, scan.scan_iterator
        if not isinstance(first, UnfoldOp) or not is_outside_groups(first):
            return
        if _is_reversal(op, axis) and _is_reversal(first, axis):
            kind, is_reversed = scan.kind.data, not scan.is_reversed
            rewriter.replace(op, CumulateOp(first.operand, kind, axis, is_reversed))


class ScanConcatPattern(RewritePattern):
    """
    Scan the concatenation of neutral elements and the operand of a scan, instead of
    concatenating neutral elements and the result, outside of groups: an exclusive scan
    is then one of a shifted operand. A sum of zeros may lose the sign of its result.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ConcatOp, rewriter: PatternRewriter, /) -> None:
        if not is_outside_groups(op):
            return
        scans = [each for each in op.inputs if isinstance(each.owner, CumulateOp)]
        if len(scans) != 1:
            return
        scan, axis = scans[0].owner, op.axis.value.data
        assert isinstance(scan, CumulateOp)
        before = op.inputs[1:] if scan.is_reversed else op.inputs[:-1]
        if scan.scan_iterator != axis or scans[0].uses.get_length() > 1:
            return
        if all(_is_neutral(each, scan) for each in before):
            inputs = [scan.operand if e is scans[0] else e for e in op.inputs]
            concat = rewriter.insert(ConcatOp(inputs, axis))
            concat.location = op.location
            new = CumulateOp(concat, scan.kind.data, axis, scan.is_reversed)
            rewriter.replace(op, new)


def _is_neutral(value: SSAValue, scan: CumulateOp) -> bool:
    """Return `True` if all elements of a tensor are neutral in a scan."""
    splat = splat_scalar_of(value)
    return splat is not None and splat == scan.neutral_element()


def _is_reversal(op: UnfoldOp, axis: int) -> bool:
    """Return `True` if an unfold reverses one axis, and nothing else."""
    shape = shape_of(op.operand)
    if shape_of(op.result) != shape:
        return False
    expected = list(identity_accesses(len(shape)))
    expected[axis] = IndexAccess(((axis, -1),), shape[axis] - 1)
    return list(op.indexing_maps()[0]) == expected
