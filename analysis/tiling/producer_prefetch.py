"""
Analysis of producers that can run iterations ahead of the readers of their windows.

Without prefetching, a nest of loops over inner tiles waits for the nest that computes
its operands. A producer that runs one iteration ahead has its results ready, because
other nests run in between. Producers that run ahead are placed between two nests of the
operations that they run ahead of, after all readers of the current window.

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
    Return the number of iterations by which operations run ahead of the results of the
    group, without operations of distance 0. `operations` are all, in program order.
    """
    distances: dict[Operation, int] = {}
    for op in reversed(operations):
        users = (use.operation for result in op.results for use in result.uses)
        distance = max((distances.get(user, 0) for user in users), default=0)
        distance += any(tiling.is_prefetched(result) for result in op.results)
        if distance:
            distances[op] = distance
    return distances


def order_by_prefetch_distance(
    tiling: GroupTiling, operations: Sequence[Operation]
) -> Sequence[Operation]:
    """Return the operations in execution order, with producers that run ahead."""
    distances = tiling.prefetch_distances
    order: list[Operation] = []
    for distance in range(max(distances.values(), default=0), -1, -1):
        current = [op for op in operations if distances.get(op, 0) == distance]
        index = (
            _insertion_index_of_prefetches(tiling, current) if order else len(current)
        )
        order = [*current[:index], *order, *current[index:]]
    return order


def _insertion_index_of_prefetches(
    tiling: GroupTiling, operations: Sequence[Operation]
) -> int:
    """
    Return the index at which operations of larger prefetch distance are inserted:
    before the last contraction, if all readers of windows come before it, or else the
    end.
    """
    end = len(operations)
    indices = range(end)
    last_read = max(
        (i for i in indices if _has_prefetched_operand(tiling, operations[i])),
        default=end,
    )
    contraction = max(
        (i for i in indices if isinstance(operations[i], ContractionInterface)),
        default=end,
    )
    return contraction if last_read < contraction else end


def _has_prefetched_operand(tiling: GroupTiling, op: Operation) -> bool:
    """
    Return `True` if an operation reads a window that is computed one iteration ahead.
    """
    return any(tiling.is_prefetched(operand) for operand in op.operands)
