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
    bind_final_window,
    store_first_window_in_ring,
)

ConvertBlock = Callable[[Block, Block], None]
"""Callback that converts a block's operations and appends them to another block."""


def convert_parallel_nest(
    state: BufferizationState, op: tile.WhileOp, convert_body: ConvertBlock
) -> None:
    """Convert a parallel nest that writes its destinations in place."""
    for init in op.inits:
        state.lowered_operand_of(init)
        _check_is_written_in_place(state, op, init)
    _wait_for_moves_conflicting_with_loop(state, op)
    for init, argument in zip(op.inits, op.carried_values, strict=True):
        destination = SharedStorage(is_writable=False, is_destination=True)
        state.bind_lowered_value(argument, state.values[init], destination)
    outer = state.builder.insertion_point.block
    body = _build_parallel_nest(state, op, outer)
    convert_body(op.body.block, body)
    if body is not outer:
        body.add_op(scf.ReduceOp())
    for init, result in zip(op.inits, op.results, strict=True):
        enclosing = state.storages[init].enclosing_storage
        state.bind_lowered_value(
            result, state.values[init], SharedStorage(enclosing_storage=enclosing)
        )


def _build_parallel_nest(
    state: BufferizationState, op: tile.WhileOp, outer_block: Block
) -> Block:
    """Build the loops of a parallel nest, and return the block of its body."""
    if not op.step_values and not op.mapping.data.is_grid:
        return outer_block
    lower, upper, steps = _loop_bounds_as_ssa_values(state, op)
    if not lower:
        lower, upper, steps = ([state.to_ssa_index(bound)] for bound in (0, 1, 1))
    body = Block(arg_types=[IndexType()] * len(lower))
    loop = scf.ParallelOp(lower, upper, steps, Region(body))
    loop.attributes["mapping"] = StringAttr(str(op.mapping.data))
    if op.order is not None:
        loop.attributes["order"] = op.order
    if op.stages is not None:
        loop.attributes["stages"] = op.stages
    if op.warps is not None:
        loop.attributes["warps"] = op.warps
    if op.unroll is not None:
        loop.attributes["unroll"] = op.unroll
    state.builder.insert(loop)
    for old, new in zip(op.induction_variables, body.args, strict=False):
        _bind_induction_variable(state, old, new)
    return body


def _bind_induction_variable(
    state: BufferizationState, old_variable: SSAValue, new_variable: SSAValue
) -> None:
    new_variable.name_hint = old_variable.name_hint
    state.values[old_variable] = new_variable


def _check_is_written_in_place(
    state: BufferizationState, op: tile.WhileOp, init: SSAValue
) -> None:
    """Raise `BufferizationError` unless a loop can write its destination in place."""
    if state.is_lowered_to_value(init.type):
        raise BufferizationError(op, "cannot insert tiles into a tile of registers")
    storage = state.storages[init]
    if not storage.is_writable and not storage.is_destination:
        raise BufferizationError(
            op, "expected a writable destination: arguments are read-only"
        )
    users = [
        user
        for value in storage.values
        for user in state.liveness.later_users(value, op)
    ]
    if not all(op.is_ancestor(user) for user in users):
        raise BufferizationError(
            op, "expected a destination that is not used after the loop"
        )
    if not all(_is_read_of_own_tile(op, user) for user in users):
        raise BufferizationError(
            op, "expected an iteration to read only its own tile of the destination"
        )


def _is_read_of_own_tile(loop: tile.WhileOp, reader: Operation) -> bool:
    """
    Return `True` if an operation in a loop reads only the tile of the destination that
    the same iteration writes.
    """
    block = reader.parent
    if not isinstance(reader, tile.SliceOp) or block is None:
        return False
    parent = reader.parent_op()
    while parent is not loop:
        if not isinstance(parent, tile.WhileOp) or not parent.is_parallel:
            return False
        parent = parent.parent_op()
    shape = tensor_type(reader.result).get_shape()
    return any(
        isinstance(other, tile.DesliceOp)
        and other.mixed_offsets == reader.mixed_offsets
        and tensor_type(other.source).get_shape() == shape
        for other in block.ops
    )


def convert_sequential_nest(
    state: BufferizationState, op: tile.WhileOp, convert_body: ConvertBlock
) -> None:
    """Convert a sequential nest; carried tiles are values or separate buffers."""
    if any(state.is_lowered_to_value(init.type) for init in op.inits):
        _convert_nest_carrying_values(state, op, convert_body)
    else:
        _convert_nest_carrying_buffers(state, op, convert_body)


def _convert_nest_carrying_values(
    state: BufferizationState, op: tile.WhileOp, convert_body: ConvertBlock
) -> None:
    """
    Convert a sequential nest to `scf.for` loops that carry tiles as SSA values, and
    write destinations in place.
    """
    _wait_for_moves_conflicting_with_loop(state, op)
    values, destinations = list[int](), list[int]()
    for index, init in enumerate(op.inits):
        is_value = state.is_lowered_to_value(init.type)
        (values if is_value else destinations).append(index)
    carried = [state.lowered_operand_of(op.inits[index]) for index in values]
    outer = state.builder
    loops = _build_nested_loops(state, op, carried)
    innermost = loops[-1].body.block
    for index, value in zip(values, innermost.args[1:], strict=True):
        state.bind_lowered_value(op.carried_values[index], value, SharedStorage())
    for index in destinations:
        _bind_destination_of_nest(state, op, index)
    convert_body(op.body.block, innermost)
    results: Sequence[SSAValue] = [
        state.lowered_operand_of(op.yield_op.arguments[index]) for index in values
    ]
    for loop in reversed(loops):
        loop.body.block.add_op(scf.YieldOp(*results))
        results = loop.results
    state.builder = outer
    for index, value in zip(values, results, strict=True):
        state.bind_lowered_value(op.results[index], value, SharedStorage())


def _bind_destination_of_nest(
    state: BufferizationState, op: tile.WhileOp, carried_index: int
) -> None:
    """
    Bind a carried value and its final value to the destination that the nest writes in
    place. Raises `BufferizationError` for another buffer.
    """
    init = op.inits[carried_index]
    state.lowered_operand_of(init)
    if not state.storages[init].is_destination or not op.is_only_written(carried_index):
        raise BufferizationError(op, "expected carried values in one memory level")
    buffer = state.values[init]
    state.bind_lowered_value(
        op.carried_values[carried_index],
        buffer,
        SharedStorage(is_writable=False, is_destination=True),
    )
    enclosing = state.storages[init].enclosing_storage
    state.bind_lowered_value(
        op.results[carried_index], buffer, SharedStorage(enclosing_storage=enclosing)
    )


def _convert_nest_carrying_buffers(
    state: BufferizationState, op: tile.WhileOp, convert_body: ConvertBlock
) -> None:
    """Convert a sequential nest to `scf.for` loops that carry tiles in buffers."""
    rings = state.rings.rings_of(op)
    for ring in rings.values():
        store_first_window_in_ring(state, ring)
    buffers = {
        index: _buffer_of_carried_value(state, op, index)
        for index in range(len(op.inits))
        if index not in rings
    }
    _wait_for_moves_conflicting_with_loop(state, op)
    outer = state.builder
    loops = _build_nested_loops(state, op, [])
    for index, buffer in buffers.items():
        is_destination = op.is_only_written(index)
        storage = SharedStorage(
            is_writable=not is_destination, is_destination=is_destination
        )
        state.bind_lowered_value(op.carried_values[index], buffer, storage)
    for ring in rings.values():
        bind_carried_window(state, ring)
    innermost = state.builder.insertion_point.block
    convert_body(op.body.block, innermost)
    state.builder = Builder(InsertPoint.at_end(innermost))
    for index, buffer in buffers.items():
        copy_buffer(
            state, op, state.lowered_operand_of(op.yield_op.arguments[index]), buffer
        )
    for loop in reversed(loops):
        loop.body.block.add_op(scf.YieldOp())
    state.builder = outer
    for index, buffer in buffers.items():
        enclosing = state.storages[op.inits[index]].enclosing_storage
        state.bind_lowered_value(
            op.results[index], buffer, SharedStorage(enclosing_storage=enclosing)
        )
    for ring in rings.values():
        bind_final_window(state, ring)


def _buffer_of_carried_value(
    state: BufferizationState, op: tile.WhileOp, carried_index: int
) -> SSAValue:
    """
    Return the buffer of a carried value: a writable buffer, or the destination that the
    loop assembles.
    """
    init = op.inits[carried_index]
    state.lowered_operand_of(init)
    if not state.storages[init].is_destination:
        return acquire_writable_buffer(state, op, init)[0]
    if not op.is_only_written(carried_index):
        raise BufferizationError(op, "expected a destination to be only written")
    return state.values[init]


def _build_nested_loops(
    state: BufferizationState, op: tile.WhileOp, carried: Sequence[SSAValue]
) -> list[scf.ForOp]:
    """
    Build nested loops, outermost first, and set the insertion point to the innermost
    body.
    """
    loops: list[scf.ForOp] = []
    bounds = zip(
        *_loop_bounds_as_ssa_values(state, op), op.induction_variables, strict=True
    )
    for lower, upper, step, variable in bounds:
        body = Block(arg_types=[IndexType(), *(value.type for value in carried)])
        loop = scf.ForOp(lower, upper, step, carried, body)
        if op.stages is not None:
            loop.attributes["stages"] = op.stages
        state.builder.insert(loop)
        _bind_induction_variable(state, variable, body.args[0])
        carried = body.args[1:]
        loops.append(loop)
        state.builder = Builder(InsertPoint.at_end(body))
    return loops


def _loop_bounds_as_ssa_values(
    state: BufferizationState, op: tile.WhileOp
) -> list[list[SSAValue]]:
    """Return the lower bounds, upper bounds and steps as SSA values."""
    bounds = (op.mixed_lower_bounds, op.mixed_upper_bounds, op.step_values)
    return [
        [state.to_ssa_index(state.convert_index_operand(bound)) for bound in each]
        for each in bounds
    ]


def _wait_for_moves_conflicting_with_loop(
    state: BufferizationState, op: tile.WhileOp
) -> None:
    """
    Build waits for the pending moves that conflict with reads or writes of a loop.
    """
    used = dict.fromkeys(
        state.storages[operand]
        for inner in op.walk()
        for operand in inner.operands
        if operand in state.storages
    )
    state.moves.wait_for_conflicting_moves(
        state.builder,
        reads=list(used),
        writes=[state.storages[init] for init in op.inits if init in state.storages],
    )
