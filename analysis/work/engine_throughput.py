"""Throughput of the engines of a target, and the division of work between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tlf.dialects.target import TargetSpec
from tlf.dialects.target.schema import EngineFigures


@dataclass(frozen=True)
class Engines:
    """The figures of a target's matrix and vector engines, of all cores together."""

    matrix: EngineFigures
    vector: EngineFigures

    @staticmethod
    def of(target: TargetSpec) -> Engines:
        """The engines of a target."""
        return Engines(
            *(engine_figures_of(target, name) for name in ("matrix", "vector"))
        )

    @property
    def cores(self) -> int:
        """Number of engines of each kind."""
        return max(
            int(figure_or_default(each, "cores")) for each in (self.matrix, self.vector)
        )

    @property
    def vector_rate(self) -> float:
        """Steps of lanes in a cycle."""
        return figure_or_default(self.vector, "lanes") * figure_or_default(
            self.vector, "cores"
        )

    @property
    def array_shape(self) -> tuple[int, int] | None:
        """
        Rows and columns of one core's array, where results stay in their cells, so that
        a pass does one step of k.
        """
        if self.matrix.get("dataflow", "os") != "os" or "rows" not in self.matrix:
            return None
        return int(figure_or_default(self.matrix, "rows")), int(
            figure_or_default(self.matrix, "cols")
        )

    def cycles_per_pass(self, element: str) -> float:
        """Cycles of a pass of one array, shared between all cores."""
        figures = self.matrix.get("cycles", {})
        table = figures if isinstance(figures, dict) else {}
        return _figure_of_type(
            table, element, min(table.values(), default=1)
        ) / figure_or_default(self.matrix, "cores")

    def macs_per_cycle(self, element: str) -> float:
        """
        Multiply-accumulates in a cycle. A type that the target does not name is as
        fast as any.
        """
        figures = self.matrix.get("flops_per_cycle")
        if isinstance(figures, dict):
            fastest = max(figures.values(), default=1)
            each = _figure_of_type(figures, element, fastest) / 2
            return each * figure_or_default(self.matrix, "cores")
        cells = figure_or_default(self.matrix, "rows") * figure_or_default(
            self.matrix, "cols"
        )
        return cells / self.cycles_per_pass(element)


def engine_figures_of(target: TargetSpec, engine: str) -> EngineFigures:
    """The figures of an engine, `cores` among them where the target says how many."""
    figures = target.engines.get(engine, {})
    return {**figures, "cores": target.cores} if target.cores > 1 else figures


def startup_cycles_of(target: TargetSpec, engine: str) -> float:
    """Cycles from the end of an instruction until its result is there."""
    return figure_or_default(
        {"startup": 0, **target.engines.get(engine, {})}, "startup"
    )


def _figure_of_type(
    table: dict[str, int | float], element: str, unnamed: float
) -> float:
    """The figure of a type; that of f32 for its other precisions."""
    names = ("tf32", "f32") if element.startswith("tf32") else ()
    for name in (element, *names):
        if name in table:
            return table[name]
    return unnamed


def figure_or_default(figures: EngineFigures, name: str, usual: float = 1.0) -> float:
    """A figure by its name, or the usual one where there is none."""
    value = figures.get(name, usual)
    return float(value) if isinstance(value, int | float) else usual


def min_balanced_cycles(
    products: Sequence[tuple[float, int]], vector: float, engines: Engines
) -> float:
    """
    The least time of products, each with its cycles on the matrix engine and its
    multiply-accumulates, beside so many cycles of the vector engine.

    The vector engine may take over products, as a product and a sum are two of its
    steps. It takes those first that gain most, parts of them too, until both engines
    are busy equally long.
    """
    matrix = sum(cycles for cycles, _ in products)
    gain = sorted(
        ((cycles, 2 * macs / engines.vector_rate) for cycles, macs in products if macs),
        key=lambda each: each[1] / each[0],
    )
    for cycles, instead in gain:
        if matrix <= vector:
            break
        part = min(1.0, (matrix - vector) / (cycles + instead))
        matrix -= part * cycles
        vector += part * instead
    return max(matrix, vector)
