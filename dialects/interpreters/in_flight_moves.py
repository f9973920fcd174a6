"""
Reference interpretation of the asynchronous moves of the `mem` dialect, with detection
of races.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from xdsl.ir import Operation, SSAValue
from xdsl.traits import MemoryEffectKind, get_effects
from xdsl.utils.exceptions import InterpretationError

from tlf.dialects.interfaces import Array
from tlf.dialects.source_locations import nearest_location_of


@dataclass(eq=False)
class InFlightMove:
    """Move that has started, with views of the arrays that it accesses."""

    op: Operation
    source: Sequence[Array]
    """Elements that the move reads."""
    destination: Sequence[Array]
    """Elements that the move writes."""
    moved_values: Sequence[Array]
    """Values to write, one array per array of `destination`."""

    def find_conflict(
        self, reads: Sequence[Array], writes: Sequence[Array]
    ) -> str | None:
        """
        Return a description of the conflict of an access with the move; `None` if there
        is none.
        """
        for accessed, views, conflict in (
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
            if any(
                _is_overlapping_view(each, view) for each in accessed for view in views
            ):
                return conflict
        return None


@dataclass
class InFlightMoves:
    """Moves of an interpreter run that have started and have not been waited for."""

    moves: list[InFlightMove] = field(default_factory=list[InFlightMove])

    def start_move(self, move: InFlightMove) -> None:
        """Start a move."""
        self.check_no_conflict(move.op, move.source, move.destination)
        self.moves.append(move)

    def finish_move(self, move: InFlightMove) -> None:
        """
        Write the values of a move to its destination and remove it; do nothing if it is
        not in flight.
        """
        if move not in self.moves:
            return
        self.moves.remove(move)
        for view, values in zip(move.destination, move.moved_values, strict=True):
            view[...] = values

    def check_no_conflict(
        self, op: Operation, reads: Sequence[Array], writes: Sequence[Array]
    ) -> None:
        """
        Check the accesses of an operation. Raises `InterpretationError` if they
        conflict with a move in flight.
        """
        for move in self.moves:
            if (conflict := move.find_conflict(reads, writes)) is not None:
                location = nearest_location_of(move.op)
                where = (
                    ""
                    if location is None
                    else f" (started in line {location.line.data})"
                )
                raise InterpretationError(f"{op.name}: {conflict}{where}")

    def check_operands(self, op: Operation, values: Iterable[object]) -> None:
        """Check the accesses of an operation to its operands, by its memory effects."""
        if not self.moves:
            return
        arrays = dict(zip(op.operands, values, strict=True))
        accessed = {kind: list[Array]() for kind in MemoryEffectKind}
        for effect in get_effects(op) or ():
            if isinstance(effect.value, SSAValue) and effect.value in arrays:
                accessed[effect.kind].append(cast(Array, arrays[effect.value]))
        reads, writes = MemoryEffectKind.READ, MemoryEffectKind.WRITE
        self.check_no_conflict(op, accessed[reads], accessed[writes])


def _is_overlapping_view(lhs: Array, rhs: Array) -> bool:
    """Return `True` if two views share an element."""
    return np.may_share_memory(lhs, rhs) and np.shares_memory(lhs, rhs)
