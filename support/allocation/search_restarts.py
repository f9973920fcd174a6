"""
Randomized restarts of the skyline search, within one budget of visits.

How long a search takes depends on its first few decisions, and differs by orders of
magnitude (Gomes, Selman and Crato, CP 1997): ten searches that give up early find more
than one that goes on. Everything follows from the number of the attempt, so that the
same problem has the same answer everywhere.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic

from tlf.support.allocation.skyline import Pit, Skyline
from tlf.support.allocation.skyline_search import OutOfBudgetError, SkylineSearch
from tlf.support.allocation.time_sections import Shape

Urgency = Callable[[Skyline, Pit], float]

VISITS = 500_000
"""The visits of a plan made while compiling: less than a second."""

PASSES = 1000
"""Maximum number of passes over all sections in the first attempt."""
GROWTH = 1.02
"""Factor by which that number grows from one attempt to the next."""
LONGEST = 1000
"""Number of the attempt from which on it no longer grows."""


def _spare_urgency(skyline: Skyline, pit: Pit) -> float:
    return pit.spare + pit.floor / skyline.top


def _fit_urgency(skyline: Skyline, pit: Pit) -> float:
    return pit.fits.bit_count() + pit.spare / skyline.top


def _mixed_urgency(skyline: Skyline, pit: Pit) -> float:
    choices = pit.fits.bit_count() / (1 + skyline.weights[pit.section])
    return choices * (skyline.grain + pit.spare)


def _failure_urgency(skyline: Skyline, pit: Pit) -> float:
    return pit.spare / skyline.top - skyline.weights[pit.section]


URGENCIES: tuple[Urgency, ...] = (
    _mixed_urgency,
    _fit_urgency,
    _spare_urgency,
    _failure_urgency,
)
"""
Heuristics for the next section: few bytes to spare, few blocks that fit, many failures.
"""

EXPONENTS = ((1.0, 0.0), (1.0, 1.0), (0.5, 1.0), (0.0, 1.0))
"""Those of length and height in what makes a block preferred."""

NOISE = (0.05, 0.2, 0.5)
"""By how much a preference may be off, after the first attempts."""


@dataclass
class Budget:
    """Budget of a plan: visits of sections, some million of which take a second."""

    visits: int = VISITS
    deadline: float | None = None
    """A time of `monotonic` after which nothing is begun, for plans made by hand."""

    def is_spent(self) -> bool:
        """Return `True` if the search must stop."""
        late = self.deadline is not None and monotonic() > self.deadline
        return late or self.visits <= 0


class Restarts:
    """
    Attempts at one problem, within one budget.
    """

    def __init__(
        self, shapes: Sequence[Shape], sections: int, grain: int, budget: Budget
    ) -> None:
        self.shapes = shapes
        self.sections = sections
        self.grain = grain
        self.budget = budget
        self.proves = all(
            shape.is_flat and shape.block.offset is None for shape in shapes
        )
        self.setup = sum(shape.length for shape in shapes) + sections
        self.attempts = 0

    def find_offsets(self, capacity: int, attempts: int) -> dict[int, int] | bool:
        """
        Return offsets of the blocks within a capacity, by number; False if searches
        came to their end, which `proves` that there are none or makes it likely; True
        if none were found.
        """
        ended = 0
        if self.setup > self.budget.visits:
            self.budget.visits = 0
        for _ in range(attempts):
            if self.budget.is_spent():
                break
            search = self._next_search(capacity)
            limit = search.budget
            try:
                found = search.run()
            except OutOfBudgetError:
                continue
            finally:
                self.budget.visits -= limit - search.budget + self.setup
            if found:
                shapes = search.skyline.shapes
                return {
                    shape.number: offset
                    for shape, offset in zip(shapes, search.offsets, strict=True)
                }
            ended += 1
            if self.proves or ended == len(URGENCIES):
                return False
        return True

    def _next_search(self, capacity: int) -> SkylineSearch:
        number, self.attempts = self.attempts, self.attempts + 1
        generator = random.Random(number)
        turn, urgency = divmod(number, len(URGENCIES))
        turn, exponents = divmod(turn, len(EXPONENTS))
        noise = NOISE[turn % len(NOISE)] if turn else 0.0
        by_length, by_height = EXPONENTS[exponents]
        preference = {
            shape.number: shape.length**by_length
            * shape.height**by_height
            * generator.uniform(1 - noise, 1 + noise)
            for shape in self.shapes
        }
        ordered = sorted(self.shapes, key=lambda shape: -preference[shape.number])
        skyline = Skyline(ordered, self.sections, capacity, self.grain)
        passes = PASSES * GROWTH ** min(number, LONGEST)
        budget = min(self.budget.visits, int(passes * self.sections))
        return SkylineSearch(skyline, URGENCIES[urgency], budget)
