"""
Command `tlf-plan`: SVG picture of a static allocation, bytes over steps, without IR.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from html import escape

from tlf.support.allocation import Allocation, Buffer

WIDTH, HEIGHT, MARGIN = 1200.0, 600.0, 40.0
"""Size of the picture and the margin around the drawing, in SVG units."""

GOLDEN_ANGLE = 137.5
"""Degrees between the hues of consecutive buffers, which keeps them distinguishable."""


def render_allocation(
    names: Sequence[str],
    buffers: Sequence[Buffer],
    placement: Allocation,
    capacity: int | None = None,
) -> str:
    """Return an SVG document."""
    return "\n".join(_svg_elements(names, buffers, placement, capacity)) + "\n"


def _svg_elements(
    names: Sequence[str],
    buffers: Sequence[Buffer],
    placement: Allocation,
    capacity: int | None,
) -> Iterator[str]:
    """Yield SVG: a rectangle for each live span of a buffer, then marks and labels."""
    spans = [span for buffer in buffers for span in buffer.spans]
    first = min((span.start for span in spans), default=0)
    last = max((span.end for span in spans), default=1)
    top = max(placement.peak, capacity or 0, 1)
    across = (WIDTH - 2 * MARGIN) / max(1, last - first)
    up = (HEIGHT - 2 * MARGIN) / top

    def height(offset: int) -> float:
        return HEIGHT - MARGIN - offset * up

    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" '
        'font-family="sans-serif" font-size="12">'
    )
    yield f'<rect width="{WIDTH:g}" height="{HEIGHT:g}" fill="white"/>'
    for index, (name, buffer) in enumerate(zip(names, buffers, strict=True)):
        offset = placement.offsets[index]
        title = escape(f"{name}: bytes {offset} to {offset + buffer.size}")
        hue = index * GOLDEN_ANGLE % 360
        for span in buffer.spans:
            yield (
                f'<rect x="{MARGIN + (span.start - first) * across:.2f}" '
                f'y="{height(offset + span.end_byte):.2f}" '
                f'width="{(span.end - span.start) * across:.2f}" '
                f'height="{(span.end_byte - span.start_byte) * up:.2f}" '
                f'fill="hsl({hue:.1f},60%,70%)" stroke="black" stroke-width="0.3">'
                f"<title>{title}, steps {span.start} to {span.end}</title></rect>"
            )
    yield from _draw_marks(placement, capacity, height)
    y_text = f'y="{HEIGHT - MARGIN + 16:g}"'
    yield f'<text x="{MARGIN:g}" {y_text}>step {first}</text>'
    yield f'<text x="{WIDTH - MARGIN:g}" {y_text} text-anchor="end">step {last}</text>'
    yield "</svg>"


def _draw_marks(
    placement: Allocation, capacity: int | None, height: Callable[[int], float]
) -> Iterator[str]:
    """Return the lines at offset 0, at the peak and at the capacity."""
    marks = {"0": 0, f"peak {placement.peak:,}": placement.peak}
    if capacity is not None and capacity != placement.peak:
        marks[f"capacity {capacity:,}"] = capacity
    for label, offset in marks.items():
        yield (
            f'<line x1="{MARGIN:g}" x2="{WIDTH - MARGIN:g}" y1="{height(offset):.2f}" '
            f'y2="{height(offset):.2f}" stroke="black" stroke-dasharray="4"/>'
        )
        yield f'<text x="{MARGIN:g}" y="{height(offset) - 4:.2f}">{label}</text>'
