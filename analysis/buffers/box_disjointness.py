"""Disjointness of enumerated boxes across iterations, without IR."""

from __future__ import annotations

from collections.abc import Sequence

MAX_ITERATIONS = 64
"""Maximum number of iterations whose boxes are compared."""


def is_disjoint_across_iterations(
    offsets_by_axis: Sequence[Sequence[int] | None], box: Sequence[int]
) -> bool:
    """
    Return `True` if boxes are disjoint across iterations. For each axis,
    `offsets_by_axis` contains the offset of the box in each iteration, or None if it is
    unknown; an unknown axis proves nothing.
    """
    known = [
        (column, size)
        for column, size in zip(offsets_by_axis, box, strict=True)
        if column is not None and len(set(column)) > 1
    ]
    block_indices: list[tuple[int, ...]] = []
    for column, size in known:
        steps = [each - min(column) for each in column]
        if any(each % size for each in steps):
            return False
        block_indices.append(tuple(each // size for each in steps))
    rows = list(zip(*block_indices, strict=True))
    return bool(rows) and len(set(rows)) == len(rows)
