"""Loop levels of the operations of a group: inside or after its reduction loop."""

from __future__ import annotations

from collections.abc import Sequence

from tlf.analysis.tiling.box_covering import is_moved_by
from tlf.analysis.tiling.cascade_tiles import is_correction_after_loop
from tlf.analysis.tiling.group_tiling import (
    GroupTiling,
    LoopLevel,
    ReadDemand,
    TilingError,
)
from tlf.dialects.interfaces import TilingInterface


def is_in_reduction_loop(
    tiling: GroupTiling, op: TilingInterface, needs: Sequence[ReadDemand]
) -> bool:
    """
    Return `True` if an operation whose parts consumers need is computed in the loop.
    Raises `TilingError` if its result differs inside and behind the loop, and both are
    needed.
    """
    if tiling.is_step(op):
        return True
    scopes = _demanded_levels(tiling, op, needs)
    is_running = tiling.is_running(op)
    if is_running and len(scopes) > 1:
        if tiling.is_row(op):
            return True
        raise TilingError(op, "it is needed while sums run, and once they are over")
    if LoopLevel.OUTER in scopes:
        return False
    inner = set(tiling.inner_loops.values())
    return is_running or any(is_moved_by(need.box, inner) for need in needs)


def is_recomputed_after_loop(
    tiling: GroupTiling, op: TilingInterface, needs: Sequence[ReadDemand]
) -> bool:
    """
    Return `True` if a value that is computed in the loop is needed behind it as well.
    """
    if not tiling.is_row(op):
        return False
    return len(_demanded_levels(tiling, op, needs)) > 1 or is_correction_after_loop(
        tiling, op
    )


def _demanded_levels(
    tiling: GroupTiling, op: TilingInterface, needs: Sequence[ReadDemand]
) -> set[LoopLevel]:
    """Return the scopes in which the result of an operation is needed."""
    scopes = {need.loop_level for need in needs}
    if any(result in tiling.results for result in op.results):
        scopes.add(LoopLevel.OUTER)
    return scopes
