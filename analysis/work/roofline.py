"""The least time that work takes on a target."""

from __future__ import annotations

from dataclasses import dataclass

from tlf.analysis.work.engines import figures_of
from tlf.analysis.work.work import Work
from tlf.dialects.interfaces import OperationClass
from tlf.dialects.target import Target
from tlf.dialects.target.schema import Figures


@dataclass(frozen=True)
class Floor:
    """Seconds that each part of a chip is busy at least."""

    matrix: float
    vector: float
    memory: float

    @property
    def seconds(self) -> float:
        """The time of the busiest part."""
        return max(self.matrix, self.vector, self.memory)


def matrix_rate(engine: Figures, element: str) -> float:
    """
    Operations of products per cycle for a type: as the description gives it, or those
    of an array of `rows` by `cols`. A type that it does not name runs as f32.
    """
    for table in ("flops_per_cycle", "cycles"):
        figures = engine.get(table)
        if not isinstance(figures, dict):
            continue
        figure = figures.get(element, figures.get("f32", 1))
        if table == "flops_per_cycle":
            return float(figure) * _number(engine, "cores")
        array = _number(engine, "rows") * _number(engine, "cols")
        return 2 * array * _number(engine, "cores") / figure
    return 1.0


def _number(engine: Figures, name: str) -> float:
    value = engine.get(name, 1)
    return float(value) if isinstance(value, int | float) else 1.0


def vector_rate(target: Target) -> float:
    """Scalar operations per cycle."""
    engine = figures_of(target, "vector")
    return _number(engine, "lanes") * _number(engine, "cores")


def floor_of(work: Work, target: Target) -> Floor:
    """The least times of work on a target."""
    matrix = figures_of(target, "matrix")
    hertz = target.clock_ghz * 1e9
    products = sum(count / matrix_rate(matrix, name) for name, count in work.matrix)
    return Floor(
        products / hertz,
        work.vector / vector_rate(target) / hertz,
        work.bytes / target.outermost.bandwidth / hertz,
    )


def class_of(work: Work, floor: Floor) -> OperationClass:
    """Return the class of work by what limits it on a target."""
    if not work.flops:
        return OperationClass.MOVEMENT
    if floor.memory >= max(floor.matrix, floor.vector):
        return OperationClass.MEMORY
    return OperationClass.COMPUTE
