"""Lifetimes counted in events instead of steps."""

from collections.abc import Sequence
from dataclasses import replace

from tlf.support.allocation.buffer import Buffer


def ranked(buffers: Sequence[Buffer]) -> list[Buffer]:
    """
    The same buffers, with the steps numbered at which any of them comes or goes: what
    else happens meanwhile makes no difference to a plan.
    """
    steps = sorted(
        {s for b in buffers for each in b.spans for s in (each.start, each.end)}
    )
    rank = {step: number for number, step in enumerate(steps)}
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
