"""Pass `graph-merge-convolutions`: merges convolutions that are interleaved."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from tlf.analysis.work.flops_and_bytes import Work, size_in_bytes, work_of
from tlf.analysis.work.roofline import roofline_time_of
from tlf.dialects import graph
from tlf.dialects.call_invariants import call_invariant_values_of
from tlf.dialects.function_calls import defined_functions_of
from tlf.dialects.located_rewriting import located_rewriter_at, replace_op
from tlf.dialects.target import TargetSpec
from tlf.passes.graph.convolution_family import ConvolutionFamily
from tlf.passes.graph.merged_convolution import MergedConvolution
from tlf.passes.op_replacement import is_in_planned_group, operations_between

NAME = "graph-merge-convolutions"


@dataclass(frozen=True)
class GraphMergeConvolutionsPass(ModulePass):
    """
    Merge convolutions of the same images whose results a concatenation interleaves,
    such as those of the residues of a transposed convolution, into one convolution with
    the filters of all, for targets that combine the parts of such a concatenation one
    by one. Filters with fewer taps are padded with zeros. Convolutions are merged if
    the products with these zeros take no longer, by the roofline of the target, than
    combining the parts.

    Not merged are convolutions whose filters vary between calls, those with an initial
    value or groups of channels, and those that differ in more than their windows.
    """

    name = NAME

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not TargetSpec.is_attached_to(op):
            return
        target = TargetSpec.read_from_module(op)
        if not target.has_indexed_loads:
            return
        for function in defined_functions_of(op):
            _merge_convolutions_of_block(function.body.block, target)


def _merge_convolutions_of_block(block: Block, target: TargetSpec) -> None:
    """Merge the convolutions of every concatenation, the outermost first."""
    invariant = call_invariant_values_of(block)
    concats = [op for op in block.ops if isinstance(op, graph.ConcatOp)]
    for op in reversed(concats):
        if op.parent is None or is_in_planned_group(op):
            continue
        if (family := ConvolutionFamily.of_concat(op, invariant)) is not None:
            _merge_family_if_profitable(family, target)


def _merge_family_if_profitable(family: ConvolutionFamily, target: TargetSpec) -> None:
    """Replace the concatenation of a family, unless that takes longer; add remarks."""
    candidates = list(MergedConvolution.candidates_of(family))
    if not candidates:
        return
    seconds = [_seconds_of_merged(each, target) for each in candidates]
    least, separate = min(seconds), _seconds_of_parts(family, target)
    if least > separate:
        text = (
            f"{len(family.members)} convolutions are not merged: one takes "
            f"{least * 1e6:.1f} us, all and combining them {separate * 1e6:.1f} us"
        )
        graph.add_remark(family.concat, NAME, "missed", text)
        return
    _replace_by_merged(family.concat, candidates[seconds.index(least)])


def _replace_by_merged(concat: graph.ConcatOp, candidate: MergedConvolution) -> None:
    """Replace a concatenation and its operands by a merged convolution."""
    rewriter = located_rewriter_at(concat)
    merged = candidate.build_convolution(rewriter)
    count = len(candidate.family.members)
    text = f"{count} convolutions of the same images became one"
    graph.add_remark(merged, NAME, "passed", text)
    result = candidate.build_concatenation(rewriter, merged.results[0])
    result.name_hint = concat.result.name_hint
    parts = list(concat.operands)
    replace_op(concat, [], [result])
    _erase_dead_operations(parts)


def _seconds_of_merged(candidate: MergedConvolution, target: TargetSpec) -> float:
    """
    Return the time of a merged convolution, and of copying its results if some are
    dropped.
    """
    concat = candidate.family.concat
    before = concat.prev_op
    merged = candidate.build_convolution(Builder(InsertPoint.before(concat)))
    time = roofline_time_of(work_of(merged), target).seconds
    for each in list(operations_between(before, concat)):
        each.detach()
        each.erase()
    if not candidate.drops_results:
        return time
    copied = Work(bytes=2 * size_in_bytes([concat.result]))
    return time + roofline_time_of(copied, target).seconds


def _seconds_of_parts(family: ConvolutionFamily, target: TargetSpec) -> float:
    """
    Return the time of the convolutions, and of combining their results: along each
    axis, the first one is written into the concatenation, and each other one is
    combined with what is there.
    """
    times = (
        roofline_time_of(work_of(member), target).seconds
        for member in family.members.values()
    )
    size = size_in_bytes([family.concat.result])
    passes = sum(2 * count - 1 for count in family.counts)
    combined = Work(bytes=passes * size)
    return sum(times) + roofline_time_of(combined, target).seconds


def _erase_dead_operations(values: list[SSAValue]) -> None:
    """Erase the operations that compute values without users."""
    while values:
        op = values.pop().owner
        if isinstance(op, Operation) and op.parent and is_trivially_dead(op):
            values += op.operands
            op.detach()
            op.erase()
