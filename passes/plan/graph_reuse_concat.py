"""Join tensors once that several operations join."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tlf.dialects.joining import JoiningInterface
from tlf.dialects.rewriting import replace_op
from tlf.planner.fusion.notes import Notes


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
        notes = Notes(self.name)
        for block in dict.fromkeys(each.parent for each in op.walk()):
            found: list[JoiningInterface] = []
            for each in () if block is None else list(block.ops):
                if isinstance(each, JoiningInterface):
                    found.append(_shared(each, found, notes))
        notes.write()


def _shared(
    op: JoiningInterface, earlier: Iterable[JoiningInterface], notes: Notes
) -> JoiningInterface:
    """The operation, or one in its place that takes what earlier ones join."""
    alike = [each for each in earlier if _is_alike(each, op)]
    operands = list[SSAValue](op.operands)
    while (taken := _taken(operands, alike)) is not None:
        operands = taken
    if len(operands) == len(op.operands):
        return op
    made = op.tiled(operands, op.result_types)
    assert isinstance(made, JoiningInterface)
    made.location = op.location
    count = len(op.operands) - len(operands) + 1
    replace_op(op, made)
    notes.add(made, "passed", f"{count} operands are joined already")
    return made


def _taken(
    operands: Sequence[SSAValue], others: Iterable[JoiningInterface]
) -> list[SSAValue] | None:
    """The operands with the result of another operation in place of its own."""
    for other in others:
        count = len(other.operands)
        start = _start(operands, list(other.operands))
        if start is not None and count < len(operands):
            return [*operands[:start], *other.results, *operands[start + count :]]
    return None


def _is_alike(one: Operation, other: Operation) -> bool:
    """Return `True` if two operations have the same type and properties."""
    return type(one) is type(other) and one.properties == other.properties


def _start(values: Sequence[SSAValue], wanted: Sequence[SSAValue]) -> int | None:
    """
    Return the index at which some values follow each other among others; None if they
    do not.
    """
    count = len(wanted)
    starts = range(len(values) - count + 1)
    return next((at for at in starts if values[at : at + count] == wanted), None)
