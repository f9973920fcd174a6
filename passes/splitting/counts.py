"""Into how many parts reductions may be split."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation

from tlf.dialects.interfaces import ContractionInterface
from tlf.dialects.types import tensor_type
from tlf.passes.splitting.split import Reductions

SHORT = 64
"""The shortest parts."""

ROWS = 64
"""So many rows, at most, are one tile near the engines."""

COLUMNS = 128
"""So many columns of a product, at most, are one tile."""

ENOUGH = 2
"""So many tiles for each processor keep all of them busy."""


def counts_for(found: Reductions, processors: int) -> Iterator[int]:
    """
    Numbers of equal parts, few first, that reductions may be split into where tiles of
    their results are too few to keep processors busy.
    """
    tiles = min(map(_tiles, found.steps))
    if processors == 1 or tiles >= ENOUGH * processors:
        return
    count, last = 2, 1
    while count <= found.extent // SHORT:
        divisor = _divisor_near(found.extent, count)
        if divisor is not None and last < divisor <= found.extent // SHORT:
            yield (last := divisor)
        count *= 2


def _tiles(op: Operation) -> int:
    """How many tiles there are of the result of a reduction, were they large."""
    elements = tensor_type(op.results[0]).element_count()
    is_product = isinstance(op, ContractionInterface)
    return -(-elements // (ROWS * COLUMNS if is_product else ROWS))


def _divisor_near(extent: int, count: int) -> int | None:
    """The smallest divisor of an extent from a count to less than twice of it."""
    return next((n for n in range(count, 2 * count) if extent % n == 0), None)
