"""Results that may be put where an input of their group lies."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from tlf.analysis.buffers.computing import computing_operations
from tlf.analysis.tiling.model import GroupTiling, Scope, same_box
from tlf.dialects.interfaces import ContractionInterface, TilingInterface


def is_read_in_place(tiling: GroupTiling, value: SSAValue, result: SSAValue) -> bool:
    """
    Return `True` if the only part of an input that is read for a tile of a result is
    the same tile.
    """
    if any(_reads_anywhere(tiling, each.op, value) for each in tiling.tiles.values()):
        return False
    if (value, Scope.INNER) in tiling.reads or _is_multiplied(tiling, value):
        return False
    boxes = tiling.reads.get((value, Scope.OUTER), [])
    piece = tiling.pieces[tiling.results.index(result)]
    return len(boxes) == 1 and same_box(boxes[0], piece)


def _reads_anywhere(tiling: GroupTiling, op: TilingInterface, value: SSAValue) -> bool:
    """Return `True` if an operation reads a part of a value that no tile describes."""
    pairs = zip(op.operands, op.operand_accesses(), strict=True)
    return any(
        operand is value and (accesses is None or op in tiling.gathered)
        for operand, accesses in pairs
    )


def _is_multiplied(tiling: GroupTiling, value: SSAValue) -> bool:
    """
    Return `True` if an operand of a contraction depends on a value, where threads share
    tiles: one may read for its part of a sum what another has overwritten.
    """
    if tiling.rules.views:
        return False
    inside = set[Operation](tiling.tiles)
    return any(
        value is operand or value in op.operands
        for contraction in inside
        if isinstance(contraction, ContractionInterface)
        for operand in contraction.inputs
        for op in computing_operations(operand, inside) or (contraction,)
    )
