"""Detect copies of computed values within a memory level."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import MemoryEffectKind, get_effects

from tlf.analysis.buffers.touches import VIEWS
from tlf.dialects import graph, mem
from tlf.support.affine.linear_map import is_identity

NONE = "nothing that was computed is copied within its level"

FARTHEST = 1 << 30
"""Farther from the engines than every memory level."""


@dataclass
class _Moves:
    """Sources of the buffers of a function that moves fill."""

    sources: dict[SSAValue, list[SSAValue]] = field(
        default_factory=dict[SSAValue, list[SSAValue]]
    )
    computed: set[SSAValue] = field(default_factory=set[SSAValue])
    """Buffers that something else than moves writes."""

    @staticmethod
    def of(function: func.FuncOp) -> _Moves:
        moves = _Moves()
        for op in function.walk():
            if (move := _move(op)) is not None:
                source, destination = map(_root, move)
                moves.sources.setdefault(destination, []).append(source)
            else:
                moves.computed.update(_root(value) for value in _written(op))
        return moves

    def copies(self) -> Iterator[tuple[SSAValue, SSAValue]]:
        """
        Yield pairs of a computed buffer, and a buffer of the same level that it is
        copied to unchanged.
        """
        for destination in self.sources:
            level = _distance(destination)
            for source in self._origins(destination, level):
                if _distance(source) == level and self._is_computed(source):
                    yield source, destination

    def _origins(self, buffer: SSAValue, level: int) -> list[SSAValue]:
        """
        The buffers whose elements reach one by moves alone, those in between nearer to
        the engines than a level.
        """
        found = dict[SSAValue, None]()
        pending = [*self.sources.get(buffer, ())]
        while pending:
            current = pending.pop(0)
            if current in found or current is buffer:
                continue
            found[current] = None
            if current not in self.computed and _distance(current) < level:
                pending.extend(self.sources.get(current, ()))
        return list(found)

    def _is_computed(self, buffer: SSAValue) -> bool:
        """Return `True` if computed values reach a buffer."""
        found = (buffer, *self._origins(buffer, FARTHEST))
        return not self.computed.isdisjoint(found)


def _distance(buffer: SSAValue) -> int:
    """Return the distance of a buffer's level from the engines: 1 for `L1`."""
    number = mem.level_of(buffer.type)[1:]
    return int(number) if number.isdecimal() else FARTHEST


def _move(op: Operation) -> tuple[SSAValue, SSAValue] | None:
    """The buffers between which an operation moves elements and does nothing else."""
    match op:
        case mem.DmaOp():
            return op.source, op.destination
        case mem.StoreOp():
            load = op.value.owner
            is_loaded = isinstance(load, mem.LoadOp)
            return (load.source, op.destination) if is_loaded else None
        case mem.MapOp(inputs=[source], outputs=[destination]):
            first = op.body.block.first_op
            yields = isinstance(first, mem.YieldOp) and is_identity(op.maps[0])
            return (source, destination) if yields else None
        case _:
            return None


def _written(op: Operation) -> Iterator[SSAValue]:
    """The buffers that an operation writes."""
    if isinstance(op, mem.StoreOp):
        yield op.destination
    elif isinstance(op, mem.StructuredOp | mem.FillOp | mem.MaskOp):
        for effect in get_effects(op) or ():
            value = effect.value
            if effect.kind is MemoryEffectKind.WRITE and isinstance(value, SSAValue):
                yield value


def _root(buffer: SSAValue) -> SSAValue:
    """The buffer that a view shows."""
    while isinstance(owner := buffer.owner, VIEWS):
        buffer = owner.operands[0]
    return buffer


@dataclass(frozen=True)
class MemReportCopiesPass(ModulePass):
    """
    Find what is copied within a memory level after it was computed.

    A copy is what a move, an operation that only yields its element, or a chain of them
    by way of nearer levels takes unchanged from a buffer to another of the same level.
    What is put down in a farther level and brought back is none, nor are copies of
    arguments and constants. Remarks name the buffers, or say that there is no copy.
    Functions without buffers are left alone.
    """

    name = "mem-report-copies"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.walk():
            if isinstance(function, func.FuncOp) and function.body.blocks:
                self._check(function)

    def _check(self, function: func.FuncOp) -> None:
        moves = _Moves.of(function)
        if not moves.sources and not moves.computed:
            return
        copies = list(moves.copies())
        for source, destination in copies:
            level = mem.level_of(source.type)
            names = (_named(each) for each in (source, destination))
            text = "{} is copied to {} within {}".format(*names, level)
            graph.remark(function, self.name, "missed", text)
        if not copies:
            graph.remark(function, self.name, "passed", NONE)


def _named(buffer: SSAValue) -> str:
    return f"%{buffer.name_hint}" if buffer.name_hint else "a buffer"
