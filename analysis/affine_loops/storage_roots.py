"""
Analysis of values: those that share storage once destination tensors are written in
place.
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from tlf.dialects import tile
from tlf.dialects.interfaces import ViewInterface


def storage_root_of(value: SSAValue) -> SSAValue:
    """Return the value whose storage `value` is a view of, or is written into."""
    while isinstance(owner := value.owner, Operation):
        match owner:
            case tile.WhileOp():
                value = owner.inits[list[SSAValue](owner.results).index(value)]
            case tile.DesliceOp():
                value = owner.destination
            case ViewInterface():
                value = owner.operands[0]
            case tile.SliceOp() if _memory_level_of(owner.source) == _memory_level_of(
                owner.result
            ):
                value = owner.source
            case _:
                break
    return value


def _memory_level_of(value: SSAValue) -> str | None:
    return tile.level_of(value.type)


def outside_values_used_by(op: Operation) -> set[SSAValue]:
    """Return the outside values that an operation or its nested operations use."""
    return {
        operand
        for inner in op.walk()
        for operand in inner.operands
        if not _is_defined_inside(operand, op)
    }


def roots_overwritten_by(op: Operation) -> set[SSAValue]:
    """Return the storage roots that an operation may overwrite in place."""
    roots = set[SSAValue]()
    for inner in op.walk():
        match inner:
            case tile.WhileOp():
                roots.update(storage_root_of(init) for init in inner.inits)
            case tile.DesliceOp():
                roots.add(storage_root_of(inner.destination))
            case _:
                pass
    return roots


def _is_defined_inside(value: SSAValue, op: Operation) -> bool:
    owner = value.owner
    parent = owner if isinstance(owner, Operation) else owner.parent_op()
    return parent is not None and op.is_ancestor(parent)
