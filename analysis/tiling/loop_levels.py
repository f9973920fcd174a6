"""
Analysis of the operations of a group: those inside and those after the reduction loop.
"""

from __future__ import annotations

from collections.abc import Sequence

from tlf.analysis.tiling.box_covering import is_box_moved_by
from tlf.analysis.tiling.cascade_tiles import is_correction_after_loop
from tlf.analysis.tiling.group_tiling import (
    GroupTiling,
    LoopLevel,
    ReadDemand,
    TilingError,
)
from tlf.dialects.interfaces import TilingInterface


def is_in_reduction_loop(
    tiling: GroupTiling, op: TilingInterface, demands: Sequence[ReadDemand]
) -> bool:
    """
    Return `True` if an operation is computed in the reduction loop, given the demands
    of its consumers. Raises `TilingError` if its result differs inside and after the
    loop, and both are needed.
    """
    if tiling.is_cascade_step(op):
        return True
    levels = _levels_of_demands(tiling, op, demands)
    is_running = tiling.is_dependent_on_step(op)
    if is_running and len(levels) > 1:
        if tiling.is_row_operation(op):
            return True
        raise TilingError(op, "it is needed both inside and after the reduction loop")
    if LoopLevel.OUTER in levels:
        return False
    inner = set(tiling.inner_loops.values())
    return is_running or any(is_box_moved_by(need.box, inner) for need in demands)


def is_recomputed_after_loop(
    tiling: GroupTiling, op: TilingInterface, demands: Sequence[ReadDemand]
) -> bool:
    """
    Return `True` if a value that is computed in the loop is also needed after the loop.
    """
    if not tiling.is_row_operation(op):
        return False
    return len(_levels_of_demands(tiling, op, demands)) > 1 or is_correction_after_loop(
        tiling, op
    )


def _levels_of_demands(
    tiling: GroupTiling, op: TilingInterface, demands: Sequence[ReadDemand]
) -> set[LoopLevel]:
    """Return the loop levels at which the result of an operation is needed."""
    levels = {need.loop_level for need in demands}
    if any(result in tiling.results for result in op.results):
        levels.add(LoopLevel.OUTER)
    return levels
