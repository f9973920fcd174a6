"""Analysis of the tiles that a group slices from its inputs."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from tlf.analysis.tiling.box_covering import is_box_moved_by
from tlf.analysis.tiling.group_tiling import (
    GroupTiling,
    LoopLevel,
    ReadDemand,
    is_same_box,
)
from tlf.support.affine.index_access import Box


def add_input_slices(
    tiling: GroupTiling, value: SSAValue, demands: Sequence[ReadDemand]
) -> None:
    """
    Record the tiles to slice from an input: few tiles that contain all needed boxes.
    """
    for need in demands:
        scope = loop_level_of_input_tile(tiling, need.box, need.loop_level)
        boxes = tiling.reads.setdefault((value, scope), [])
        _merge_box_into_slices(tiling, boxes, need.box)


def loop_level_of_input_tile(
    tiling: GroupTiling, box: Box, innermost_level: LoopLevel
) -> LoopLevel:
    """
    Return the loop level at which a tile of an input is sliced: outside of all loops on
    whose induction variables its offset does not depend.
    """
    if innermost_level is LoopLevel.NESTED and is_box_moved_by(
        box, tiling.nested_loops
    ):
        return innermost_level
    if innermost_level is LoopLevel.OUTER or not is_box_moved_by(
        box, tiling.inner_loops.values()
    ):
        return LoopLevel.OUTER
    return LoopLevel.INNER


def _merge_box_into_slices(tiling: GroupTiling, boxes: list[Box], box: Box) -> None:
    """
    Extend the first slice in `boxes` at a constant distance from `box` to contain it,
    or append it; without views, only merge equal boxes.
    """
    for position, known in enumerate(boxes):
        merged = [a.hull(b) for a, b in zip(known, box, strict=True)]
        hull = tuple(interval for interval in merged if interval is not None)
        if len(hull) < len(box):
            continue
        if tiling.rules.has_views or is_same_box(known, box):
            boxes[position] = hull
            return
    boxes.append(box)
