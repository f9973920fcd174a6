"""
Analysis of a target, without IR: throughput of its engines, and division of work
between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tlf.dialects.product_precision import FACTOR_SPLITS, PRECISIONS
from tlf.dialects.target import TargetSpec
from tlf.dialects.target.schema import EngineFigures


@dataclass(frozen=True)
class Engines:
    """Figures of the matrix and vector engines of a target, over all cores."""

    matrix: EngineFigures
    vector: EngineFigures

    @staticmethod
    def of(target: TargetSpec) -> Engines:
        """Return the engines of a target."""
        return Engines(
            *(engine_figures_of(target, name) for name in ("matrix", "vector"))
        )

    @property
    def engine_count(self) -> int:
        """Number of engines of each kind."""
        return max(
            int(figure_or_default(each, "cores")) for each in (self.matrix, self.vector)
        )

    @property
    def vector_rate(self) -> float:
        """Lane steps per cycle."""
        return figure_or_default(self.vector, "lanes") * figure_or_default(
            self.vector, "cores"
        )

    @property
    def array_shape(self) -> tuple[int, int] | None:
        """
        Rows and columns of the array of one core; None unless it is output-stationary,
        so that a pass computes one step of k.
        """
        if self.matrix.get("dataflow", "os") != "os" or "rows" not in self.matrix:
            return None
        return int(figure_or_default(self.matrix, "rows")), int(
            figure_or_default(self.matrix, "cols")
        )

    def cycles_per_pass(self, element: str) -> float:
        """Return the cycles of a pass of one array, divided by the number of cores."""
        figures = self.matrix.get("cycles", {})
        table = figures if isinstance(figures, dict) else {}
        return _figure_of_type(
            table, element, min(table.values(), default=1)
        ) / figure_or_default(self.matrix, "cores")

    def macs_per_cycle(self, element: str) -> float:
        """
        Return the multiply-accumulates per cycle. A type without a figure has the
        fastest rate.
        """
        figures = self.matrix.get("flops_per_cycle")
        if isinstance(figures, dict):
            fastest = max(figures.values(), default=1)
            split = FACTOR_SPLITS.get(element)
            figure = (
                _figure_of_type(figures, element, fastest)
                if split is None
                else _figure_of_type(figures, split.element, fastest) / split.products
            )
            return figure / 2 * figure_or_default(self.matrix, "cores")
        cells = figure_or_default(self.matrix, "rows") * figure_or_default(
            self.matrix, "cols"
        )
        return cells / self.cycles_per_pass(element)


def engine_figures_of(target: TargetSpec, engine: str) -> EngineFigures:
    """Return the figures of an engine, with `cores` if the target has several."""
    figures = target.engines.get(engine, {})
    return {**figures, "cores": target.cores} if target.cores > 1 else figures


def startup_cycles_of(target: TargetSpec, engine: str) -> float:
    """
    Return the cycles from the end of an instruction until its result is available.
    """
    return figure_or_default(
        {"startup": 0, **target.engines.get(engine, {})}, "startup"
    )


def _figure_of_type(
    table: dict[str, int | float], element: str, default: float
) -> float:
    """
    Return the figure of a type; a precision of f32 falls back to f32, any other type to
    `default`.
    """
    names = ("f32",) if element in PRECISIONS else ()
    for name in (element, *names):
        if name in table:
            return table[name]
    return default


def figure_or_default(figures: EngineFigures, name: str, default: float = 1.0) -> float:
    """Return a figure by its name, or `default` if it is missing."""
    value = figures.get(name, default)
    return float(value) if isinstance(value, int | float) else default


def min_cycles_on_both_engines(
    products: Sequence[tuple[float, int]], vector: float, engines: Engines
) -> float:
    """
    Return the minimum time of products, given as matrix-engine cycles and
    multiply-accumulates, in parallel with `vector` cycles of the vector engine.

    The vector engine may take over products, with two steps per multiply-accumulate. It
    takes the products with the largest gain first, possibly in part, until both engines
    are equally busy.
    """
    matrix = sum(cycles for cycles, _ in products)
    by_gain = sorted(
        ((cycles, 2 * macs / engines.vector_rate) for cycles, macs in products if macs),
        key=lambda each: each[1] / each[0],
    )
    for cycles, vector_cycles in by_gain:
        if matrix <= vector:
            break
        fraction = min(1.0, (matrix - vector) / (cycles + vector_cycles))
        matrix -= fraction * cycles
        vector += fraction * vector_cycles
    return max(matrix, vector)
