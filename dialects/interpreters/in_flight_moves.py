"""Moves in flight of the interpreted program, and checks for accesses that race."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from xdsl.ir import Operation, SSAValue
from xdsl.traits import MemoryEffectKind, get_effects
from xdsl.utils.exceptions import InterpretationError

from tlf.dialects.interfaces import Array
from tlf.dialects.source_locations import location_of


@dataclass(eq=False)
class InFlightMove:
    """A move that has started, part by part."""

    op: Operation
    source: Sequence[Array]
    """The elements that are read."""
    destination: Sequence[Array]
    """The elements that are written."""
    arriving: Sequence[Array]
    """The values that will be written."""

    def find_conflict(
        self, reads: Sequence[Array], writes: Sequence[Array]
    ) -> str | None:
        """
        Return the conflict of an access with the move, in words; `None` if there is
        none.
        """
        for touched, sides, done in (
            (writes, self.source, "the source of a move was written before its wait"),
            (
                writes,
                self.destination,
                "the destination of a move was written before its wait",
            ),
            (
                reads,
                self.destination,
                "the destination of a move was read before its wait",
            ),
        ):
            if any(_is_overlapping(each, side) for each in touched for side in sides):
                return done
        return None


@dataclass
class InFlightMoves:
    """The moves that have started and have not been waited for."""

    moves: list[InFlightMove] = field(default_factory=list[InFlightMove])

    def start(self, move: InFlightMove) -> None:
        """Let a move begin."""
        self.check_access(move.op, move.source, move.destination)
        self.moves.append(move)

    def finish(self, move: InFlightMove) -> None:
        """Let a move take effect, once."""
        if move not in self.moves:
            return
        self.moves.remove(move)
        for each, arriving in zip(move.destination, move.arriving, strict=True):
            each[...] = arriving

    def check_access(
        self, op: Operation, reads: Sequence[Array], writes: Sequence[Array]
    ) -> None:
        """
        Note what an operation accesses. Raises `InterpretationError` where a move is
        not over.
        """
        for move in self.moves:
            if (conflict := move.find_conflict(reads, writes)) is not None:
                place = location_of(move.op)
                where = "" if place is None else f" (started in line {place.line.data})"
                raise InterpretationError(f"{op.name}: {conflict}{where}")

    def check_operands(self, op: Operation, values: Iterable[object]) -> None:
        """Note the buffers that an operation accesses by the effects that it has."""
        if not self.moves:
            return
        arrays = dict(zip(op.operands, values, strict=True))
        touched = {kind: list[Array]() for kind in MemoryEffectKind}
        for effect in get_effects(op) or ():
            if isinstance(effect.value, SSAValue) and effect.value in arrays:
                touched[effect.kind].append(cast(Array, arrays[effect.value]))
        reads, writes = MemoryEffectKind.READ, MemoryEffectKind.WRITE
        self.check_access(op, touched[reads], touched[writes])


def _is_overlapping(one: Array, other: Array) -> bool:
    """Return `True` if two views share an element."""
    return np.may_share_memory(one, other) and np.shares_memory(one, other)
