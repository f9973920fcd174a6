"""Analysis of a tiled group: steps of its cascade in the loop of the anchor."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from tlf.analysis.recurrence import running_limits
from tlf.analysis.tiling.group_tiling import GroupTiling, LoopLevel
from tlf.dialects.interfaces import TilingInterface
from tlf.support.affine.index_access import Box


def tile_of_cascade_step(tiling: GroupTiling, op: TilingInterface, box: Box) -> Box:
    """Return the iterations of a step in one iteration of the anchor's loop."""
    cascade, anchor = tiling.cascade, tiling.anchor
    assert cascade is not None
    assert anchor is not None
    (position,) = tiling.inner_loops
    tiled = list(box)
    tiled[cascade.steps[op].iterator] = tiling.tiles[anchor].box[position]
    return tuple(tiled)


def is_loop_carried(tiling: GroupTiling, op: Operation) -> bool:
    """Return `True` if the value is carried by the loop of the group."""
    cascade = tiling.cascade
    return op is tiling.anchor or (
        cascade is not None and running_limits.is_loop_carried(cascade, op)
    )


def is_corrected_after_loop(tiling: GroupTiling, op: Operation) -> bool:
    """
    Return `True` if a total is corrected once more after the loop, because its terms
    depend on values that are clamped inside the loop.
    """
    if (cascade := tiling.cascade) is None:
        return False
    if (correction := tiling.correction_of(op)) is None:
        return False
    return not running_limits.values_to_clamp(cascade).isdisjoint(correction.values)


def is_correction_after_loop(tiling: GroupTiling, op: Operation) -> bool:
    """Return `True` if the result of an operation corrects a total after the loop."""
    if tiling.cascade is None:
        return False
    return any(
        op.results[0] in correction.values and is_corrected_after_loop(tiling, step)
        for step, correction in running_limits.steps_with_correction(tiling.cascade)
    )


def running_value_limits_in_loop(
    tiling: GroupTiling, op: Operation
) -> tuple[float, ...]:
    """
    Return the finite limits to which a running value is clamped in the loop of a group.
    """
    return (
        ()
        if tiling.cascade is None
        else running_limits.finite_limits_of(tiling.cascade, op)
    )


def computation_order_of(
    tiling: GroupTiling, operations: Sequence[TilingInterface]
) -> Sequence[Operation]:
    """
    Return the computed operations in program order, except those that need the totals
    of a cascade, which run after its loop.
    """
    order: list[Operation] = [op for op in operations if op in tiling.tiles]
    if (cascade := tiling.cascade) is None:
        return order
    end = order.index(cascade.anchor)
    after_loop = [
        op
        for op in order[:end]
        if op in cascade.dependent_operations
        and tiling.tiles[op].loop_level is LoopLevel.OUTER
    ]
    before_loop = [op for op in order[:end] if op not in after_loop]
    return [*before_loop, cascade.anchor, *after_loop, *order[end + 1 :]]
