"""Cost model of NPU tiles: boxes of operands that tiled operations read."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from tlf.analysis.tiling.group_tiling import GroupTiling, LoopLevel, TiledOperation
from tlf.support.affine.index_access import Box


def read_box_of(tiling: GroupTiling, tiled: TiledOperation, operand: int) -> Box | None:
    """
    Return the box of an operand that an operation reads, or `None` if there is none.
    """
    if (available := _available_box_of(tiling, tiled.op.operands[operand])) is None:
        return None
    return tiled.reads[operand] or available


def _available_box_of(tiling: GroupTiling, value: SSAValue) -> Box | None:
    """Return the available tile of a value, or `None` if there is none."""
    owner = value.owner
    if isinstance(owner, Operation) and (tiled := tiling.tiles.get(owner)) is not None:
        return tiled.result
    for scope in LoopLevel:
        if boxes := tiling.reads.get((value, scope)):
            return boxes[0]
    return None
