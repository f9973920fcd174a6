"""
Parameters of the GPU cost model: rates and capacities, read from the target
description.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tlf.analysis.work.engine_throughput import (
    Engines,
    engine_figures_of,
    figure_or_default,
)
from tlf.dialects.target import LevelKind, TargetSpec
from tlf.dialects.target.gpu import GpuProcessor
from tlf.dialects.target.schema import EngineFigures

FALLBACK = "f32"
"""Precision whose rate is used for an f32 precision without its own rate."""


@dataclass(frozen=True)
class Memory:
    """
    A memory shared by all processors, with its achievable bandwidth in bytes per cycle.
    """

    bandwidth: float
    latency: int
    capacity: int


@dataclass(frozen=True)
class Chip:
    """
    Parameters of a GPU. Rates are those achieved by kernels on one processor, in steps
    or operations per cycle.
    """

    gpu: GpuProcessor
    processors: int
    lanes: float
    """Lane steps per cycle."""
    special: float
    """
    Steps per cycle of the special-function unit; 0 if the lanes compute special
    functions.
    """
    tensor: Mapping[str, float]
    """Operations per cycle of matrix instructions, by type."""
    memory: Memory
    cache: Memory
    near_latency: int
    """Latency of shared memory, in cycles."""
    near_capacity: int
    """Shared memory available to one program, in bytes."""
    sector: int
    """Minimum transfer size of the memories, in bytes."""

    @staticmethod
    def of(target: TargetSpec) -> Chip | None:
        """Return the GPU of a target, or `None` if its description is incomplete."""
        gpu = target.gpu
        if gpu is None or not {"matrix", "vector"} <= set(target.engines):
            return None
        innermost, *_ = target.levels.values()
        outermost = target.outermost
        cached = [
            each for each in target.levels.values() if each.kind is LevelKind.CACHE
        ]
        cache = cached[-1] if cached else outermost
        lanes = figure_or_default(engine_figures_of(target, "vector"), "lanes")
        return Chip(
            gpu=gpu,
            processors=Engines.of(target).cores,
            lanes=lanes * gpu.reached.vector,
            special=figure_or_default(
                engine_figures_of(target, "vector"), "special", 0.0
            ),
            tensor=_matrix_rates(engine_figures_of(target, "matrix"), lanes, gpu),
            memory=Memory(
                outermost.bandwidth * gpu.reached.memory,
                outermost.latency,
                outermost.capacity,
            ),
            cache=Memory(
                cache.bandwidth * gpu.reached.cache, cache.latency, cache.capacity
            ),
            near_latency=innermost.latency,
            near_capacity=innermost.capacity,
            sector=outermost.burst,
        )

    def matrix_rate(self, kind: str) -> float | None:
        """
        Return the operations per cycle of matrix instructions for a type, or for an f32
        precision such as `tf32x3`, which takes three products per product. `None` if
        there are no such instructions and the lanes multiply and add.
        """
        if kind in self.tensor:
            return self.tensor[kind]
        base, _, times = kind.partition("x")
        if base in self.tensor and times.isdigit():
            return self.tensor[base] / int(times)
        return None


def _matrix_rates(
    matrix: EngineFigures, lanes: float, gpu: GpuProcessor
) -> dict[str, float]:
    """Return the matrix rates of the types that the lanes multiply more slowly."""
    table = matrix.get("flops_per_cycle", {})
    rates = table if isinstance(table, dict) else {}
    reached = {kind: rate * gpu.reached.matrix for kind, rate in rates.items()}
    least = 2 * lanes * gpu.reached.vector
    return {
        kind: rate
        for kind, rate in reached.items()
        if rate > least and rates[kind] > 2 * lanes
    }
