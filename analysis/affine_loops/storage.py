"""Values that share storage once destinations are written in place."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from tlf.dialects import tile
from tlf.dialects.interfaces import ViewInterface


def origin(value: SSAValue) -> SSAValue:
    """The value whose place another one shows, or is written into."""
    while isinstance(owner := value.owner, Operation):
        match owner:
            case tile.WhileOp():
                value = owner.inits[list[SSAValue](owner.results).index(value)]
            case tile.DesliceOp():
                value = owner.destination
            case ViewInterface():
                value = owner.operands[0]
            case tile.SliceOp() if _level(owner.source) == _level(owner.result):
                value = owner.source
            case _:
                break
    return value


def _level(value: SSAValue) -> str | None:
    return tile.level_of(value.type)


def used_by(op: Operation) -> set[SSAValue]:
    """The values from outside that an operation uses, also those used inside of it."""
    return {
        operand
        for inner in op.walk()
        for operand in inner.operands
        if not _is_inside(operand, op)
    }


def overwritten_by(op: Operation) -> set[SSAValue]:
    """The origins of what an operation may overwrite in its place."""
    found = set[SSAValue]()
    for inner in op.walk():
        match inner:
            case tile.WhileOp():
                found.update(origin(init) for init in inner.inits)
            case tile.DesliceOp():
                found.add(origin(inner.destination))
            case _:
                pass
    return found


def _is_inside(value: SSAValue, op: Operation) -> bool:
    owner = value.owner
    parent = owner if isinstance(owner, Operation) else owner.parent_op()
    return parent is not None and op.is_ancestor(parent)
