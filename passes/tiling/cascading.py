"""What the steps of a cascade compute in the loop of its anchor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import copysign, isinf
from typing import TYPE_CHECKING

from xdsl.ir import Operation, SSAValue

from tlf.dialects.access import Box
from tlf.dialects.interfaces import AccumulatingInterface, TilingInterface
from tlf.dialects.types import greatest, is_float, tensor_type
from tlf.passes.tiling.model import GroupTiling, Scope

if TYPE_CHECKING:
    from tlf.passes.cascades.corrections import Correction


def step_box(tiling: GroupTiling, op: TilingInterface, box: Box) -> Box:
    """The iterations of a step in one iteration of the anchor's loop."""
    cascade, anchor = tiling.cascade, tiling.anchor
    assert cascade is not None
    assert anchor is not None
    (position,) = tiling.inner_loops
    tiled = list(box)
    tiled[cascade.steps[op].iterator] = tiling.tiles[anchor].box[position]
    return tuple(tiled)


def is_carried(tiling: GroupTiling, op: Operation) -> bool:
    """
    Whether the loop hands a value on to its next iteration: a total, or what is
    computed of totals and corrects others.
    """
    if op is tiling.anchor or tiling.is_step(op):
        return True
    return tiling.is_row(op) and any(
        op.results[0] in correction.values for _, correction in _corrections(tiling)
    )


def is_corrected_behind(tiling: GroupTiling, op: Operation) -> bool:
    """
    Whether a total is corrected once more behind the loop, because its terms depend on
    what is limited inside of it.
    """
    if (correction := tiling.correction_of(op)) is None:
        return False
    return not _limited(tiling).isdisjoint(correction.values)


def corrects_behind(tiling: GroupTiling, op: Operation) -> bool:
    """Whether the result of an operation corrects a total behind the loop."""
    return any(
        op.results[0] in correction.values and is_corrected_behind(tiling, step)
        for step, correction in _corrections(tiling)
    )


def _corrections(tiling: GroupTiling) -> Iterator[tuple[Operation, Correction]]:
    """The steps of a cascade whose terms depend on others."""
    for op, step in () if tiling.cascade is None else tiling.cascade.steps.items():
        if step.correction is not None:
            yield op, step.correction


def _limited(tiling: GroupTiling) -> set[SSAValue]:
    """What is limited while sums run, and what is computed of it alone."""
    cascade = tiling.cascade
    if cascade is None:
        return set()
    steps = [op for op in cascade.steps if limits_of(tiling, op)]
    found: set[SSAValue] = {op.results[0] for op in steps}
    for op in cascade.rows:
        if not found.isdisjoint(op.operands):
            found.add(op.results[0])
    return found


def limits_of(tiling: GroupTiling, op: Operation) -> tuple[float, ...]:
    """
    The numbers that a running value is not to be beyond while others compute with it:
    the least finite one, which is negative, or the greatest, or both. The total of a
    step has one if it starts from an infinity, and what is computed of it has both.
    """
    element = tensor_type(op.results[0]).element_type
    if not is_float(element):
        return ()
    if isinstance(op, AccumulatingInterface):
        neutral = op.neutral()
        is_limited = tiling.is_step(op) and isinf(neutral)
        return (copysign(greatest(element), neutral),) if is_limited else ()
    if is_carried(tiling, op) and op.results[0] in _limited(tiling):
        return -greatest(element), greatest(element)
    return ()


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
