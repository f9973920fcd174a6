"""What the steps of a cascade compute in the loop of its anchor."""

from __future__ import annotations

from collections.abc import Sequence
from math import isinf

from xdsl.ir import Operation

from tlf.dialects.access import Box
from tlf.dialects.interfaces import AccumulatingInterface, TilingInterface
from tlf.dialects.types import greatest, is_float, tensor_type
from tlf.passes.tiling.model import GroupTiling, Scope


def step_box(tiling: GroupTiling, op: TilingInterface, box: Box) -> Box:
    """The iterations of a step in one iteration of the anchor's loop."""
    cascade, anchor = tiling.cascade, tiling.anchor
    assert cascade is not None
    assert anchor is not None
    (position,) = tiling.inner_loops
    tiled = list(box)
    tiled[cascade.steps[op].iterator] = tiling.tiles[anchor].box[position]
    return tuple(tiled)


def limit_of(tiling: GroupTiling, op: Operation) -> float | None:
    """
    The number that the running total of a step is not to be beyond while others compute
    with it, if it starts from an infinity.
    """
    if not isinstance(op, AccumulatingInterface) or not tiling.is_step(op):
        return None
    neutral, element = op.neutral(), tensor_type(op.results[0]).element_type
    if not is_float(element) or not isinf(neutral):
        return None
    return greatest(element) if neutral > 0 else -greatest(element)


def order_of(
    tiling: GroupTiling, operations: Sequence[TilingInterface]
) -> Sequence[Operation]:
    """
    The operations that are computed in the order of the program, but for those that
    need the totals of a cascade, which run behind its loop.
    """
    order: list[Operation] = [op for op in operations if op in tiling.tiles]
    if (cascade := tiling.cascade) is None:
        return order
    end = order.index(cascade.anchor)
    late = [
        op
        for op in order[:end]
        if op in cascade.dependent and tiling.tiles[op].scope is Scope.OUTER
    ]
    early = [op for op in order[:end] if op not in late]
    return [*early, cascade.anchor, *late, *order[end + 1 :]]
