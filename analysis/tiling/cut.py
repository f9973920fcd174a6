"""Iterations of an operation that loops are cut into."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from tlf.analysis.operations.form import Form, Forms
from tlf.analysis.tiling.model import Loop, Looped, TilingError
from tlf.dialects.interfaces import TilingInterface
from tlf.support.affine.access import Box, Interval, Linear

Loops: TypeAlias = dict[int, Loop]
"""Loops over tiles, by the iterator that they are cut from."""


def sizes_of(
    op: TilingInterface, looped: Looped, forms: Forms, sizes: Sequence[int]
) -> Sequence[int]:
    """
    Return the sizes that belong to the reductions of an operation, from those of all
    reductions that have loops, of which the anchor's come first. Raises `TilingError`
    if there are more sizes, or fewer.
    """
    anchor = looped.anchor or op
    places = [
        owner for owner in (anchor, *looped.nested) for _ in forms.of(owner).reductions
    ]
    if len(sizes) != len(places):
        raise TilingError(
            op, f"expected {len(places)} reduction sizes, got {len(sizes)}"
        )
    return [size for owner, size in zip(places, sizes, strict=True) if owner is op]


def whole_box(form: Form) -> Box:
    """All iterations."""
    return tuple(Interval(Linear(), extent, extent) for extent in form.extents)


def cut_box(
    op: TilingInterface,
    form: Form,
    box: Box,
    iterators: Sequence[int],
    sizes: Sequence[int],
    loops: Loops,
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
