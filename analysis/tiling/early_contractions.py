"""Analysis of a group: contractions that can be computed before their own iteration."""

from __future__ import annotations

from collections.abc import Collection

from xdsl.ir import Operation

from tlf.analysis.tiling.group_tiling import GroupTiling, LoopLevel
from tlf.dialects.interfaces import ContractionInterface


def early_contractions_of(tiling: GroupTiling) -> list[Operation]:
    """
    Return the contractions in the body of the innermost loops that read only inputs of
    the group, and on which another contraction depends.
    """
    inside = [
        op
        for op, tiled in tiling.tiles.items()
        if not tiling.inner_loops
        or op is tiling.anchor
        or tiled.loop_level is LoopLevel.INNER
    ]
    return [
        op
        for op in inside
        if isinstance(op, ContractionInterface)
        and not any(operand.owner in tiling.tiles for operand in op.operands)
        and _has_dependent_contraction(op, inside)
    ]


def _has_dependent_contraction(
    contraction: Operation, operations: Collection[Operation]
) -> bool:
    """
    Return `True` if another contraction depends on `contraction`; `operations` are in
    program order.
    """
    dependents = {contraction}
    for op in operations:
        if not any(operand.owner in dependents for operand in op.operands):
            continue
        if isinstance(op, ContractionInterface):
            return True
        dependents.add(op)
    return False
