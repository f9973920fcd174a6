"""
Analysis of slices of a program: busy time of the units of a chip, computed from their
work.
"""

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
from tlf.analysis.work.engine_throughput import Engines, min_cycles_on_both_engines

Cycles: TypeAlias = float | NDArray[np.float64]


@dataclass(frozen=True)
class ChipRates:
    """
    Engine throughput, outermost bandwidth, inner capacity and latency of a target.
    """

    engines: Engines
    bandwidth: float
    """Bytes per cycle of the outermost memory."""
    inner_capacity: int
    """Total bytes of the inner memories."""
    latency: HeadTailLatency

    def cycles_on_any_engine(
        self,
        engine_works: Sequence[EngineWork],
        memory_cycles: float,
        margins: LatencyMargins,
    ) -> float:
        """
        Return the cycles of some work in parallel with memory cycles, if the vector
        engine may also compute products.
        """
        products = [(each.pass_cycles, each.macs) for each in engine_works if each.macs]
        steps = (
            sum(each.vector_steps for each in engine_works) / self.engines.vector_rate
        )
        shared = min_cycles_on_both_engines(products, steps, self.engines)
        margin = min(margins.matrix, margins.vector)
        return cycles_of_busiest_unit(
            memory_cycles, shared, 0.0, margins._replace(matrix=margin)
        ).item()


def cycles_of_busiest_unit(
    memory_cycles: Cycles,
    matrix_cycles: Cycles,
    vector_cycles: Cycles,
    margins: LatencyMargins,
) -> FloatArray:
    """Return the cycles of the busiest unit of a chip, including margins."""
    units = zip((memory_cycles, matrix_cycles, vector_cycles), margins, strict=True)
    return np.maximum.reduce(
        [
            np.where(np.greater(cycles, 0), np.add(cycles, margin), 0.0)
            for cycles, margin in units
        ]
    )


@dataclass(frozen=True)
class SliceWork:
    """
    Matrix cycles, lane steps and memory cycles of several program slices, as arrays
    with one entry per slice.
    """

    matrix_cycles: FloatArray
    pass_cycles: FloatArray
    vector_steps: FloatArray
    memory_cycles: FloatArray
    """Cycles of the outermost memory."""

    @staticmethod
    def of_relation_columns(
        relation: Relation,
        engine_works: Sequence[EngineWork],
        cycles_of_memory: FloatArray,
    ) -> SliceWork:
        """Return the work of the rows selected by each column of a relation."""

        def sum_over_rows(each: Callable[[EngineWork], float]) -> FloatArray:
            return (
                np.array([each(effort) for effort in engine_works], np.float64)
                @ relation
            )

        return SliceWork(
            sum_over_rows(lambda effort: effort.matrix_cycles),
            sum_over_rows(lambda effort: effort.pass_cycles),
            sum_over_rows(lambda effort: effort.vector_steps),
            cycles_of_memory,
        )

    def cycles_of_busiest_unit(
        self, engines: Engines, margins: LatencyMargins
    ) -> tuple[FloatArray, FloatArray]:
        """
        Return the busy cycles with an array that is never idle, and with whole passes.
        """
        vector = self.vector_steps / engines.vector_rate
        return (
            cycles_of_busiest_unit(
                self.memory_cycles, self.matrix_cycles, vector, margins
            ),
            cycles_of_busiest_unit(
                self.memory_cycles, self.pass_cycles, vector, margins
            ),
        )
