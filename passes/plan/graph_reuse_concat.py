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
from tlf.planner.fusion.remark_collector import RemarkCollector


@dataclass(frozen=True)
class GraphReuseConcatPass(ModulePass):
    """
    Let what joins tensors, some of which an earlier operation joins in the same order,
    take the result of that.

    So each of the tensors has one place for all that read them together, as those of
    the layers of a densely connected block.
    """

    name = "graph-reuse-concat"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        notes = RemarkCollector(self.name)
        for block in dict.fromkeys(each.parent for each in op.walk()):
            found: list[ConcatLikeInterface] = []
            for each in () if block is None else list(block.ops):
                if isinstance(each, ConcatLikeInterface):
                    found.append(_reuse_earlier_concat(each, found, notes))
        notes.attach_remarks()


def _reuse_earlier_concat(
    op: ConcatLikeInterface,
    earlier: Iterable[ConcatLikeInterface],
    notes: RemarkCollector,
) -> ConcatLikeInterface:
    """Return a concat, or its replacement that takes earlier concats as operands."""
    alike = [each for each in earlier if _has_same_properties(each, op)]
    operands = list[SSAValue](op.operands)
    while (taken := _substitute_concat(operands, alike)) is not None:
        operands = taken
    if len(operands) == len(op.operands):
        return op
    made = op.tiled_implementation(operands, op.result_types)
    assert isinstance(made, ConcatLikeInterface)
    made.location = op.location
    count = len(op.operands) - len(operands) + 1
    replace_op(op, made)
    notes.add_remark(made, "passed", f"{count} operands are joined already")
    return made


def _substitute_concat(
    operands: Sequence[SSAValue], others: Iterable[ConcatLikeInterface]
) -> list[SSAValue] | None:
    """
    Return the operands with a run of them replaced by another concat's result, or None.
    """
    for other in others:
        count = len(other.operands)
        start = _find_subsequence(operands, list(other.operands))
        if start is not None and count < len(operands):
            return [*operands[:start], *other.results, *operands[start + count :]]
    return None


def _has_same_properties(one: Operation, other: Operation) -> bool:
    """Return `True` if two operations have the same type and properties."""
    return type(one) is type(other) and one.properties == other.properties


def _find_subsequence(
    values: Sequence[SSAValue], wanted: Sequence[SSAValue]
) -> int | None:
    """Return the index at which one list of values is contained in another, or None."""
    count = len(wanted)
    starts = range(len(values) - count + 1)
    return next((at for at in starts if values[at : at + count] == wanted), None)
