"""
Randomized restarts of the allocation search, without IR, within one budget of visits.

The length of a search depends on its first few decisions, and varies by orders of
magnitude (Gomes, Selman and Crato, CP 1997): ten searches with a small budget find more
than one with a large budget. All random choices are seeded by the index of the attempt,
so that the same problem always has the same result.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic

from tlf.support.allocation.skyline import Pit, Skyline
from tlf.support.allocation.skyline_search import OutOfBudgetError, SkylineSearch
from tlf.support.allocation.time_sections import BlockShape

Urgency = Callable[[Skyline, Pit], float]

VISITS = 500_000
"""Visit budget of a plan at compile time: less than a second."""

PASSES = 1000
"""Maximum number of passes over all sections in the first attempt."""
GROWTH = 1.02
"""Growth factor of that maximum from one attempt to the next."""
LONGEST = 1000
"""Index of the attempt from which on the maximum no longer grows."""


def _urgency_by_spare_bytes(skyline: Skyline, pit: Pit) -> float:
    return pit.spare_bytes + pit.floor / skyline.top


def _urgency_by_fitting_blocks(skyline: Skyline, pit: Pit) -> float:
    return pit.fitting_blocks.bit_count() + pit.spare_bytes / skyline.top


def _urgency_by_spare_and_fit(skyline: Skyline, pit: Pit) -> float:
    choices = pit.fitting_blocks.bit_count() / (1 + skyline.weights[pit.section])
    return choices * (skyline.grain + pit.spare_bytes)


def _urgency_by_past_failures(skyline: Skyline, pit: Pit) -> float:
    return pit.spare_bytes / skyline.top - skyline.weights[pit.section]


URGENCIES: tuple[Urgency, ...] = (
    _urgency_by_spare_and_fit,
    _urgency_by_fitting_blocks,
    _urgency_by_spare_bytes,
    _urgency_by_past_failures,
)
"""
Heuristics for the next section: few bytes to spare, few blocks that fit, many failures.
"""

EXPONENTS = ((1.0, 0.0), (1.0, 1.0), (0.5, 1.0), (0.0, 1.0))
"""Exponents of length and height in the preference of a block."""

NOISE = (0.05, 0.2, 0.5)
"""Relative noise of the preferences, after the first attempts."""


@dataclass
class VisitBudget:
    """Budget of a plan: visits of sections, of which some million take a second."""

    visits: int = VISITS
    deadline: float | None = None
    """Value of `monotonic` after which no search starts, for interactive use."""

    def is_spent(self) -> bool:
        """Return `True` if the search must stop."""
        is_late = self.deadline is not None and monotonic() > self.deadline
        return is_late or self.visits <= 0


class SearchRestarts:
    """
    Repeated searches for the block offsets of one problem, with one shared budget.
    """

    def __init__(
        self,
        shapes: Sequence[BlockShape],
        sections: int,
        grain: int,
        budget: VisitBudget,
    ) -> None:
        self.shapes = shapes
        self.sections = sections
        self.grain = grain
        self.budget = budget
        self.proves = all(
            shape.is_flat and shape.block.offset is None for shape in shapes
        )
        self.setup = sum(shape.section_count for shape in shapes) + sections
        self.attempts = 0

    def find_offsets_within(
        self, capacity: int, attempts: int
    ) -> dict[int, int] | bool:
        """
        Return the offsets of the blocks within a capacity, by index; False if a search
        was exhausted, which `proves` that there are none or makes it likely; True if
        none were found.
        """
        exhausted = 0
        if self.setup > self.budget.visits:
            self.budget.visits = 0
        for _ in range(attempts):
            if self.budget.is_spent():
                break
            search = self._build_next_search(capacity)
            limit = search.budget
            try:
                is_feasible = search.find_placement()
            except OutOfBudgetError:
                continue
            finally:
                self.budget.visits -= limit - search.budget + self.setup
            if is_feasible:
                shapes = search.skyline.shapes
                return {
                    shape.block_index: offset
                    for shape, offset in zip(shapes, search.offsets, strict=True)
                }
            exhausted += 1
            if self.proves or exhausted == len(URGENCIES):
                return False
        return True

    def _build_next_search(self, capacity: int) -> SkylineSearch:
        """
        Return the search of the next attempt, whose index determines heuristic, block
        order, random noise and visit budget.
        """
        attempt, self.attempts = self.attempts, self.attempts + 1
        generator = random.Random(attempt)
        rest, urgency = divmod(attempt, len(URGENCIES))
        rest, exponents = divmod(rest, len(EXPONENTS))
        noise = NOISE[rest % len(NOISE)] if rest else 0.0
        by_length, by_height = EXPONENTS[exponents]
        preference = {
            shape.block_index: shape.section_count**by_length
            * shape.max_height**by_height
            * generator.uniform(1 - noise, 1 + noise)
            for shape in self.shapes
        }
        ordered = sorted(self.shapes, key=lambda shape: -preference[shape.block_index])
        skyline = Skyline(ordered, self.sections, capacity, self.grain)
        passes = PASSES * GROWTH ** min(attempt, LONGEST)
        budget = min(self.budget.visits, int(passes * self.sections))
        return SkylineSearch(skyline, URGENCIES[urgency], budget)
