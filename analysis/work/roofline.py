"""Analysis of work on a target, without IR: its minimum time by the roofline."""

from __future__ import annotations

from dataclasses import dataclass

from tlf.analysis.work.engine_throughput import engine_figures_of
from tlf.analysis.work.flops_and_bytes import Work
from tlf.dialects.interfaces import BottleneckKind
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


def matrix_operations_per_cycle(engine: EngineFigures, element: str) -> float:
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
            return float(figure) * _engine_figure_of(engine, "cores")
        array = _engine_figure_of(engine, "rows") * _engine_figure_of(engine, "cols")
        return 2 * array * _engine_figure_of(engine, "cores") / figure
    return 1.0


def _engine_figure_of(engine: EngineFigures, name: str) -> float:
    value = engine.get(name, 1)
    return float(value) if isinstance(value, int | float) else 1.0


def vector_operations_per_cycle(target: TargetSpec) -> float:
    """Return the scalar operations per cycle."""
    engine = engine_figures_of(target, "vector")
    return _engine_figure_of(engine, "lanes") * _engine_figure_of(engine, "cores")


def roofline_time_of(work: Work, target: TargetSpec) -> RooflineTime:
    """Return the busy time in seconds of each unit of a target at its peak rate."""
    matrix = engine_figures_of(target, "matrix")
    hertz = target.clock_ghz * 1e9
    products = sum(
        count / matrix_operations_per_cycle(matrix, name)
        for name, count in work.matrix_operations
    )
    return RooflineTime(
        products / hertz,
        work.vector_operations / vector_operations_per_cycle(target) / hertz,
        work.bytes / target.outermost_level.bandwidth / hertz,
    )


def bottleneck_class_of(work: Work, roofline_time: RooflineTime) -> BottleneckKind:
    """
    Return the class of work by its slowest unit; `MOVEMENT` if it computes nothing.
    """
    if not work.flops:
        return BottleneckKind.MOVEMENT
    if roofline_time.memory >= max(roofline_time.matrix, roofline_time.vector):
        return BottleneckKind.MEMORY
    return BottleneckKind.COMPUTE
