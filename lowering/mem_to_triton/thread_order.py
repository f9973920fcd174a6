"""
Order in which the threads of a program fill a loaded tile.

Triton assigns neighbouring threads to the dim along which a thread could load several
elements at once, and to the first dim if there is none (`argSort` of the contiguity in
`Coalesce.cpp`, Triton 3.6). The threads of a warp should load neighbouring elements in
either case, so such a tile is loaded with its dims in the order of their steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class DimStep:
    """Distance of neighbouring elements of a tile along a dim, in memory."""

    elements: int
    run: int = 1
    """Number of elements of which each has this distance to the one before."""

    @property
    def is_contiguous(self) -> bool:
        """True if a thread could load several elements at once."""
        return self.elements == 1 and self.run > 1


def find_thread_order(
    shape: Sequence[int], steps: Mapping[int, DimStep]
) -> list[int] | None:
    """
    Return the order of a tile's dims by their steps, with the dim of the least step
    first; `None` if threads fill the tile in this order anyway, or load several
    elements at once. Dims without a step load the same element.
    """
    if any(step.is_contiguous for step in steps.values()):
        return None
    dims = [dim for dim, extent in enumerate(shape) if extent > 1 and dim in steps]
    by_step = sorted(dims, key=lambda dim: (abs(steps[dim].elements), -dim))
    if by_step == dims:
        return None
    others = [dim for dim in range(len(shape)) if dim not in by_step]
    return [*by_step, *others]


def permute_text(text: str, order: Sequence[int] | None) -> str:
    """Return the expression of a tile with its dims in an order, if there is one."""
    return text if order is None else f"tl.permute({text}, {list(order)})"
