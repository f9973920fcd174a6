"""Busy time of the parts of a chip for pieces of a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tlf.analysis.bounds.dependence import Relation
from tlf.analysis.bounds.efforts import Effort
from tlf.analysis.bounds.ends import Ends, Margins
from tlf.analysis.bounds.loads import Numbers
from tlf.analysis.work.engines import Engines, least_cycles

Cycles: TypeAlias = float | NDArray[np.float64]


@dataclass(frozen=True)
class Chip:
    """The figures of a target that count here."""

    engines: Engines
    bandwidth: float
    """Bytes per cycle of the outermost memory."""
    room: int
    """The bytes that can be near the engines."""
    ends: Ends

    def any_engine(
        self, efforts: Sequence[Effort], memory: float, margins: Margins
    ) -> float:
        """
        Cycles of some work beside those of memory, where the vector engine may do
        products too.
        """
        products = [(each.passes, each.macs) for each in efforts if each.macs]
        steps = sum(each.steps for each in efforts) / self.engines.vector_rate
        shared = least_cycles(products, steps, self.engines)
        margin = min(margins.matrix, margins.vector)
        return longest(memory, shared, 0.0, margins._replace(matrix=margin)).item()


def longest(
    memory: Cycles, matrix: Cycles, vector: Cycles, margins: Margins
) -> Numbers:
    """The cycles of the part of a chip that is busy longest, margins added."""
    parts = zip((memory, matrix, vector), margins, strict=True)
    return np.maximum.reduce(
        [np.where(np.greater(part, 0), np.add(part, more), 0.0) for part, more in parts]
    )


@dataclass(frozen=True)
class Share:
    """For each of some pieces of a program the work: one number for each."""

    matrix: Numbers
    passes: Numbers
    steps: Numbers
    memory: Numbers
    """Cycles of the outermost memory."""

    @staticmethod
    def of(relation: Relation, efforts: Sequence[Effort], memory: Numbers) -> Share:
        """The work of the rows that each column of a relation names."""

        def summed(each: Callable[[Effort], float]) -> Numbers:
            return np.array([each(effort) for effort in efforts], np.float64) @ relation

        return Share(
            summed(lambda effort: effort.matrix),
            summed(lambda effort: effort.passes),
            summed(lambda effort: effort.steps),
            memory,
        )

    def cycles(self, engines: Engines, margins: Margins) -> tuple[Numbers, Numbers]:
        """With an array that is never idle, and with one in whole passes."""
        vector = self.steps / engines.vector_rate
        return (
            longest(self.memory, self.matrix, vector, margins),
            longest(self.memory, self.passes, vector, margins),
        )
