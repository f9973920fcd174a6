"""Origins of the values of a tiled group."""

from __future__ import annotations

from xdsl.ir import Block, SSAValue

from tlf.analysis.tiling.model import GroupTiling, TiledOperation


def made_by(tiling: GroupTiling, value: SSAValue) -> TiledOperation | None:
    """The product of a group that a value is, or is computed of element by element."""
    pending, seen = [value], set[SSAValue]()
    while pending:
        each = pending.pop()
        if each in seen or isinstance(each.owner, Block):
            continue
        seen.add(each)
        if (tiled := tiling.tiles.get(each.owner)) is None:
            continue
        if tiled.form.is_product:
            return tiled
        if tiled.form.is_elementwise:
            pending.extend(tiled.op.operands)
    return None
