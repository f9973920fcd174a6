"""Pass `graph-reuse-concat`: lets concats reuse earlier ones of the same operands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tlf.dialects.concat_like_interface import ConcatLikeInterface
from tlf.dialects.located_rewriting import replace_op
from tlf.passes.remark_attributes import attach_remarks
from tlf.planner.fusion.remark_collector import RemarkCollector


@dataclass(frozen=True)
class GraphReuseConcatPass(ModulePass):
    """
    Replace consecutive operands of a concatenation by the result of an earlier
    concatenation of the same operands in the same order.

    Each tensor is then stored once for all concatenations that contain it, such as
    those of the layers of a densely connected block.
    """

    name = "graph-reuse-concat"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        remarks = RemarkCollector(self.name)
        for block in dict.fromkeys(each.parent for each in op.walk()):
            concats: list[ConcatLikeInterface] = []
            for each in () if block is None else list(block.ops):
                if isinstance(each, ConcatLikeInterface):
                    concats.append(_reuse_earlier_concat(each, concats, remarks))
        attach_remarks(remarks)


def _reuse_earlier_concat(
    op: ConcatLikeInterface,
    earlier: Iterable[ConcatLikeInterface],
    remark_collector: RemarkCollector,
) -> ConcatLikeInterface:
    """Return a concat, or its replacement that reads results of earlier concats."""
    candidates = [each for each in earlier if _has_same_type_and_properties(each, op)]
    operands = list[SSAValue](op.operands)
    while (
        substituted := _substitute_result_of_concat(operands, candidates)
    ) is not None:
        operands = substituted
    if len(operands) == len(op.operands):
        return op
    replacement = op.tiled_implementation(operands, op.result_types)
    assert isinstance(replacement, ConcatLikeInterface)
    replacement.location = op.location
    count = len(op.operands) - len(operands) + 1
    replace_op(op, replacement)
    remark_collector.add_remark(
        replacement, "passed", f"{count} operands are already concatenated"
    )
    return replacement


def _substitute_result_of_concat(
    operands: Sequence[SSAValue], earlier_concats: Iterable[ConcatLikeInterface]
) -> list[SSAValue] | None:
    """
    Return the operands with consecutive ones replaced by the result of another concat,
    or None.
    """
    for other in earlier_concats:
        count = len(other.operands)
        start = _index_of_sublist(operands, list(other.operands))
        if start is not None and count < len(operands):
            return [*operands[:start], *other.results, *operands[start + count :]]
    return None


def _has_same_type_and_properties(lhs: Operation, rhs: Operation) -> bool:
    """Return `True` if two operations have the same type and properties."""
    return type(lhs) is type(rhs) and lhs.properties == rhs.properties


def _index_of_sublist(
    values: Sequence[SSAValue], sublist: Sequence[SSAValue]
) -> int | None:
    """Return the index of the first occurrence of a sublist in a list, or None."""
    count = len(sublist)
    starts = range(len(values) - count + 1)
    return next(
        (start for start in starts if values[start : start + count] == sublist), None
    )
