"""Analysis of the origin of a destination tensor: its allocation."""

from __future__ import annotations

from xdsl.ir import SSAValue

from tlf.dialects import tile
from tlf.dialects.interfaces import ViewInterface


def empty_origin_of(value: SSAValue) -> SSAValue | None:
    """
    Return the `tile.empty` from which a value derives through loops, stores and views;
    None if there is none.
    """
    while not isinstance(owner := value.owner, tile.EmptyOp):
        match owner:
            case tile.WhileOp():
                value = owner.inits[list[SSAValue](owner.results).index(value)]
            case ViewInterface():
                value = owner.operands[0]
            case tile.DesliceOp() | tile.ScatterOp():
                value = owner.destination
            case _:
                return None
    return value
