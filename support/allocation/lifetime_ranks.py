"""
Compact lifetimes of buffers, without IR: number only the steps at which one starts or
ends.
"""

from collections.abc import Sequence
from dataclasses import replace

from tlf.support.allocation.buffer_model import Buffer


def renumber_lifetime_steps(buffers: Sequence[Buffer]) -> list[Buffer]:
    """Return the buffers with steps renumbered by the starts and ends of lifetimes."""
    steps = sorted(
        {s for b in buffers for each in b.spans for s in (each.start, each.end)}
    )
    rank = {step: position for position, step in enumerate(steps)}
    return [
        replace(
            buffer,
            spans=tuple(
                replace(span, start=rank[span.start], end=rank[span.end])
                for span in buffer.spans
            ),
        )
        for buffer in buffers
    ]
