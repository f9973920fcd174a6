"""
Legality check of the pass `graph-collapse-dims`: tensors that may share a buffer have
whole rows, so that two axes can collapse.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import func
from xdsl.ir import Block, Operation, SSAValue

from tlf.dialects import graph, tile
from tlf.dialects.interfaces import ViewInterface
from tlf.dialects.tile import level_of
from tlf.dialects.types import tensor_type


class _PartialRowError(Exception):
    """Error raised if a partial row may be accessed."""


def has_contiguous_rows(value: SSAValue, axis: int) -> bool:
    """
    Return `True` if a tensor and all tensors that may share its buffer have all
    elements along `axis + 1`, so that rows are contiguous.
    """
    extent = tensor_type(value).get_shape()[axis + 1]
    pending, visited = [value], {value}
    try:
        while pending:
            current = pending.pop()
            shape = tensor_type(current).get_shape()
            if len(shape) < axis + 2 or shape[axis + 1] != extent:
                return False
            aliases = [
                *_aliases_by_definition(current, axis),
                *_aliases_by_use(current, axis),
            ]
            pending += [each for each in aliases if each not in visited]
            visited.update(aliases)
    except _PartialRowError:
        return False
    return True


def _aliases_by_definition(value: SSAValue, axis: int) -> Iterator[SSAValue]:
    """Yield the tensors that may share a tensor's buffer through its definition."""
    match owner := value.owner:
        case Block():
            yield from _aliases_by_block_argument(value, owner)
        case tile.SliceOp() if level_of(owner.source.type) == level_of(value.type):
            yield _require_slice_with_whole_rows(owner, owner.source)
        case tile.SliceOp() | tile.EmptyOp() | graph.GroupOp():
            return
        case tile.RollOp():
            yield from _aliases_by_roll(owner, axis)
        case tile.WhileOp():
            yield from _aliases_by_loop_carried_value(
                owner, list[SSAValue](owner.results).index(value)
            )
        case ViewInterface() if isinstance(owner.operands[0].owner, graph.GroupOp):
            return
        case _:
            raise _PartialRowError


def _aliases_by_use(value: SSAValue, axis: int) -> Iterator[SSAValue]:
    """Yield the tensors that may share a tensor's buffer through its uses."""
    for use in value.uses:
        match user := use.operation:
            case tile.SliceOp() if level_of(user.result.type) == level_of(value.type):
                yield _require_slice_with_whole_rows(user, user.result)
            case tile.SliceOp() | graph.GroupOp() | ViewInterface():
                continue
            case tile.DesliceOp() if user.source is value and (
                level_of(user.destination.type) != level_of(value.type)
            ):
                continue
            case tile.RollOp():
                yield from _aliases_by_roll(user, axis)
            case tile.WhileOp():
                for index, init in enumerate(user.inits):
                    if init is value:
                        yield from _aliases_by_loop_carried_value(user, index)
            case tile.YieldOp() if isinstance(loop := user.parent_op(), tile.WhileOp):
                yield from _aliases_by_loop_carried_value(loop, use.index)
            case _:
                raise _PartialRowError


def _require_slice_with_whole_rows(op: tile.SliceOp, value: SSAValue) -> SSAValue:
    if op.map is not None or op.fill is not None:
        raise _PartialRowError
    return value


def _aliases_by_roll(op: tile.RollOp, axis: int) -> Iterator[SSAValue]:
    if op.axis.value.data == axis + 1:
        raise _PartialRowError
    yield from (op.window, op.next, op.result)


def _aliases_by_block_argument(value: SSAValue, block: Block) -> Iterator[SSAValue]:
    """Yield the aliases of a loop-carried value; none for a function argument."""
    loop: Operation | None = block.parent_op()
    if isinstance(loop, tile.WhileOp) and value in loop.carried_values:
        yield from _aliases_by_loop_carried_value(
            loop, list[SSAValue](loop.carried_values).index(value)
        )
    elif not isinstance(loop, func.FuncOp):
        raise _PartialRowError


def _aliases_by_loop_carried_value(
    loop: tile.WhileOp, carried_index: int
) -> Iterator[SSAValue]:
    """
    Yield the values of loop-carried variable `carried_index`: initial, carried, yielded
    and result.
    """
    yield loop.inits[carried_index]
    yield loop.carried_values[carried_index]
    yield loop.yield_op.arguments[carried_index]
    yield loop.results[carried_index]
