"""
Values of a group that are computed in slices of the value that they are concat operands
of.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from xdsl.ir import Operation, SSAValue

from tlf.analysis.tiling.model import GroupTiling, Scope
from tlf.dialects.joining import JoiningInterface
from tlf.support.affine.access import Box


class Joined:
    """
    The values of a group, in a level of buffers, of which the tile is a part of a tile
    that they make up with others: computed in the group, or loaded for it.
    """

    def __init__(self, tiling: GroupTiling, apart: Collection[SSAValue]) -> None:
        """Values that lie `apart` stay where they are."""
        self.tiling = tiling
        self.parts: dict[SSAValue, SSAValue] = {}
        """For a value that is part of another one, that one."""
        for op, tiled in tiling.tiles.items():
            if tiled.form.is_joining and isinstance(op, JoiningInterface):
                for operand in op.operands:
                    if operand not in apart and self._fits(operand, op):
                        self.parts.setdefault(operand, op.results[0])

    def of(self, whole: SSAValue) -> Iterator[SSAValue]:
        """The values that make up one, each with those that make it up."""
        for part, other in self.parts.items():
            if other is whole:
                yield part
                yield from self.of(part)

    def _fits(self, operand: SSAValue, op: JoiningInterface) -> bool:
        """
        Return `True` if the tile of a concat operand is exactly its slice of the
        result's tile.
        """
        tiling = self.tiling
        have, whole = self._box(operand), tiling.tiles[op].result
        if have is None or any(key[0] is operand for key in tiling.windows):
            return False
        if operand in tiling.results or (op.results[0], 0) in tiling.windows:
            return False
        accesses = op.operand_accesses()[list(op.operands).index(operand)] or ()
        return all(
            mine.room == other.room or not access.terms
            for mine, other, access in zip(have, whole, accesses, strict=True)
        )

    def _box(self, value: SSAValue) -> Box | None:
        """The only tile of a value."""
        owner = value.owner
        if isinstance(owner, Operation) and owner in self.tiling.tiles:
            return self.tiling.tiles[owner].result
        boxes = self.tiling.reads.get((value, Scope.OUTER), ())
        return boxes[0] if len(boxes) == 1 else None
