"""
Analysis of the tiles of scans: a loop over them carries a total, and is sequential.
"""

from __future__ import annotations

from tlf.analysis.operations.op_facts import OpFacts
from tlf.analysis.tiling.group_tiling import GroupTiling, TileLoop, TilingError
from tlf.dialects.interfaces import ScanInterface, TilingInterface
from tlf.support.affine.index_access import AffineSum, Box, Interval


def check_scanned_tile(
    op: TilingInterface, facts: OpFacts, box: Box, tiling: GroupTiling
) -> None:
    """
    Check the tile of a scan: it starts at the first element of the axis, up to the last
    one if it is reversed, or follows the tile of the previous iteration of a loop of
    the root. Raises `TilingError`.
    """
    if facts.scan_iterator is None or not isinstance(op, ScanInterface):
        return
    interval = box[facts.scan_iterator]
    is_whole = interval.size >= facts.extents[facts.scan_iterator]
    if interval.offset == AffineSum() and (is_whole or not op.is_reversed):
        return
    loop = _find_loop_of_adjacent_tiles(interval, tiling)
    if loop is None:
        raise TilingError(op, "expected tiles that follow each other along the scan")
    if op.rounds_once:
        raise TilingError(
            op, "expected the whole axis of a scan that rounds at its end"
        )
    if tiling.sequential_loop not in (None, loop) or any(
        each.is_reversed != op.is_reversed for each in tiling.scans_along_loop(loop)
    ):
        raise TilingError(
            op, "expected one loop over the tiles of all scans, in one direction"
        )


def _find_loop_of_adjacent_tiles(
    interval: Interval, tiling: GroupTiling
) -> TileLoop | None:
    """Return the loop of the root along which tiles follow each other, if any."""
    for loop in tiling.loops.values():
        is_at_start = interval.offset == AffineSum.of_symbol(loop)
        if is_at_start and interval.size == interval.tile_extent == loop.tile:
            return loop
    return None
