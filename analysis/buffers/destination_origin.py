"""Analysis of the origin of a destination tensor: its allocation, or a call."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.ir import SSAValue

from tlf.dialects import tile
from tlf.dialects.graph.in_place_attribute import in_place_operands_of
from tlf.dialects.interfaces import ViewInterface


def empty_origin_of(value: SSAValue) -> SSAValue | None:
    """
    Return the `tile.empty`, or the new result of a call, from which a value derives
    through loops, stores, views and calls; None if there is none.
    """
    origin = destination_origin_of(value)
    return origin if isinstance(origin.owner, tile.EmptyOp | func.CallOp) else None


def destination_origin_of(value: SSAValue) -> SSAValue:
    """
    Return the value from which a value derives through loops, stores, views and calls
    that all write into the same tensor.
    """
    while not isinstance(owner := value.owner, tile.EmptyOp):
        match owner:
            case func.CallOp():
                overwritten = overwritten_operand_of(owner, value)
                if overwritten is None:
                    return value
                value = overwritten
            case tile.WhileOp():
                value = owner.inits[list[SSAValue](owner.results).index(value)]
            case ViewInterface():
                value = owner.operands[0]
            case tile.DesliceOp() | tile.ScatterOp():
                value = owner.destination
            case _:
                break
    return value


def overwritten_operand_of(call: func.CallOp, result: SSAValue) -> SSAValue | None:
    """Return the operand whose buffer a result of a call overwrites, if any."""
    index = in_place_operands_of(call)[list[SSAValue](call.results).index(result)]
    return None if index is None else call.operands[index]
