"""Concat operands that a group computes in slices of the concat result."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from xdsl.ir import Operation, SSAValue

from tlf.analysis.tiling.group_tiling import GroupTiling, LoopLevel
from tlf.dialects.concat_like_interface import ConcatLikeInterface
from tlf.support.affine.index_access import Box


class ConcatSlices:
    """Concat operands whose tile is a slice of the tile of the result."""

    def __init__(self, tiling: GroupTiling, apart: Collection[SSAValue]) -> None:
        """Values that lie `apart` stay where they are."""
        self.tiling = tiling
        self.parts: dict[SSAValue, SSAValue] = {}
        """For a value that is part of another one, that one."""
        for op, tiled in tiling.tiles.items():
            if tiled.facts.is_concat and isinstance(op, ConcatLikeInterface):
                for operand in op.operands:
                    if operand not in apart and self._is_exact_slice(operand, op):
                        self.parts.setdefault(operand, op.results[0])

    def operands_of(self, whole: SSAValue) -> Iterator[SSAValue]:
        """The values that make up one, each with those that make it up."""
        for part, other in self.parts.items():
            if other is whole:
                yield part
                yield from self.operands_of(part)

    def _is_exact_slice(self, operand: SSAValue, op: ConcatLikeInterface) -> bool:
        """
        Return `True` if the tile of a concat operand is exactly its slice of the
        result's tile.
        """
        tiling = self.tiling
        have, whole = self._single_tile_of(operand), tiling.tiles[op].result
        if have is None or any(key[0] is operand for key in tiling.windows):
            return False
        if operand in tiling.results or (op.results[0], 0) in tiling.windows:
            return False
        accesses = op.indexing_maps()[list(op.operands).index(operand)] or ()
        return all(
            mine.tile_extent == other.tile_extent or not access.terms
            for mine, other, access in zip(have, whole, accesses, strict=True)
        )

    def _single_tile_of(self, value: SSAValue) -> Box | None:
        """The only tile of a value."""
        owner = value.owner
        if isinstance(owner, Operation) and owner in self.tiling.tiles:
            return self.tiling.tiles[owner].result
        boxes = self.tiling.reads.get((value, LoopLevel.OUTER), ())
        return boxes[0] if len(boxes) == 1 else None
