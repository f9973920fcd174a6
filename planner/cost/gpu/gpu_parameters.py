"""
Cost model of GPUs: rates and capacities of a processor, read from the target
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
from tlf.analysis.work.flops_and_bytes import multiplication_type_of
from tlf.dialects.interfaces import ContractionInterface
from tlf.dialects.product_precision import FACTOR_SPLITS
from tlf.dialects.target import LevelKind, TargetSpec
from tlf.dialects.target.gpu_schema import GpuProcessor
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
    """Lane steps per cycle at the peak rate, which products reach."""
    lane_rate: float
    """Lane steps per cycle."""
    special_function_rate: float
    """
    Steps per cycle of the special-function unit; 0 if the lanes compute special
    functions.
    """
    matrix_rates: Mapping[str, float]
    """Operations per cycle of matrix instructions, by type."""
    memory: Memory
    cache: Memory
    shared_memory_latency: int
    """Latency of shared memory, in cycles."""
    shared_memory_capacity: int
    """Shared memory available to one program, in bytes."""
    sector_bytes: int
    """Minimum transfer size of the memories, in bytes."""

    @staticmethod
    def from_target(target: TargetSpec) -> Chip | None:
        """Return the GPU of a target, or `None` if its description is incomplete."""
        gpu = target.gpu
        if gpu is None or not {"matrix", "vector"} <= set(target.engines):
            return None
        innermost, *_ = target.levels.values()
        outermost = target.outermost_level
        cached = [
            each for each in target.levels.values() if each.kind is LevelKind.CACHE
        ]
        cache = cached[-1] if cached else outermost
        lanes = figure_or_default(engine_figures_of(target, "vector"), "lanes")
        return Chip(
            gpu=gpu,
            processors=Engines.of(target).engine_count,
            lanes=lanes,
            lane_rate=lanes * gpu.reached.vector,
            special_function_rate=figure_or_default(
                engine_figures_of(target, "vector"), "special", 0.0
            ),
            matrix_rates=_matrix_rates_above_lanes(
                engine_figures_of(target, "matrix"), lanes, gpu
            ),
            memory=Memory(
                outermost.bandwidth * gpu.reached.memory,
                outermost.latency,
                outermost.capacity,
            ),
            cache=Memory(
                cache.bandwidth * gpu.reached.cache, cache.latency, cache.capacity
            ),
            shared_memory_latency=innermost.latency,
            shared_memory_capacity=innermost.capacity,
            sector_bytes=outermost.burst,
        )

    def count_persistent_programs(self, warps: int) -> int:
        """
        Return the number of programs of `warps` warps that run a persistent grid: as
        many as all processors have room for if threads use all registers that they may.
        """
        threads = self.gpu.registers // self.gpu.thread_registers
        return self.processors * max(1, threads // (self.gpu.warp * warps))

    def matrix_rate(self, type_or_precision: str) -> float | None:
        """
        Return the operations per cycle of matrix instructions for a type, or for an f32
        precision such as `bf16x6`, which takes six products per product. `None` if
        there are no such instructions and the lanes multiply and add.
        """
        if type_or_precision in self.matrix_rates:
            return self.matrix_rates[type_or_precision]
        split = FACTOR_SPLITS.get(type_or_precision)
        if split is None or split.element not in self.matrix_rates:
            return None
        return self.matrix_rates[split.element] / split.products

    def has_matrix_instructions_for(self, op: ContractionInterface) -> bool:
        """Return `True` if there are matrix instructions for the factors of `op`."""
        return self.matrix_rate(multiplication_type_of(op)) is not None


def _matrix_rates_above_lanes(
    matrix: EngineFigures, lane_rate: float, gpu: GpuProcessor
) -> dict[str, float]:
    """Return the matrix rates of the types that the lanes multiply more slowly."""
    table = matrix.get("flops_per_cycle", {})
    rates = table if isinstance(table, dict) else {}
    reached = {kind: rate * gpu.reached.matrix for kind, rate in rates.items()}
    least = 2 * lane_rate * gpu.reached.vector
    return {
        kind: rate
        for kind, rate in reached.items()
        if rate > least and rates[kind] > 2 * lane_rate
    }
