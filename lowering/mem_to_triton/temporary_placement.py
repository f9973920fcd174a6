"""
Emission of the launch plan for Triton: placement of temporaries in one arena.

The launches of a plan run one after the other, so temporaries share bytes unless both
are live at some step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tlf.support.allocation import Buffer, VisitBudget, pack_to_lowest_peak

VISITS = 20_000
"""Visit budget of the search for the lowest peak; it takes some 10 ms."""


@dataclass(frozen=True)
class ArenaLayout:
    """Offsets of temporaries by name and the size of their arena, in bytes."""

    offsets: Mapping[str, int]
    size: int


def place_temporaries(
    sizes: Mapping[str, int], names_by_step: Sequence[frozenset[str]]
) -> ArenaLayout:
    """
    Return the layout of temporaries, given by their sizes in bytes. `names_by_step` are
    the buffers that each step of the host accesses, where a loop is one step: a
    temporary is live from the first to the last of its steps.
    """
    steps_by_name: dict[str, list[int]] = {name: [] for name in sizes}
    for step, names in enumerate(names_by_step):
        for name in names & sizes.keys():
            steps_by_name[name].append(step)
    buffers = [
        Buffer.live_during(
            sizes[name], min(steps, default=0), max(steps, default=0) + 1
        )
        for name, steps in steps_by_name.items()
    ]
    if not buffers:
        return ArenaLayout({}, 0)
    packed = pack_to_lowest_peak(buffers, VisitBudget(VISITS))
    return ArenaLayout(dict(zip(sizes, packed.offsets, strict=True)), packed.peak)
