"""
Rewrite pattern of the pass `graph-hoist-reshapes`: gathers that only repeat a tensor
become broadcast operands of elementwise operations.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from tlf.dialects import graph
from tlf.dialects.types import tensor_type
from tlf.passes.graph.permutations import reshape_to
from tlf.passes.graph.pointwise import is_pointwise
from tlf.passes.op_replacement import is_in_planned_group


@dataclass
class BroadcastGatherPattern(RewritePattern):
    """
    Let an elementwise operation broadcast a tensor that a gather repeats along whole
    axes, such as the statistics of every image and channel: each is loaded once.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not is_pointwise(op) or is_in_planned_group(op):
            return
        shape = tensor_type(op.results[0]).get_shape()
        shapes = {value: _shape_before_repetition(value) for value in op.operands}
        is_full = {
            value: each is None and tensor_type(value).get_shape() == shape
            for value, each in shapes.items()
        }
        if not any(is_full.values()) or not any(shapes.values()):
            return
        for index, value in enumerate(list(op.operands)):
            gather, before = value.owner, shapes[value]
            if before is not None and isinstance(gather, graph.Im2colOp):
                op.operands[index] = reshape_to(gather.operand, before, rewriter)
        rewriter.notify_op_modified(op)


def _shape_before_repetition(value: SSAValue) -> tuple[int, ...] | None:
    """
    Return the shape, with axes of extent 1, of a tensor that a gather only repeats
    along these axes; None if a value is not computed so.
    """
    gather = value.owner
    if not isinstance(gather, graph.Im2colOp):
        return None
    access = gather.delinearized_access
    if any(len(digits) != 1 for digits in access.basis):
        return None
    extents = [digits[0] for digits in access.basis]
    kept: list[int] = []
    source = tensor_type(gather.operand).get_shape()
    for extent, each in zip(source, access.accesses, strict=True):
        if each.offset or (not each.terms and extent > 1):
            return None
        if not each.terms:
            continue
        ((iterator, stride), *others) = each.terms
        if others or stride != 1 or extents[iterator] != extent:
            return None
        kept.append(iterator)
    if kept != sorted(set(kept)) or len(kept) == len(extents):
        return None
    return tuple(extents[axis] if axis in kept else 1 for axis in range(len(extents)))
