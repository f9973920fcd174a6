"""Contiguity of two neighbouring axes of a tensor, which lie in memory as one would."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import func
from xdsl.ir import Block, Operation, SSAValue

from tlf.dialects import graph, tile
from tlf.dialects.interfaces import ViewInterface
from tlf.dialects.tile import level_of
from tlf.dialects.types import tensor_type


class _NotWholeError(Exception):
    """Parts of rows are used, or it cannot be told."""


def has_whole_rows(value: SSAValue, axis: int) -> bool:
    """
    Return `True` if a tensor, and all tensors that may share its buffer, have all
    elements along the axis behind `axis`, so that rows are contiguous.
    """
    extent = tensor_type(value).get_shape()[axis + 1]
    pending, seen = [value], {value}
    try:
        while pending:
            current = pending.pop()
            shape = tensor_type(current).get_shape()
            if len(shape) < axis + 2 or shape[axis + 1] != extent:
                return False
            found = [*_sources(current, axis), *_users(current, axis)]
            pending += [each for each in found if each not in seen]
            seen.update(found)
    except _NotWholeError:
        return False
    return True


def _sources(value: SSAValue, axis: int) -> Iterator[SSAValue]:
    """The tensors that a tensor may be part of by the way it is made."""
    match owner := value.owner:
        case Block():
            yield from _carried(value, owner)
        case tile.SliceOp() if level_of(owner.source.type) == level_of(value.type):
            yield _cut(owner, owner.source)
        case tile.SliceOp() | tile.EmptyOp() | graph.GroupOp():
            return
        case tile.RollOp():
            yield from _rolled(owner, axis)
        case tile.WhileOp():
            yield from _of_loop(owner, list[SSAValue](owner.results).index(value))
        case ViewInterface() if isinstance(owner.operands[0].owner, graph.GroupOp):
            return
        case _:
            raise _NotWholeError


def _users(value: SSAValue, axis: int) -> Iterator[SSAValue]:
    """The tensors that may be part of a tensor by the way it is used."""
    for use in value.uses:
        match user := use.operation:
            case tile.SliceOp() if level_of(user.result.type) == level_of(value.type):
                yield _cut(user, user.result)
            case tile.SliceOp() | graph.GroupOp() | ViewInterface():
                continue
            case tile.DesliceOp() if user.source is value and (
                level_of(user.destination.type) != level_of(value.type)
            ):
                continue
            case tile.RollOp():
                yield from _rolled(user, axis)
            case tile.WhileOp():
                for number, init in enumerate(user.inits):
                    if init is value:
                        yield from _of_loop(user, number)
            case tile.YieldOp() if isinstance(loop := user.parent_op(), tile.WhileOp):
                yield from _of_loop(loop, use.index)
            case _:
                raise _NotWholeError


def _cut(op: tile.SliceOp, value: SSAValue) -> SSAValue:
    if op.map is not None or op.fill is not None:
        raise _NotWholeError
    return value


def _rolled(op: tile.RollOp, axis: int) -> Iterator[SSAValue]:
    if op.axis.value.data == axis + 1:
        raise _NotWholeError
    yield from (op.window, op.next, op.result)


def _carried(value: SSAValue, block: Block) -> Iterator[SSAValue]:
    loop: Operation | None = block.parent_op()
    if isinstance(loop, tile.WhileOp) and value in loop.carried:
        yield from _of_loop(loop, list[SSAValue](loop.carried).index(value))
    elif not isinstance(loop, func.FuncOp):
        raise _NotWholeError


def _of_loop(loop: tile.WhileOp, number: int) -> Iterator[SSAValue]:
    """
    Yield the values of the loop-carried variable of an index: initial, carried, yielded
    and result.
    """
    yield loop.inits[number]
    yield loop.carried[number]
    yield loop.yielded.arguments[number]
    yield loop.results[number]
