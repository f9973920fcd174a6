"""
Emission of the launch plan for Triton: placement of temporaries in one arena, and in
results.

The launches of a plan run one after the other, so temporaries share bytes unless both
are live at some step. The bytes of a result are free before the first step that
accesses it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tlf.support.allocation import (
    ALIGNMENT,
    Buffer,
    VisitBudget,
    align_offset,
    pack_to_lowest_peak,
)

VISITS = 20_000
"""Visit budget of the search for the lowest peak; it takes some 10 ms."""


@dataclass(frozen=True)
class ArenaLayout:
    """
    Offsets of temporaries by name and the size of their arena, in bytes. `results` are
    the results that contain temporaries, instead of the arena, by the temporary's name.
    """

    offsets: Mapping[str, int]
    size: int
    results: Mapping[str, str]


def place_temporaries(
    sizes: Mapping[str, int],
    names_by_step: Sequence[frozenset[str]],
    result_sizes: Mapping[str, int],
) -> ArenaLayout:
    """
    Return the layout of temporaries, given by their sizes in bytes, and of those that
    results have room for, given by theirs. `names_by_step` are the buffers that each
    step of the host accesses, where a loop is one step: a temporary is live from the
    first to the last of its steps, a result from its first step on.
    """
    spans = _spans_by_name([*sizes, *result_sizes], names_by_step)
    planner = _ResultSharing(sizes, spans, len(names_by_step))
    for name in sorted(result_sizes, key=lambda each: -result_sizes[each]):
        planner.share_result(name, result_sizes[name])
    kept = [name for name in sizes if name not in planner.results]
    if not kept:
        return ArenaLayout(planner.offsets, 0, planner.results)
    buffers = [
        Buffer.live_during(sizes[name], spans[name].start, spans[name].stop)
        for name in kept
    ]
    packed = pack_to_lowest_peak(buffers, VisitBudget(VISITS))
    offsets = {**planner.offsets, **dict(zip(kept, packed.offsets, strict=True))}
    return ArenaLayout(offsets, packed.peak, planner.results)


def _spans_by_name(
    names: Sequence[str], names_by_step: Sequence[frozenset[str]]
) -> Mapping[str, range]:
    """Return the steps from the first to the last that access each buffer."""
    steps_by_name: dict[str, list[int]] = {name: [] for name in names}
    for step, accessed in enumerate(names_by_step):
        for name in accessed & steps_by_name.keys():
            steps_by_name[name].append(step)
    return {
        name: range(min(steps, default=0), max(steps, default=0) + 1)
        for name, steps in steps_by_name.items()
    }


@dataclass
class _ResultSharing:
    """
    Selection of the temporaries that are placed in results: the largest of those that
    are live when most bytes are, as long as that lowers the peak of the others.
    """

    sizes: Mapping[str, int]
    spans: Mapping[str, range]
    step_count: int
    offsets: dict[str, int] = field(default_factory=dict[str, int])
    results: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        self._live_bytes = [0] * max(1, self.step_count)
        for name, size in self.sizes.items():
            self._add_live_bytes(name, size)

    def _add_live_bytes(self, name: str, size: int) -> None:
        for step in self.spans[name]:
            self._live_bytes[step] += size

    def share_result(self, result: str, capacity: int) -> None:
        """Place temporaries that are dead before the first step of a result in it."""
        candidates = {
            name
            for name, size in self.sizes.items()
            if 0 < size <= capacity
            and name not in self.results
            and self.spans[name].stop <= self.spans[result].start
        }
        while name := self._largest_at_peak(candidates):
            candidates.remove(name)
            offset = self._lowest_free_offset(name, result)
            if offset + self.sizes[name] <= capacity:
                self.offsets[name], self.results[name] = offset, result
                self._add_live_bytes(name, -self.sizes[name])

    def _largest_at_peak(self, candidates: set[str]) -> str | None:
        """Return the largest candidate that is live when most bytes are, if any is."""
        step = self._live_bytes.index(max(self._live_bytes))
        live = (name for name in candidates if step in self.spans[name])
        return max(live, key=lambda name: (self.sizes[name], name), default=None)

    def _lowest_free_offset(self, name: str, result: str) -> int:
        """Return the lowest offset in a result that is free during a lifetime."""
        span, offset = self.spans[name], 0
        taken = sorted(
            (self.offsets[other], self.offsets[other] + self.sizes[other])
            for other, place in self.results.items()
            if place == result
            and self.spans[other].start < span.stop
            and span.start < self.spans[other].stop
        )
        for start, stop in taken:
            if offset + self.sizes[name] <= start:
                break
            offset = max(offset, align_offset(stop, ALIGNMENT))
        return offset
