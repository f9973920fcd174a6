"""Analysis of a tiled group: its results that may overwrite an input."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from tlf.analysis.buffers.producer_slices import producer_slice_of
from tlf.analysis.tiling.group_tiling import GroupTiling, LoopLevel, is_same_box
from tlf.dialects.interfaces import ContractionInterface, TilingInterface


def is_input_overwritable_by_result(
    tiling: GroupTiling, value: SSAValue, result: SSAValue
) -> bool:
    """Return `True` if the tile of a result reads only the same tile of an input."""
    if any(_has_untiled_read(tiling, each.op, value) for each in tiling.tiles.values()):
        return False
    if (value, LoopLevel.INNER) in tiling.reads or _is_contraction_input(tiling, value):
        return False
    boxes = tiling.reads.get((value, LoopLevel.OUTER), [])
    result_tile = tiling.result_tiles[tiling.results.index(result)]
    return len(boxes) == 1 and is_same_box(boxes[0], result_tile)


def _has_untiled_read(
    tiling: GroupTiling, op: TilingInterface, value: SSAValue
) -> bool:
    """
    Return `True` if an operation reads a value through a move or without an indexing
    map.
    """
    pairs = zip(op.operands, op.indexing_maps(), strict=True)
    return any(
        operand is value and (accesses is None or op in tiling.gathered_operations)
        for operand, accesses in pairs
    )


def _is_contraction_input(tiling: GroupTiling, value: SSAValue) -> bool:
    """
    Return `True` if a contraction depends on a value in a level where threads share
    tiles. A thread may then read elements for its partial sum that another thread has
    overwritten.
    """
    if tiling.rules.has_views:
        return False
    inside = set[Operation](tiling.tiles)
    return any(
        value is operand or value in op.operands
        for contraction in inside
        if isinstance(contraction, ContractionInterface)
        for operand in contraction.inputs
        for op in producer_slice_of(operand, inside) or (contraction,)
    )
