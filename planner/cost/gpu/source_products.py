"""
Cost model of GPU kernels: search in a tiled group for the matrix product from which a
value is computed.
"""

from __future__ import annotations

from xdsl.ir import Block, SSAValue

from tlf.analysis.tiling.group_tiling import GroupTiling, TiledOperation


def find_source_product(tiling: GroupTiling, value: SSAValue) -> TiledOperation | None:
    """
    Return the product that computes a value, directly or through elementwise
    operations.
    """
    pending, visited = [value], set[SSAValue]()
    while pending:
        each = pending.pop()
        if each in visited or isinstance(each.owner, Block):
            continue
        visited.add(each)
        if (tiled := tiling.tiles.get(each.owner)) is None:
            continue
        if tiled.facts.is_product:
            return tiled
        if tiled.facts.is_elementwise:
            pending.extend(tiled.op.operands)
    return None
