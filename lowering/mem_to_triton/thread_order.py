"""
Order in which the threads of a program access the elements of a tile in memory.

Triton assigns neighbouring threads to the dim along which a thread could access several
elements at once, then to the other dims in their order (`argSort` of the contiguity in
`Coalesce.cpp`, Triton 3.6). The threads of a warp should access neighbouring elements.
Where the contiguous elements do not fill a sector, or there are none, a tile is loaded
or stored with its dims in the order of their steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

SECTOR_BYTES = 32
"""Bytes of the smallest transfer from or to memory, which a warp should use up."""


@dataclass(frozen=True)
class DimStep:
    """Distance of neighbouring elements of a tile along a dim, in memory."""

    elements: int
    run: int = 1
    """Number of elements of which each has this distance to the one before."""

    @property
    def is_contiguous(self) -> bool:
        """True if a thread could access several elements at once."""
        return self.elements == 1 and self.run > 1


def find_thread_order(
    shape: Sequence[int], steps: Mapping[int, DimStep], item_bytes: int
) -> list[int] | None:
    """
    Return the order of a tile's dims by their steps, with the dim of the least step
    first and contiguous elements last; `None` if threads access the tile in this order
    anyway, or whole sectors. Dims without a step have the same element.
    """
    contiguous = [dim for dim, step in steps.items() if step.is_contiguous]
    if any(steps[dim].run * item_bytes >= SECTOR_BYTES for dim in contiguous):
        return None
    dims = [
        dim
        for dim, extent in enumerate(shape)
        if extent > 1 and dim in steps and dim not in contiguous
    ]
    by_step = sorted(dims, key=lambda dim: (abs(steps[dim].elements), -dim))
    if by_step == dims:
        return None
    others = [dim for dim in range(len(shape)) if dim not in by_step]
    return [*by_step, *others]


def permute_text(text: str, order: Sequence[int] | None) -> str:
    """Return the expression of a tile with its dims in an order, if there is one."""
    return text if order is None else f"tl.permute({text}, {list(order)})"
