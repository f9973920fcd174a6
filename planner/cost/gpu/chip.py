"""Rates and capacities of a GPU, read from its target description."""

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
"""The precision looked up for one of f32 that has no rate of its own."""


@dataclass(frozen=True)
class Memory:
    """A memory that all processors share, with the bytes per cycle that are reached."""

    bandwidth: float
    latency: int
    capacity: int


@dataclass(frozen=True)
class Chip:
    """
    The figures of a GPU. Rates are those of one processor, in steps or operations per
    cycle, as far as kernels reach them.
    """

    gpu: GpuProcessor
    processors: int
    lanes: float
    """Steps of the lanes in a cycle."""
    special: float
    """Steps of the unit for special functions; 0 where the lanes do it all."""
    tensor: Mapping[str, float]
    """Operations of matrix instructions in a cycle, by type."""
    memory: Memory
    cache: Memory
    near_latency: int
    """Cycles to reach shared memory."""
    near_capacity: int
    """Bytes of it that one program may have."""
    sector: int
    """Bytes that memories move at least."""

    @staticmethod
    def of(target: TargetSpec) -> Chip | None:
        """The GPU of a target, or None where its description does not say enough."""
        gpu = target.gpu
        if gpu is None or not {"matrix", "vector"} <= set(target.engines):
            return None
        near, *_ = target.levels.values()
        far = target.outermost
        cached = [
            each for each in target.levels.values() if each.kind is LevelKind.CACHE
        ]
        cache = cached[-1] if cached else far
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
                far.bandwidth * gpu.reached.memory, far.latency, far.capacity
            ),
            cache=Memory(
                cache.bandwidth * gpu.reached.cache, cache.latency, cache.capacity
            ),
            near_latency=near.latency,
            near_capacity=near.capacity,
            sector=far.burst,
        )

    def matrix_rate(self, kind: str) -> float | None:
        """
        Operations of matrix instructions in a cycle for a type, or for a precision of
        f32 such as `tf32x3`, which takes three products for one. None where there are
        no such instructions: lanes multiply and add then.
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
    """The rates of types that more than the lanes multiply."""
    table = matrix.get("flops_per_cycle", {})
    rates = table if isinstance(table, dict) else {}
    reached = {kind: rate * gpu.reached.matrix for kind, rate in rates.items()}
    least = 2 * lanes * gpu.reached.vector
    return {
        kind: rate
        for kind, rate in reached.items()
        if rate > least and rates[kind] > 2 * lanes
    }
