"""
Target description of the dialects: conversion to the machine model of the simulator.
"""

from __future__ import annotations

from itertools import pairwise
from typing import cast

from tlf.dialects.npu import dma_engine_name
from tlf.dialects.target import TargetSpec
from tlf.machine.machine_spec import (
    Dataflow,
    DmaEngine,
    Engine,
    Level,
    Machine,
    MatrixEngine,
    VectorEngine,
)


def build_npu_machine(target: TargetSpec) -> Machine:
    """
    Build the machine model of an `npu` target: levels, engines, and DMA between levels.
    """
    innermost = next(iter(target.levels))
    levels = _build_levels(target)
    engines: dict[str, Engine] = {}
    if (matrix := target.engines.get("matrix")) is not None:
        engines["matrix"] = MatrixEngine(
            "matrix",
            innermost,
            _read_integer_setting(matrix, "rows"),
            _read_integer_setting(matrix, "cols"),
            cast(dict[str, float], matrix.get("cycles", {})),
            _read_integer_setting(matrix, "startup", 0),
            cast(Dataflow, matrix.get("dataflow", "os")),
            bool(matrix.get("pipelined", True)),
        )
    if (vector := target.engines.get("vector")) is not None:
        engines["vector"] = VectorEngine(
            "vector",
            innermost,
            _read_integer_setting(vector, "lanes"),
            float(cast(float, vector.get("transcendental", 1))),
            _read_integer_setting(vector, "startup", 0),
        )
    for first, second in pairwise(target.levels):
        for source, destination in ((second, first), (first, second)):
            name = dma_engine_name(source, destination)
            row = target.levels[first].indexed_row
            engines[name] = DmaEngine(name, source, destination, row)
    issue = target.data.get("issue_cycles", 1)
    return Machine(
        target.name,
        target.clock_ghz,
        issue if isinstance(issue, int) else 1,
        target.cores,
        levels,
        engines,
    )


def _build_levels(target: TargetSpec) -> dict[str, Level]:
    """
    Return new machine-model levels by name, in the target's order: innermost first.
    """
    return {
        level.name: Level(
            level.name,
            level.capacity,
            level.bandwidth,
            level.latency,
            level.burst,
            level.alignment,
            level.shared,
            level.scope == "core",
        )
        for level in target.levels.values()
    }


def _read_integer_setting(engine: object, key: str, default: int = 1) -> int:
    value = cast(dict[str, object], engine).get(key, default)
    return value if isinstance(value, int) else default
