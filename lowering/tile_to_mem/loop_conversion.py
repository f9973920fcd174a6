"""
Lowering of tile loops to loops on buffers: parallel nests and sequential nests with
carried values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.builder import Builder
from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType, StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.analysis.buffers.tile_liveness import SharedStorage
from tlf.dialects import tile
from tlf.dialects.types import tensor_type
from tlf.lowering.tile_to_mem.buffer_copies import acquire_writable_buffer, copy_buffer
from tlf.lowering.tile_to_mem.bufferization_error import BufferizationError
from tlf.lowering.tile_to_mem.bufferization_state import BufferizationState
from tlf.lowering.tile_to_mem.ring_windows import (
    bind_carried_window,
    close_ring,
    open_ring,
)

ConvertBlock = Callable[[Block, Block], None]
"""Callback that converts a block's operations and appends them to another block."""


def convert_parallel(
    scope: BufferizationState, op: tile.WhileOp, convert: ConvertBlock
) -> None:
    """Convert a parallel nest that writes its destinations in place."""
    for init in op.inits:
        scope.operand(init)
        _check_destination(scope, op, init)
    _wait_for_operands(scope, op)
    for init, argument in zip(op.inits, op.carried_values, strict=True):
        destination = SharedStorage(is_writable=False, is_destination=True)
        scope.bind(argument, scope.values[init], destination)
    outer = scope.builder.insertion_point.block
    body = _build_parallel_nest(scope, op, outer)
    convert(op.body.block, body)
    if body is not outer:
        body.add_op(scf.ReduceOp())
    for init, result in zip(op.inits, op.results, strict=True):
        enclosing = scope.storages[init].enclosing
        scope.bind(result, scope.values[init], SharedStorage(enclosing=enclosing))


def _build_parallel_nest(
    scope: BufferizationState, op: tile.WhileOp, outer: Block
) -> Block:
    """Build the loops of a parallel nest, and return the block of its body."""
    if not op.step_values and op.mapping.data is not tile.Mapping.GRID:
        return outer
    lower, upper, steps = _bound_values(scope, op)
    if not lower:
        lower, upper, steps = ([scope.to_index_value(bound)] for bound in (0, 1, 1))
    body = Block(arg_types=[IndexType()] * len(lower))
    loop = scf.ParallelOp(lower, upper, steps, Region(body))
    loop.attributes["mapping"] = StringAttr(str(op.mapping.data))
    if op.order is not None:
        loop.attributes["order"] = op.order
    if op.stages is not None:
        loop.attributes["stages"] = op.stages
    scope.builder.insert(loop)
    for old, new in zip(op.induction_variables, body.args, strict=False):
        _bind_variable(scope, old, new)
    return body


def _bind_variable(scope: BufferizationState, old: SSAValue, new: SSAValue) -> None:
    new.name_hint = old.name_hint
    scope.values[old] = new


def _check_destination(
    scope: BufferizationState, op: tile.WhileOp, init: SSAValue
) -> None:
    """Raise `BufferizationError` unless a loop can write its destination in place."""
    if scope.is_value(init.type):
        raise BufferizationError(op, "cannot insert tiles into a tile of registers")
    storage = scope.storages[init]
    if not storage.is_writable and not storage.is_destination:
        raise BufferizationError(
            op, "expected a writable destination: arguments are read-only"
        )
    users = [
        user
        for value in storage.values
        for user in scope.liveness.later_users(value, op)
    ]
    if not all(op.is_ancestor(user) for user in users):
        raise BufferizationError(
            op, "expected a destination that is not used after the loop"
        )
    if not all(_is_read_of_own_tile(op, user) for user in users):
        raise BufferizationError(
            op, "expected an iteration to read only its own tile of the destination"
        )


def _is_read_of_own_tile(loop: tile.WhileOp, user: Operation) -> bool:
    """
    Return `True` if an operation in a loop reads only the tile of the destination that
    the same iteration writes.
    """
    block = user.parent
    if not isinstance(user, tile.SliceOp) or block is None:
        return False
    parent = user.parent_op()
    while parent is not loop:
        if not isinstance(parent, tile.WhileOp) or not parent.is_parallel:
            return False
        parent = parent.parent_op()
    shape = tensor_type(user.result).get_shape()
    return any(
        isinstance(other, tile.DesliceOp)
        and other.mixed_offsets == user.mixed_offsets
        and tensor_type(other.source).get_shape() == shape
        for other in block.ops
    )


def convert_sequential(
    scope: BufferizationState, op: tile.WhileOp, convert: ConvertBlock
) -> None:
    """Convert a sequential nest; carried tiles are values or separate buffers."""
    kinds = {scope.is_value(init.type) for init in op.inits}
    if len(kinds) > 1:
        raise BufferizationError(op, "expected carried values in one memory level")
    if True in kinds:
        _carry_values(scope, op, convert)
    else:
        _carry_buffers(scope, op, convert)


def _carry_values(
    scope: BufferizationState, op: tile.WhileOp, convert: ConvertBlock
) -> None:
    _wait_for_operands(scope, op)
    carried = [scope.operand(init) for init in op.inits]
    outer = scope.builder
    loops = _open_loops(scope, op, carried)
    innermost = loops[-1].body.block
    arguments = innermost.args[1:]
    for argument, value in zip(op.carried_values, arguments, strict=True):
        scope.bind(argument, value, SharedStorage())
    convert(op.body.block, innermost)
    results: Sequence[SSAValue] = [
        scope.operand(value) for value in op.yield_op.arguments
    ]
    for loop in reversed(loops):
        loop.body.block.add_op(scf.YieldOp(*results))
        results = loop.results
    scope.builder = outer
    for result, value in zip(op.results, results, strict=True):
        scope.bind(result, value, SharedStorage())


def _carry_buffers(
    scope: BufferizationState, op: tile.WhileOp, convert: ConvertBlock
) -> None:
    rings = scope.rings.rings_of(op)
    for ring in rings.values():
        open_ring(scope, ring)
    buffers = {
        index: _carried_buffer(scope, op, index)
        for index in range(len(op.inits))
        if index not in rings
    }
    _wait_for_operands(scope, op)
    outer = scope.builder
    loops = _open_loops(scope, op, [])
    for index, buffer in buffers.items():
        is_destination = op.is_destination(index)
        storage = SharedStorage(
            is_writable=not is_destination, is_destination=is_destination
        )
        scope.bind(op.carried_values[index], buffer, storage)
    for ring in rings.values():
        bind_carried_window(scope, ring)
    innermost = scope.builder.insertion_point.block
    convert(op.body.block, innermost)
    scope.builder = Builder(InsertPoint.at_end(innermost))
    for index, buffer in buffers.items():
        copy_buffer(scope, op, scope.operand(op.yield_op.arguments[index]), buffer)
    for loop in reversed(loops):
        loop.body.block.add_op(scf.YieldOp())
    scope.builder = outer
    for index, buffer in buffers.items():
        enclosing = scope.storages[op.inits[index]].enclosing
        scope.bind(op.results[index], buffer, SharedStorage(enclosing=enclosing))
    for ring in rings.values():
        close_ring(scope, ring)


def _carried_buffer(
    scope: BufferizationState, op: tile.WhileOp, position: int
) -> SSAValue:
    """
    Return the buffer of a carried value: a writable buffer, or the destination that the
    loop assembles.
    """
    init = op.inits[position]
    scope.operand(init)
    if not scope.storages[init].is_destination:
        return acquire_writable_buffer(scope, op, init)[0]
    if not op.is_destination(position):
        raise BufferizationError(op, "expected a destination to be only written")
    return scope.values[init]


def _open_loops(
    scope: BufferizationState, op: tile.WhileOp, carried: Sequence[SSAValue]
) -> list[scf.ForOp]:
    """
    Build nested loops, outermost first, and set the insertion point to the innermost
    body.
    """
    loops: list[scf.ForOp] = []
    bounds = zip(*_bound_values(scope, op), op.induction_variables, strict=True)
    for lower, upper, step, variable in bounds:
        body = Block(arg_types=[IndexType(), *(value.type for value in carried)])
        loop = scf.ForOp(lower, upper, step, carried, body)
        if op.stages is not None:
            loop.attributes["stages"] = op.stages
        scope.builder.insert(loop)
        _bind_variable(scope, variable, body.args[0])
        carried = body.args[1:]
        loops.append(loop)
        scope.builder = Builder(InsertPoint.at_end(body))
    return loops


def _bound_values(scope: BufferizationState, op: tile.WhileOp) -> list[list[SSAValue]]:
    """Return the lower bounds, upper bounds and steps as SSA values."""
    bounds = (op.mixed_lower, op.mixed_upper, op.step_values)
    return [
        [scope.to_index_value(scope.convert_index(bound)) for bound in each]
        for each in bounds
    ]


def _wait_for_operands(scope: BufferizationState, op: tile.WhileOp) -> None:
    """Wait for all moves in flight that conflict with a loop."""
    used = dict.fromkeys(
        scope.storages[operand]
        for inner in op.walk()
        for operand in inner.operands
        if operand in scope.storages
    )
    scope.moves.wait(
        scope.builder,
        reads=list(used),
        writes=[scope.storages[init] for init in op.inits if init in scope.storages],
    )
