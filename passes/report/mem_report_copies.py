"""Pass `mem-report-copies`: reports copies of computed values within a memory level."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import MemoryEffectKind, get_effects

from tlf.analysis.buffers.memory_effects import root_buffer_of
from tlf.dialects import graph, mem
from tlf.support.affine.linear_access import is_identity

NO_COPIES = "no computed value is copied within its level"

OUTERMOST_DISTANCE = 1 << 30
"""Distance that exceeds the distance of every numbered memory level."""


@dataclass
class _BufferMoves:
    """
    Sources and destinations of the moves of a function, and the buffers that other
    operations write.
    """

    sources_by_destination: dict[SSAValue, list[SSAValue]] = field(
        default_factory=dict[SSAValue, list[SSAValue]]
    )
    computed_buffers: set[SSAValue] = field(default_factory=set[SSAValue])
    """Buffers that operations other than moves write."""

    @staticmethod
    def collect_from_function(function: func.FuncOp) -> _BufferMoves:
        """Collect a function's moves, and the buffers that other operations write."""
        moves = _BufferMoves()
        for op in function.walk():
            if (move := _source_and_destination_of_move(op)) is not None:
                source, destination = map(root_buffer_of, move)
                moves.sources_by_destination.setdefault(destination, []).append(source)
            else:
                moves.computed_buffers.update(
                    root_buffer_of(value) for value in _buffers_computed_by(op)
                )
        return moves

    def find_copies_within_level(self) -> Iterator[tuple[SSAValue, SSAValue]]:
        """
        Yield pairs of a computed buffer and its copy in another buffer of the same
        level.
        """
        for destination in self.sources_by_destination:
            level = _level_distance_from_engines(destination)
            for source in self._buffers_reaching_by_moves(destination, level):
                if _level_distance_from_engines(
                    source
                ) == level and self._has_computed_values(source):
                    yield source, destination

    def _buffers_reaching_by_moves(
        self, buffer: SSAValue, level: int
    ) -> list[SSAValue]:
        """
        Return the buffers whose elements reach `buffer` by moves only, through levels
        closer to the engines than `level`.
        """
        sources = dict[SSAValue, None]()
        pending = [*self.sources_by_destination.get(buffer, ())]
        while pending:
            current = pending.pop(0)
            if current in sources or current is buffer:
                continue
            sources[current] = None
            if (
                current not in self.computed_buffers
                and _level_distance_from_engines(current) < level
            ):
                pending.extend(self.sources_by_destination.get(current, ()))
        return list(sources)

    def _has_computed_values(self, buffer: SSAValue) -> bool:
        """Return `True` if computed values reach a buffer by moves."""
        origins = (buffer, *self._buffers_reaching_by_moves(buffer, OUTERMOST_DISTANCE))
        return not self.computed_buffers.isdisjoint(origins)


def _level_distance_from_engines(buffer: SSAValue) -> int:
    """Return the distance of a buffer's level from the engines: 1 for `L1`."""
    digits = mem.level_of(buffer.type)[1:]
    return int(digits) if digits.isdecimal() else OUTERMOST_DISTANCE


def _source_and_destination_of_move(op: Operation) -> tuple[SSAValue, SSAValue] | None:
    """
    Return the source and destination of an operation that only moves elements, or None.
    """
    match op:
        case mem.DmaOp():
            return op.source, op.destination
        case mem.StoreOp():
            load = op.value.owner
            is_loaded = isinstance(load, mem.LoadOp)
            return (load.source, op.destination) if is_loaded else None
        case mem.MapOp(inputs=[source], outputs=[destination]):
            first = op.body.block.first_op
            is_copy = isinstance(first, mem.YieldOp) and is_identity(op.maps[0])
            return (source, destination) if is_copy else None
        case _:
            return None


def _buffers_computed_by(op: Operation) -> Iterator[SSAValue]:
    """
    Yield the buffers that a store, fill, mask or structured operation writes; none for
    other operations.
    """
    if isinstance(op, mem.StoreOp):
        yield op.destination
    elif isinstance(op, mem.StructuredOp | mem.FillOp | mem.MaskOp):
        for effect in get_effects(op) or ():
            value = effect.value
            if effect.kind is MemoryEffectKind.WRITE and isinstance(value, SSAValue):
                yield value


@dataclass(frozen=True)
class MemReportCopiesPass(ModulePass):
    """
    Add remarks on copies of computed values within a memory level.

    A copy is a move, a map that only yields its element, or a chain of these through
    inner levels, from a buffer to another buffer of the same level. Values that are
    stored to an outer level and loaded back, and copies of arguments and constants, are
    not reported. Remarks name the buffers, or state that there are no copies. Functions
    without buffers get no remark.
    """

    name = "mem-report-copies"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.walk():
            if isinstance(function, func.FuncOp) and function.body.blocks:
                self._report_copies_in_function(function)

    def _report_copies_in_function(self, function: func.FuncOp) -> None:
        """Add a remark per copy within a level, or one that there are none."""
        moves = _BufferMoves.collect_from_function(function)
        if not moves.sources_by_destination and not moves.computed_buffers:
            return
        copies = list(moves.find_copies_within_level())
        for source, destination in copies:
            level = mem.level_of(source.type)
            names = (_describe_buffer(each) for each in (source, destination))
            text = "{} is copied to {} within {}".format(*names, level)
            graph.add_remark(function, self.name, "missed", text)
        if not copies:
            graph.add_remark(function, self.name, "passed", NO_COPIES)


def _describe_buffer(buffer: SSAValue) -> str:
    return f"%{buffer.name_hint}" if buffer.name_hint else "a buffer"
