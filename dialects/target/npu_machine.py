"""Target description of an NPU, converted to the machine model of the simulator."""

from __future__ import annotations

from itertools import pairwise
from typing import cast

from tlf.dialects.npu import dma_engine
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


def machine_of(target: TargetSpec) -> Machine:
    """Return the machine model of a target of the backend `npu`."""
    innermost = next(iter(target.levels))
    levels = {
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
    engines: dict[str, Engine] = {}
    if (matrix := target.engines.get("matrix")) is not None:
        engines["matrix"] = MatrixEngine(
            "matrix",
            innermost,
            _integer(matrix, "rows"),
            _integer(matrix, "cols"),
            cast(dict[str, float], matrix.get("cycles", {})),
            _integer(matrix, "startup", 0),
            cast(Dataflow, matrix.get("dataflow", "os")),
            bool(matrix.get("pipelined", True)),
        )
    if (vector := target.engines.get("vector")) is not None:
        engines["vector"] = VectorEngine(
            "vector",
            innermost,
            _integer(vector, "lanes"),
            float(cast(float, vector.get("transcendental", 1))),
            _integer(vector, "startup", 0),
        )
    for first, second in pairwise(target.levels):
        for source, destination in ((second, first), (first, second)):
            name = dma_engine(source, destination)
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


def _integer(engine: object, key: str, default: int = 1) -> int:
    value = cast(dict[str, object], engine).get(key, default)
    return value if isinstance(value, int) else default
