"""
Analysis of data movements that a group can perform tile by tile, and their constraints.
"""

from __future__ import annotations

from collections.abc import Collection

from xdsl.ir import Operation

from tlf.analysis.operations.op_facts import OpFacts
from tlf.analysis.tiling.group_tiling import TilingError
from tlf.analysis.tiling.tile_rules import TileRules
from tlf.dialects.interfaces import (
    DelinearizedReadInterface,
    IndexedReadInterface,
    TilingInterface,
)
from tlf.support.affine.index_access import Box, accessed_box

FROM_MEMORY = "its operand must come from memory, not from the group"


def is_performed_by_slicing_move(
    op: TilingInterface,
    facts: OpFacts,
    members: Collection[Operation],
    rules: TileRules,
) -> bool:
    """
    Return `True` if the move that slices a tile of an operation's operand performs the
    operation.

    Raises `TilingError` for a movement that the target cannot perform.
    """
    if not facts.is_movement:
        return False
    indexed = isinstance(op, IndexedReadInterface)
    if indexed and not rules.has_indexed_moves:
        raise TilingError(
            op, "the target cannot load by indices: run `graph-decompose`"
        )
    if not rules.has_gather_moves and not indexed:
        if isinstance(op, DelinearizedReadInterface):
            raise TilingError(
                op, "the target cannot load windows as rows: run `graph-decompose`"
            )
        return False
    if facts.is_elementwise_move and _has_source_outside_group(op, members):
        return True
    if isinstance(op, DelinearizedReadInterface):
        raise TilingError(op, FROM_MEMORY)
    _check_movement_keeps_elements(op, facts)
    return False


def check_tile_extents(
    op: TilingInterface, facts: OpFacts, box: Box, rules: TileRules
) -> None:
    """
    Check that tiles read by an operation have legal extents. Raises `TilingError`.
    """
    if not rules.power_of_two:
        return
    for accesses in dict.fromkeys(facts.indexing_maps):
        for interval in accessed_box(accesses or (), box):
            if interval.tile_extent != rules.padded_tile_extent(interval.tile_extent):
                raise TilingError(
                    op,
                    f"it reads windows of {interval.tile_extent} elements, and "
                    "tiles of "
                    "this target have extents that are powers of two",
                )


def _has_source_outside_group(
    op: TilingInterface, members: Collection[Operation]
) -> bool:
    """Return `True` if the source of a movement is not computed in the group."""
    source = op.operands[0].owner
    return not isinstance(source, Operation) or source not in members


def _check_movement_keeps_elements(op: TilingInterface, facts: OpFacts) -> None:
    """
    Check that a movement of a tile of the group only shifts, permutes or repeats.
    Raises `TilingError`.
    """
    used: set[int] = set()
    for access in facts.indexing_maps[0] or ():
        terms = access.terms
        if access.index is not None:
            raise TilingError(op, FROM_MEMORY)
        is_composite = len(terms) > 1 or any(iterator in used for iterator, _ in terms)
        used.update(iterator for iterator, _ in terms)
        if is_composite or any(factor != 1 for _, factor in terms):
            raise TilingError(op, FROM_MEMORY)
