"""
Producers that run iterations ahead of the readers of their windows.

What one nest of loops over nearer tiles computes, the next one waits for. An iteration
ahead, it is there: other nests run between the two. So what leads is put between two
nests of what it leads, behind all that read its window as it is.

Source: modulo scheduling of loops, Lam, "Software Pipelining" (PLDI 1988), with whole
nests for instructions.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from tlf.analysis.tiling.group_tiling import GroupTiling
from tlf.dialects.interfaces import ContractionInterface


def prefetch_distances_of(
    tiling: GroupTiling, operations: Sequence[Operation]
) -> dict[Operation, int]:
    """
    Return the number of iterations by which operations are ahead of the results of the
    group, for those that are; `operations` are all, in program order.
    """
    found: dict[Operation, int] = {}
    for op in reversed(operations):
        users = (use.operation for result in op.results for use in result.uses)
        ahead = max((found.get(user, 0) for user in users), default=0)
        ahead += any(tiling.is_prefetched(result) for result in op.results)
        if ahead:
            found[op] = ahead
    return found


def order_by_prefetch(
    tiling: GroupTiling, operations: Sequence[Operation]
) -> Sequence[Operation]:
    """Return the operations in execution order, with producers that run ahead."""
    ahead = tiling.prefetch_distances
    order: list[Operation] = []
    for level in range(max(ahead.values(), default=0), -1, -1):
        own = [op for op in operations if ahead.get(op, 0) == level]
        at = _insertion_index(tiling, own) if order else len(own)
        order = [*own[:at], *order, *own[at:]]
    return order


def _insertion_index(tiling: GroupTiling, operations: Sequence[Operation]) -> int:
    """
    Return the index of the operation before which those run that are further ahead: the
    last contraction, if all readers of windows come before it, or else the end.
    """
    end = len(operations)
    numbers = range(end)
    read = max(
        (n for n in numbers if _has_prefetched_operand(tiling, operations[n])),
        default=end,
    )
    at = max(
        (n for n in numbers if isinstance(operations[n], ContractionInterface)),
        default=end,
    )
    return at if read < at else end


def _has_prefetched_operand(tiling: GroupTiling, op: Operation) -> bool:
    """Return `True` if an operation reads a window that is computed ahead."""
    return any(tiling.is_prefetched(operand) for operand in op.operands)
