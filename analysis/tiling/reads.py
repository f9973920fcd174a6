"""The tiles that a group cuts from its inputs."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from tlf.analysis.tiling.boxes import moves_with
from tlf.analysis.tiling.model import GroupTiling, Read, Scope, same_box
from tlf.support.affine.access import Box


def add_reads(tiling: GroupTiling, value: SSAValue, needs: Sequence[Read]) -> None:
    """Note the tiles to be cut from an input, few that hold all that is needed."""
    for need in needs:
        scope = place_of(tiling, need.box, need.scope)
        boxes = tiling.reads.setdefault((value, scope), [])
        _add_read(tiling, boxes, need.box)


def place_of(tiling: GroupTiling, box: Box, scope: Scope) -> Scope:
    """
    Return the scope in which a tile of an input is sliced: outside of all loops that do
    not move it.
    """
    if scope is Scope.NESTED and moves_with(box, tiling.nested_loops):
        return scope
    if scope is Scope.OUTER or not moves_with(box, tiling.inner_loops.values()):
        return Scope.OUTER
    return Scope.INNER


def _add_read(tiling: GroupTiling, boxes: list[Box], box: Box) -> None:
    for position, known in enumerate(boxes):
        merged = [a.hull(b) for a, b in zip(known, box, strict=True)]
        hull = tuple(interval for interval in merged if interval is not None)
        if len(hull) < len(box):
            continue
        if tiling.rules.views or same_box(known, box):
            boxes[position] = hull
            return
    boxes.append(box)
