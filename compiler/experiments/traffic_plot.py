"""Experiment: SVG plot of the memory traffic over the capacity of a level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from math import ceil, floor, log2

from tlf.compiler.experiments.capacity_sweep import TrafficCurve

WIDTH, HEIGHT, MARGIN = 900.0, 540.0, 60.0
"""Size of the picture and the margin around the plot, in SVG units."""

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Colours of the curves, distinguishable for the colour-blind."""


class PlotScale:
    """Scale of the plot: coordinates of capacities and amounts, in bytes."""

    def __init__(self, curves: Sequence[TrafficCurve]) -> None:
        points = [point for curve in curves for point in curve.points]
        moved = [
            result.bytes for curve in curves for _, result in curve.measured_points
        ]
        amounts = [*moved, *(point.traffic_bound for point in points)]
        sizes = [point.capacity for point in points]
        self.left, self.right = _enclosing_powers_of_two(sizes)
        self.bottom, self.top = _enclosing_powers_of_two(
            [max(1, each) for each in amounts]
        )

    def x_of_capacity(self, capacity: int) -> float:
        """Return the distance from the left."""
        share = (log2(capacity) - self.left) / (self.right - self.left)
        return MARGIN + share * (WIDTH - 2 * MARGIN)

    def y_of_traffic(self, amount: int) -> float:
        """Return the distance from the top."""
        share = (log2(max(1, amount)) - self.bottom) / (self.top - self.bottom)
        return HEIGHT - MARGIN - share * (HEIGHT - 2 * MARGIN)


def render_curves(curves: Sequence[TrafficCurve], level: str) -> str:
    """
    Return an SVG document: the traffic of each program, its knees as circles, and its
    lower bound dashed.
    """
    return "\n".join(_svg_elements(curves, level, PlotScale(curves))) + "\n"


def _enclosing_powers_of_two(amounts: Sequence[int]) -> tuple[int, int]:
    """Return the exponents of the powers of two around amounts."""
    low, high = floor(log2(min(amounts))), ceil(log2(max(amounts)))
    return low, max(high, low + 1)


def _svg_elements(
    curves: Sequence[TrafficCurve], level: str, scale: PlotScale
) -> Iterator[str]:
    """
    Yield SVG: the grid, then for each curve its bound, its traffic, knees and name.
    """
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" '
        'font-family="sans-serif" font-size="12">'
    )
    yield f'<rect width="{WIDTH:g}" height="{HEIGHT:g}" fill="white"/>'
    yield from _svg_grid_lines(scale, level)
    for index, curve in enumerate(curves):
        colour = COLOURS[index % len(COLOURS)]
        bounds = [(point.capacity, point.traffic_bound) for point in curve.points]
        moved = [
            (point.capacity, result.bytes) for point, result in curve.measured_points
        ]
        yield _svg_polyline(bounds, scale, f'stroke="{colour}" stroke-dasharray="5"')
        yield _svg_polyline(moved, scale, f'stroke="{colour}" stroke-width="2"')
        for capacity, amount in moved:
            if capacity in curve.traffic_knees:
                yield (
                    f'<circle cx="{scale.x_of_capacity(capacity):.2f}" '
                    f'cy="{scale.y_of_traffic(amount):.2f}" '
                    f'r="5" fill="{colour}"><title>knee of {escape(curve.name)}: '
                    f"{_format_size(capacity)}, {amount / 1e6:,.2f} MB</title></circle>"
                )
        yield (
            f'<text x="{WIDTH - MARGIN:g}" y="{MARGIN + 16 * index:g}" '
            f'text-anchor="end" fill="{colour}">{escape(curve.name)}</text>'
        )
    yield "</svg>"


def _svg_polyline(
    points: Sequence[tuple[int, int]], scale: PlotScale, style: str
) -> str:
    """Return an SVG line through `points` of capacity and traffic, both in bytes."""
    coordinates = " ".join(
        f"{scale.x_of_capacity(x):.2f},{scale.y_of_traffic(y):.2f}" for x, y in points
    )
    return f'<polyline points="{coordinates}" fill="none" {style}/>'


def _svg_grid_lines(scale: PlotScale, level: str) -> Iterator[str]:
    """
    Yield a line and a label for each power of two on both axes, and the axis titles.
    """
    for power in range(scale.left, scale.right + 1):
        x = scale.x_of_capacity(1 << power)
        yield _svg_line(x, MARGIN, x, HEIGHT - MARGIN)
        yield _svg_text(x, HEIGHT - MARGIN + 16, _format_size(1 << power), "middle")
    for power in range(scale.bottom, scale.top + 1):
        y = scale.y_of_traffic(1 << power)
        yield _svg_line(MARGIN, y, WIDTH - MARGIN, y)
        yield _svg_text(MARGIN - 6, y + 4, f"{(1 << power) / 1e6:,.3g}", "end")
    yield _svg_text(WIDTH / 2, HEIGHT - MARGIN + 40, f"capacity of {level}", "middle")
    yield _svg_text(MARGIN, MARGIN - 20, "MB to and from the outermost memory", "start")


def _svg_line(left: float, top: float, right: float, bottom: float) -> str:
    """Return a grey SVG line from (`left`, `top`) to (`right`, `bottom`)."""
    return (
        f'<line x1="{left:.2f}" y1="{top:.2f}" x2="{right:.2f}" y2="{bottom:.2f}" '
        'stroke="#ddd"/>'
    )


def _svg_text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.2f}" y="{y:.2f}" text-anchor="{anchor}">{text}</text>'


def _format_size(capacity: int) -> str:
    """Return bytes in G, M or K, the largest unit that they reach, or without unit."""
    for unit, power in (("G", 30), ("M", 20), ("K", 10)):
        if capacity >= 1 << power:
            return f"{capacity / (1 << power):g}{unit}"
    return str(capacity)
