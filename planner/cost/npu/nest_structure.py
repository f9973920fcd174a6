"""
Cost model of NPU nests: keys by which nests over inner tiles of equal cost are known.

The cost of a nest follows from its operations, from how they use each other's results,
from what they load and store, and from the extents of their boxes. Merged groups have
copies of the same operations, and tiles of groups that overlap have equal extents, so
that most nests are known from an earlier group.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from xdsl.ir import Operation

from tlf.analysis.tiling.banded_windows import banded_windows_of
from tlf.analysis.tiling.group_tiling import GroupTiling, TiledOperation
from tlf.analysis.tiling.structural_keys import key_of_wiring
from tlf.planner.cost.npu.inner_transfers import InnerTransfer
from tlf.planner.cost.npu.nest_prediction import Nests
from tlf.planner.cost.npu.read_boxes import read_box_of
from tlf.support.affine.index_access import Box


class NestStructure(NamedTuple):
    """A nest of a group, without its tiles."""

    nest: int
    operations: tuple[Operation, ...]
    """All operations of the nest, in order."""
    transfers: tuple[InnerTransfer, ...]
    """Instructions and moves of the nest."""
    key: Hashable
    """Equal for nests of equal operations, wiring, instructions and moves."""


def nest_structures_of(
    tiles: Mapping[Operation, TiledOperation],
    nests: Nests,
    transfers: Sequence[InnerTransfer],
) -> list[NestStructure]:
    """Return the structure of each nest with transfers, in the order of the first."""
    operations: dict[int, list[Operation]] = {}
    for op in tiles:
        operations.setdefault(nests[op], []).append(op)
    by_nest: dict[int, list[InnerTransfer]] = {}
    for each in transfers:
        by_nest.setdefault(each.nest, []).append(each)
    return [
        NestStructure(
            nest,
            tuple(operations[nest]),
            tuple(found),
            _structural_key_of(tiles, operations[nest], found),
        )
        for nest, found in by_nest.items()
    ]


def _structural_key_of(
    tiles: Mapping[Operation, TiledOperation],
    operations: Sequence[Operation],
    transfers: Sequence[InnerTransfer],
) -> Hashable:
    """
    Return the key of a nest without its tiles. Operations that differ only in their
    values have the same facts.
    """
    wiring = key_of_wiring(
        ((0, (*op.operands, *op.results)) for op in operations), results=()
    )
    moves = tuple(
        (
            operations.index(each.op),
            each.has_instructions,
            tuple(index for _, index in each.loads),
            len(each.stores),
        )
        for each in transfers
    )
    return tuple(tiles[op].facts for op in operations), wiring, moves


def tile_key_of(tiling: GroupTiling, structure: NestStructure) -> Hashable:
    """
    Return a key that is equal for equal extents of the tiles of equal nests.
    """
    key: list[int | None] = []
    for op in structure.operations:
        tiled = tiling.tiles[op]
        key.append(tiled.is_moved)
        _append_extents(key, tiled.box)
        _append_extents(key, tiled.result)
        for index, box in enumerate(tiled.reads):
            _append_extents(key, box or read_box_of(tiling, tiled, index))
        if tiled.facts.windows is not None:
            windows = banded_windows_of(tiled.op, tiled.box, tiled.facts)
            key.append(windows is None)
    return tuple(key)


def _append_extents(key: list[int | None], box: Box | None) -> None:
    """Append the sizes and capacities of a box to a key; `None` without a box."""
    if box is None:
        key.append(None)
        return
    for interval in box:
        key += interval.size, interval.capacity
