"""Iterations of an operation that loops are cut into."""

from __future__ import annotations

from collections.abc import Sequence

from tlf.dialects.access import Box, Interval, Linear
from tlf.dialects.interfaces import TilingInterface
from tlf.passes.tiling.form import Form
from tlf.passes.tiling.model import Loop, TilingError


def whole_box(form: Form) -> Box:
    """All iterations."""
    return tuple(Interval(Linear(), extent, extent) for extent in form.extents)


def cut_box(
    op: TilingInterface,
    form: Form,
    box: Box,
    iterators: Sequence[int],
    sizes: Sequence[int],
    loops: dict[int, Loop],
) -> Box:
    """
    The iterations in a tile of so many along some iterators, each with a new loop among
    `loops`, unless the tile has all of them.

    Raises `TilingError` where an iterator only runs whole.
    """
    tiled = list(box)
    for position, size in zip(iterators, sizes, strict=True):
        extent = form.extents[position]
        if size >= extent:
            tiled[position] = Interval(Linear(), extent, size)
            continue
        if (reason := form.untileable.get(position)) is not None:
            raise TilingError(op, f"axis {position} cannot be tiled: {reason}")
        loop = loops[position] = Loop(extent, size)
        tiled[position] = Interval(Linear.of(loop), size)
    return tuple(tiled)
