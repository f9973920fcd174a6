"""
Which part of a result one tile of a group writes, so that no two write the same.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.ir import Operation, SSAValue

from tlf.dialects.access import Box, Interval, Linear
from tlf.dialects.interfaces import TilingInterface
from tlf.dialects.types import tensor_type
from tlf.passes.tiling.model import GroupTiling, Loop, TilingError


def piece_of(tiling: GroupTiling, value: SSAValue, root: TilingInterface) -> Box:
    """
    The part of a result that one tile of the root writes.

    Raises `TilingError` where tiles would leave gaps or write elements twice.
    """
    owner = value.owner
    if not isinstance(owner, Operation) or owner not in tiling.tiles:
        raise TilingError(root, "expected results that the group computes")
    computed = tiling.tiles[owner].result
    if owner is root:
        return computed
    shape = tensor_type(value).get_shape()
    waiting = set(tiling.loops.values())
    piece: list[Interval] = []
    for interval, extent in zip(computed, shape, strict=True):
        part = _axis_piece(owner, interval, extent)
        waiting = {
            loop
            for loop in waiting
            if all(symbol is not loop for symbol, _ in part.offset.terms)
        }
        piece.append(part)
    if any(loop.trips > 1 for loop in waiting):
        raise TilingError(owner, "several tiles would write the same elements")
    return tuple(piece)


def beside_root(op: TilingInterface, first: SSAValue, piece: Box) -> Box:
    """
    The part of a further result of a group that belongs to a tile of the first one.

    Raises `TilingError` where their shapes differ in more than axes of extent 1.
    """
    whole = tensor_type(first).get_shape()
    shape = tensor_type(op.results[0]).get_shape()
    if len(shape) != len(whole) or any(
        extent not in (1, most) for extent, most in zip(shape, whole, strict=True)
    ):
        raise TilingError(
            op,
            "expected a further result of the shape of the first one, but for axes "
            "of extent 1",
        )
    return tuple(
        Interval.whole(1) if extent == 1 else interval
        for extent, interval in zip(shape, piece, strict=True)
    )


def _axis_piece(op: Operation, interval: Interval, extent: int) -> Interval:
    start = interval.offset.constant
    if not interval.offset.terms:
        if start <= 0 and extent <= start + interval.size:
            return interval
        raise TilingError(op, "a tile holds only part of an axis of a result")
    (symbol, factor), *others = interval.offset.terms
    if others or factor != 1 or not isinstance(symbol, Loop) or start > 0:
        raise TilingError(op, "the tiles of a result do not follow one loop each")
    if start + interval.size < symbol.tile:
        raise TilingError(op, "the tiles of a result leave gaps")
    if symbol.extent < extent:
        raise TilingError(op, "a tile holds only part of an axis of a result")
    return replace(interval, offset=Linear.of(symbol), size=symbol.tile)
