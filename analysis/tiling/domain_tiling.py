"""
Analysis of the tiling of an iteration domain: the box of a tile, and the loops over
tiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from tlf.analysis.operations.op_facts import OpFacts, OpFactsCache
from tlf.analysis.tiling.group_tiling import ReductionLoop, TileLoop, TilingError
from tlf.dialects.interfaces import TilingInterface
from tlf.support.affine.index_access import AffineSum, Box, Interval

LoopsByDim: TypeAlias = dict[int, TileLoop]
"""Loops over tiles, by the iterator that they tile."""


def reduction_tile_sizes_of(
    op: TilingInterface,
    reduction_loop: ReductionLoop,
    op_facts: OpFactsCache,
    sizes: Sequence[int],
) -> Sequence[int]:
    """
    Return the tile sizes of the reduction iterators of one operation, selected from the
    sizes of all reductions that have loops, the anchor's first. Raises `TilingError` if
    the number of sizes does not match the number of reduction iterators.
    """
    anchor = reduction_loop.anchor or op
    owners = [
        owner
        for owner in (anchor, *reduction_loop.nested)
        for _ in op_facts.facts_of(owner).reduction_dims
    ]
    if len(sizes) != len(owners):
        raise TilingError(
            op, f"expected {len(owners)} reduction sizes, got {len(sizes)}"
        )
    return [size for owner, size in zip(owners, sizes, strict=True) if owner is op]


def box_of_whole_domain(facts: OpFacts) -> Box:
    """Return the box of all iterations."""
    return tuple(Interval(AffineSum(), extent, extent) for extent in facts.extents)


def tile_iteration_domain(
    op: TilingInterface,
    facts: OpFacts,
    box: Box,
    iterators: Sequence[int],
    sizes: Sequence[int],
    loops: LoopsByDim,
) -> Box:
    """
    Return the iterations of one tile, and add a loop for each tiled iterator.

    Raises `TilingError` if an iterator cannot be tiled.
    """
    tiled = list(box)
    for position, size in zip(iterators, sizes, strict=True):
        extent = facts.extents[position]
        if size >= extent:
            tiled[position] = Interval(AffineSum(), extent, size)
            continue
        reason = facts.untileable_dims.get(position)
        if reason is not None and position != facts.scan_iterator:
            raise TilingError(op, f"axis {position} cannot be tiled: {reason}")
        loop = loops[position] = TileLoop(extent, size)
        tiled[position] = Interval(AffineSum.of_symbol(loop), size)
    return tuple(tiled)
