"""
Cost model of NPU buffers: concat operands that a group computes in slices of the concat
result.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from xdsl.ir import Operation, SSAValue

from tlf.analysis.tiling.group_tiling import GroupTiling, LoopLevel
from tlf.dialects.concat_like_interface import ConcatLikeInterface
from tlf.support.affine.index_access import Box


class ConcatSlices:
    """Concat operands that need no buffer, as their tile is a slice of the result's."""

    def __init__(
        self, tiling: GroupTiling, separate_values: Collection[SSAValue]
    ) -> None:
        """Values in `separate_values` have separate buffers and are no slices."""
        self.tiling = tiling
        self.parts: dict[SSAValue, SSAValue] = {}
        """Maps a concat operand to the concat result that it is a slice of."""
        for op, tiled in tiling.tiles.items():
            if tiled.facts.is_concat and isinstance(op, ConcatLikeInterface):
                for operand in op.operands:
                    if operand not in separate_values and self._is_exact_slice(
                        operand, op
                    ):
                        self.parts.setdefault(operand, op.results[0])

    def slice_operands_of(self, concat_result: SSAValue) -> Iterator[SSAValue]:
        """Yield the operands that are slices of `concat_result`, also transitively."""
        for operand, result in self.parts.items():
            if result is concat_result:
                yield operand
                yield from self.slice_operands_of(operand)

    def _is_exact_slice(self, operand: SSAValue, op: ConcatLikeInterface) -> bool:
        """
        Return `True` if the tile of a concat operand is exactly its slice of the
        result's tile.
        """
        tiling = self.tiling
        tile, result_tile = self._single_tile_of(operand), tiling.tiles[op].result
        if tile is None or any(key[0] is operand for key in tiling.windows):
            return False
        if operand in tiling.results or (op.results[0], 0) in tiling.windows:
            return False
        accesses = op.indexing_maps()[list(op.operands).index(operand)] or ()
        return all(
            own.tile_extent == other.tile_extent or not access.terms
            for own, other, access in zip(tile, result_tile, accesses, strict=True)
        )

    def _single_tile_of(self, value: SSAValue) -> Box | None:
        """Return the tile of a value, or `None` if it has several or none."""
        owner = value.owner
        if isinstance(owner, Operation) and owner in self.tiling.tiles:
            return self.tiling.tiles[owner].result
        boxes = self.tiling.reads.get((value, LoopLevel.OUTER), ())
        return boxes[0] if len(boxes) == 1 else None
