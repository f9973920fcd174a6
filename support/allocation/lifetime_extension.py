"""
Extend lifetimes of buffers, without IR, to the loops around their uses, where capacity
allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from tlf.support.allocation.buffer_model import Buffer
from tlf.support.allocation.live_intervals import LiveBytes

Loops: TypeAlias = Sequence[tuple[int, int]]
"""Steps [start, end) of the loops around a buffer, outermost first."""


def extend_lifetimes(
    buffers: Sequence[Buffer], loops: Sequence[Loops], capacity: int
) -> list[Buffer]:
    """
    Return the buffers, each live throughout the outermost of its loops in which all
    live bytes fit.

    Engines that run in parallel stall if tiles of one iteration, or of two overlapping
    iterations, share bytes. The extended buffers never need more than `capacity` bytes
    at one step, but may be harder to place. `loops` has one entry per buffer; every
    buffer is live as a whole.
    """
    live = LiveBytes.of(buffers)
    extended: list[Buffer] = []
    for buffer, enclosing in zip(buffers, loops, strict=True):
        fits = (loop for loop in enclosing if live.total_during(*loop) <= capacity)
        widest = next(fits, None)
        extended.append(buffer if widest is None else buffer.extend_lifetime(*widest))
    return extended
