"""Which reduction of a group the loop of a cascade is built for."""

from __future__ import annotations

from collections.abc import Sequence

from tlf.dialects.interfaces import AccumulatingInterface, TilingInterface
from tlf.passes.cascades.cascade import Cascade, cascade_of
from tlf.passes.tiling.form import Forms


def longest_cascade(
    operations: Sequence[TilingInterface], forms: Forms
) -> Cascade | None:
    """
    The reductions of a group as one loop, or None where they are none. The loop is that
    of the last one, unless several before it, which would run whole, are a loop along a
    longer axis, as an attention whose results are normalised. Then what comes behind
    that loop runs whole.
    """
    found = [op for op in operations if isinstance(op, AccumulatingInterface)]
    loops = (cascade_of(operations, forms, anchor=op) for op in reversed(found))
    legal = [each for each in loops if each is not None]
    return max(legal, key=lambda each: _length(each, forms), default=None)


def _length(cascade: Cascade, forms: Forms) -> int:
    """How long the axis of a loop is."""
    (extent,) = forms.of(cascade.anchor).reduction_extents
    return extent
