"""Busy time of the parts of a chip for slices of a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tlf.analysis.bounds.head_tail_latency import HeadTailLatency, LatencyMargins
from tlf.analysis.bounds.op_dependence import Relation
from tlf.analysis.bounds.op_work import EngineWork
from tlf.analysis.bounds.outer_loads import FloatArray
from tlf.analysis.work.engine_throughput import Engines, min_balanced_cycles

Cycles: TypeAlias = float | NDArray[np.float64]


@dataclass(frozen=True)
class ChipRates:
    """Throughput, bandwidth and inner capacity of a target."""

    engines: Engines
    bandwidth: float
    """Bytes per cycle of the outermost memory."""
    inner_capacity: int
    """The bytes that can be near the engines."""
    latency: HeadTailLatency

    def cycles_on_any_engine(
        self, efforts: Sequence[EngineWork], memory: float, margins: LatencyMargins
    ) -> float:
        """
        Cycles of some work beside those of memory, where the vector engine may do
        products too.
        """
        products = [(each.pass_cycles, each.macs) for each in efforts if each.macs]
        steps = sum(each.vector_steps for each in efforts) / self.engines.vector_rate
        shared = min_balanced_cycles(products, steps, self.engines)
        margin = min(margins.matrix, margins.vector)
        return max_busy_cycles(
            memory, shared, 0.0, margins._replace(matrix=margin)
        ).item()


def max_busy_cycles(
    memory: Cycles, matrix: Cycles, vector: Cycles, margins: LatencyMargins
) -> FloatArray:
    """The cycles of the part of a chip that is busy longest, margins added."""
    parts = zip((memory, matrix, vector), margins, strict=True)
    return np.maximum.reduce(
        [np.where(np.greater(part, 0), np.add(part, more), 0.0) for part, more in parts]
    )


@dataclass(frozen=True)
class SliceWork:
    """Work of several program slices, as one array entry each."""

    matrix_cycles: FloatArray
    pass_cycles: FloatArray
    vector_steps: FloatArray
    memory_cycles: FloatArray
    """Cycles of the outermost memory."""

    @staticmethod
    def of(
        relation: Relation, efforts: Sequence[EngineWork], memory: FloatArray
    ) -> SliceWork:
        """The work of the rows that each column of a relation names."""

        def sum_over_rows(each: Callable[[EngineWork], float]) -> FloatArray:
            return np.array([each(effort) for effort in efforts], np.float64) @ relation

        return SliceWork(
            sum_over_rows(lambda effort: effort.matrix_cycles),
            sum_over_rows(lambda effort: effort.pass_cycles),
            sum_over_rows(lambda effort: effort.vector_steps),
            memory,
        )

    def busy_cycles(
        self, engines: Engines, margins: LatencyMargins
    ) -> tuple[FloatArray, FloatArray]:
        """With an array that is never idle, and with one in whole passes."""
        vector = self.vector_steps / engines.vector_rate
        return (
            max_busy_cycles(self.memory_cycles, self.matrix_cycles, vector, margins),
            max_busy_cycles(self.memory_cycles, self.pass_cycles, vector, margins),
        )
