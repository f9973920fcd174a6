"""Lowering of operations outside of groups to a grid of programs, one per tile."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.builder import Builder
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.dialects import tile
from tlf.dialects.tile import Index

TileBuilder = Callable[
    [Builder, Sequence[Index], Sequence[SSAValue]], Sequence[SSAValue]
]
"""
Callback that builds the operations on the tile at given offsets, and returns the
destinations with the tiles that it writes.
"""


def build_tile_grid(
    op: Operation,
    extents: Sequence[int],
    sizes: Sequence[int],
    destinations: Sequence[SSAValue],
    build_tile: TileBuilder,
) -> Sequence[SSAValue]:
    """
    Build a grid over the tiles of a tensor before `op`, and return the destinations
    after all tiles. Axes that a tile covers have no loop.
    """
    tiled = [
        axis
        for axis, (size, extent) in enumerate(zip(sizes, extents, strict=True))
        if size < extent
    ]
    carried = [each.type for each in destinations]
    body = Block(arg_types=[*[IndexType()] * len(tiled), *carried])
    offsets: list[Index] = [0] * len(extents)
    for axis, variable in zip(tiled, body.args, strict=False):
        offsets[axis] = variable
    builder = Builder(InsertPoint.at_end(body))
    written = build_tile(builder, offsets, body.args[len(tiled) :])
    builder.insert(tile.YieldOp(*written))
    for each in body.ops:
        each.location = op.location
    loop = tile.WhileOp(
        [0] * len(tiled),
        [extents[axis] for axis in tiled],
        [sizes[axis] for axis in tiled],
        destinations,
        body,
        tile.LoopKind.PARALLEL,
        tile.Mapping.GRID,
    )
    loop.location = op.location
    return Builder(InsertPoint.before(op)).insert(loop).results
