"""The tiles that a group cuts from its inputs."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from tlf.dialects.access import Box
from tlf.passes.tiling.boxes import moves_with
from tlf.passes.tiling.model import GroupTiling, Read, Scope, same_box


def add_reads(tiling: GroupTiling, value: SSAValue, needs: Sequence[Read]) -> None:
    """Note the tiles to be cut from an input, few that hold all that is needed."""
    inner = set(tiling.inner_loops.values())
    for need in needs:
        moving = need.scope is Scope.INNER and moves_with(need.box, inner)
        scope = Scope.INNER if moving else Scope.OUTER
        boxes = tiling.reads.setdefault((value, scope), [])
        _add_read(tiling, boxes, need.box)


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
