"""Which movements a group can do tile by tile, and how."""

from __future__ import annotations

from collections.abc import Collection

from xdsl.ir import Operation

from tlf.dialects.access import Box, region
from tlf.dialects.interfaces import (
    IndexedInterface,
    MovementInterface,
    TilingInterface,
)
from tlf.passes.tiling.model import TilingError
from tlf.passes.tiling.rules import Rules

FROM_MEMORY = "its operand must come from memory, not from the group"


def is_gathered(
    op: TilingInterface, members: Collection[Operation], rules: Rules
) -> bool:
    """
    Whether the move that cuts a tile of an operation's operand does the operation.

    Raises `TilingError` for a movement that the target cannot do at all.
    """
    if not isinstance(op, MovementInterface):
        return False
    indexed = isinstance(op, IndexedInterface)
    if indexed and not rules.indexed:
        raise TilingError(
            op, "the target cannot load by indices: run `graph-decompose`"
        )
    if not rules.gathers and not indexed:
        return False
    if _is_by_element(op, members):
        return True
    _check_permutes(op)
    return False


def check_rooms(op: TilingInterface, box: Box, rules: Rules) -> None:
    """Check that tiles that an operation reads have extents that tiles may have."""
    if not rules.power_of_two:
        return
    for accesses in op.operand_accesses():
        for interval in region(accesses or (), box):
            if interval.room != rules.capacity(interval.room):
                raise TilingError(
                    op,
                    f"it reads windows of {interval.room} elements, and tiles of "
                    "this target have extents that are powers of two",
                )


def _is_by_element(op: MovementInterface, members: Collection[Operation]) -> bool:
    """Whether a movement reads a value of outside, element by element."""
    source = op.operands[0].owner
    from_outside = not isinstance(source, Operation) or source not in members
    accesses = [*(op.operand_accesses()[0] or ()), *op.result_accesses()[0]]
    return from_outside and all(
        access.width == 1 or access.index is not None for access in accesses
    )


def _check_permutes(op: MovementInterface) -> None:
    """A movement of a tile of the group can only shift, permute and repeat."""
    used: set[int] = set()
    for access in op.operand_accesses()[0] or ():
        terms = access.terms
        if access.index is not None:
            raise TilingError(op, FROM_MEMORY)
        many = len(terms) > 1 or any(iterator in used for iterator, _ in terms)
        used.update(iterator for iterator, _ in terms)
        if many or any(factor != 1 for _, factor in terms):
            raise TilingError(op, FROM_MEMORY)
