"""Roofline: the minimum time that work takes on a target."""

from __future__ import annotations

from dataclasses import dataclass

from tlf.analysis.work.engine_throughput import engine_figures_of
from tlf.analysis.work.flops_and_bytes import Work
from tlf.dialects.interfaces import OperationClass
from tlf.dialects.target import TargetSpec
from tlf.dialects.target.schema import EngineFigures


@dataclass(frozen=True)
class RooflineTime:
    """Minimum busy time in seconds of each unit of a chip."""

    matrix: float
    vector: float
    memory: float

    @property
    def seconds(self) -> float:
        """Time of the busiest unit."""
        return max(self.matrix, self.vector, self.memory)


def matrix_rate(engine: EngineFigures, element: str) -> float:
    """
    Return the matrix operations per cycle for a type, from the target description or
    from an array of `rows` by `cols`. A type without a figure uses that of f32.
    """
    for table in ("flops_per_cycle", "cycles"):
        figures = engine.get(table)
        if not isinstance(figures, dict):
            continue
        figure = figures.get(element, figures.get("f32", 1))
        if table == "flops_per_cycle":
            return float(figure) * _number_of(engine, "cores")
        array = _number_of(engine, "rows") * _number_of(engine, "cols")
        return 2 * array * _number_of(engine, "cores") / figure
    return 1.0


def _number_of(engine: EngineFigures, name: str) -> float:
    value = engine.get(name, 1)
    return float(value) if isinstance(value, int | float) else 1.0


def vector_rate(target: TargetSpec) -> float:
    """Return the scalar operations per cycle."""
    engine = engine_figures_of(target, "vector")
    return _number_of(engine, "lanes") * _number_of(engine, "cores")


def roofline_time_of(work: Work, target: TargetSpec) -> RooflineTime:
    """Return the minimum times of work on a target."""
    matrix = engine_figures_of(target, "matrix")
    hertz = target.clock_ghz * 1e9
    products = sum(
        count / matrix_rate(matrix, name) for name, count in work.matrix_operations
    )
    return RooflineTime(
        products / hertz,
        work.vector_operations / vector_rate(target) / hertz,
        work.bytes / target.outermost.bandwidth / hertz,
    )


def operation_class_of(work: Work, floor: RooflineTime) -> OperationClass:
    """Return the class of work by its bottleneck on a target."""
    if not work.flops:
        return OperationClass.MOVEMENT
    if floor.memory >= max(floor.matrix, floor.vector):
        return OperationClass.MEMORY
    return OperationClass.COMPUTE
