"""
Lowering of a function from tiles to `mem`: its signature, then its operations in order.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    TensorType,
    UnknownLoc,
    i64,
)
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.analysis.buffers.destination_origin import (
    destination_origin_of,
    empty_origin_of,
    overwritten_operand_of,
)
from tlf.analysis.buffers.tile_liveness import SharedStorage
from tlf.dialects import graph, tile
from tlf.dialects.function_calls import Functions, callee_name
from tlf.dialects.graph.in_place_attribute import in_place_operands_of
from tlf.dialects.interfaces import (
    ConstantInterface,
    ContractionInterface,
    DelinearizedReadInterface,
    ElementwiseInterface,
    IndexedReadInterface,
    MovementInterface,
    ReductionInterface,
    ScanInterface,
    ViewInterface,
)
from tlf.dialects.physical_axes_attribute import get_result_axes, set_argument_axes
from tlf.dialects.target import TargetSpec
from tlf.dialects.types import AnyTensor, scalar_value, tensor_type
from tlf.dialects.weight_preparation_attributes import RESULTS
from tlf.lowering.tile_to_mem import (
    compute_conversion,
    indexed_conversion,
    loop_conversion,
    tile_conversion,
)
from tlf.lowering.tile_to_mem.buffer_builders import (
    PendingMoves,
    buffer_type_in_level,
    reshape_contiguous_buffer,
)
from tlf.lowering.tile_to_mem.bufferization_error import BufferizationError
from tlf.lowering.tile_to_mem.bufferization_state import BufferizationState
from tlf.lowering.tile_to_mem.constant_globals import ConstantGlobals
from tlf.lowering.tile_to_mem.ring_windows import resolve_tile_destination
from tlf.lowering.tile_to_mem.structured_compute import structured_map_of_elementwise


class FunctionConverter:
    """
    Converter of a function: tiles become buffers, or values in target-managed levels.
    """

    def __init__(
        self,
        function: func.FuncOp,
        target: TargetSpec,
        constants: ConstantGlobals,
        functions: Functions,
        overwritten: Collection[int | None] = (),
    ) -> None:
        self.function = function
        self.overwritten = overwritten
        """Indices of the arguments whose buffers results overwrite."""
        self.functions = functions
        self.scope = BufferizationState(function, target, constants)

    def convert_function(self) -> None:
        """
        Replace the function's body and type in place by bufferized ones without
        results.
        """
        if len(self.function.body.blocks) != 1:
            raise BufferizationError(
                self.function,
                f"expected one block, got {len(self.function.body.blocks)}",
            )
        for op in self.function.body.block.walk():
            check_is_bufferizable(op)
        old, new = self.function.body.block, Block()
        scope = self.scope
        for argument in old.args:
            self._convert_argument(new, argument)
        results = self._add_result_arguments(old, new)
        self._convert_block_operations(old, new)
        scope.moves.wait_for_all_moves(scope.builder)
        scope.builder.insert(func.ReturnOp())
        self.function.body.detach_block(old)
        for op in reversed(list(old.ops)):
            op.drop_all_references()
        self.function.body.add_block(new)
        self._replace_signature(new, results)

    def _replace_signature(self, new_block: Block, results: int) -> None:
        """Set the type and the attributes of a function whose results are arguments."""
        function, inputs = self.function, [each.type for each in new_block.args]
        no_attributes = [DictionaryAttr({})] * results
        if function.arg_attrs is not None:
            function.arg_attrs = ArrayAttr([*function.arg_attrs, *no_attributes])
        first = len(inputs) - results
        axes = {
            first + index: order
            for index, order in enumerate(get_result_axes(function))
            if order is not None
        }
        function.function_type = FunctionType.from_lists(inputs, [])
        set_argument_axes(function, axes)
        function.properties.pop("res_attrs", None)
        function.attributes[RESULTS] = IntegerAttr(results, i64)

    def _convert_argument(self, new_block: Block, argument: SSAValue) -> None:
        """Add an argument to `new_block`; tensors become read-only buffers."""
        type_ = argument.type
        if isinstance(type_, TensorType):
            outermost = self.scope.target.outermost_level.name
            type_ = buffer_type_in_level(cast(AnyTensor, type_), outermost)
        buffer = new_block.insert_arg(type_, len(new_block.args))
        storage = SharedStorage(False, is_destination=buffer.index in self.overwritten)
        self.scope.bind_lowered_value(argument, buffer, storage)

    def _add_result_arguments(self, old_block: Block, new_block: Block) -> int:
        """
        Append a destination argument to `new_block` per returned tensor that overwrites
        no other one; return their number.
        """
        returned = old_block.last_op
        if not isinstance(returned, func.ReturnOp):
            raise BufferizationError(self.function, "expected one block that returns")
        self.scope.builder = Builder(InsertPoint.at_end(new_block))
        added = 0
        for index, value in enumerate(returned.arguments):
            if self._is_overwritten(destination_origin_of(value)):
                continue
            if not isinstance(value.type, TensorType):
                raise BufferizationError(
                    returned, f"expected to return tensors, got {value.type}"
                )
            type_ = buffer_type_in_level(
                tensor_type(value), self.scope.target.outermost_level.name
            )
            buffer = new_block.insert_arg(type_, len(new_block.args))
            buffer.name_hint = value.name_hint or f"result{index}"
            self._assign_result_argument(returned, value, buffer)
            added += 1
        return added

    def _is_overwritten(self, value: SSAValue) -> bool:
        """Return `True` if a value is an argument that results overwrite."""
        return isinstance(value, BlockArgument) and value.index in self.overwritten

    def _assign_result_argument(
        self, op: Operation, value: SSAValue, result_argument: SSAValue
    ) -> None:
        """
        Make a result argument the destination of the `tile.empty` that a returned value
        originates from.
        """
        if (origin := empty_origin_of(value)) is None:
            raise BufferizationError(
                op, "expected a returned value that tiles are inserted into"
            )
        if origin in self.scope.destinations:
            raise BufferizationError(op, "expected every value to be returned once")
        shape = tensor_type(origin).get_shape()
        self.scope.destinations[origin] = reshape_contiguous_buffer(
            self.scope.builder, result_argument, shape
        )

    def _convert_loop_body(self, old_block: Block, new_block: Block) -> None:
        """
        Build the converted loop body in `new_block`, with waits for all its moves at
        its end.
        """
        scope = self.scope
        builder, moves = scope.builder, scope.moves
        scope.moves = PendingMoves()
        self._convert_block_operations(old_block, new_block)
        scope.moves.wait_for_all_moves(scope.builder)
        scope.builder, scope.moves = builder, moves

    def _convert_block_operations(self, old_block: Block, new_block: Block) -> None:
        """
        Build the converted operations of `old_block` but its terminator in `new_block`.
        """
        self.scope.builder = Builder(InsertPoint.at_end(new_block))
        for op in old_block.ops:
            if op is old_block.last_op:
                return
            last = new_block.last_op
            self._convert_operation(op)
            _propagate_location(
                op, new_block.first_op if last is None else last.next_op
            )

    def _convert_operation(self, op: Operation) -> None:
        """Lower a `tile` operation to `mem`; lower others as compute operations."""
        scope = self.scope
        match op:
            case tile.EmptyOp():
                tile_conversion.convert_empty_tile(scope, op)
            case tile.FillOp():
                scope.bind_filled_tile(op.result, scalar_value(op.value))
            case tile.SliceOp():
                tile_conversion.convert_slice(scope, op)
            case tile.GatherOp():
                indexed_conversion.convert_gather(scope, op)
            case tile.Im2colOp():
                indexed_conversion.convert_im2col(scope, op)
            case tile.ScatterOp():
                indexed_conversion.convert_scatter(scope, op)
            case tile.ArgsortOp():
                tile_conversion.convert_argsort(scope, op)
            case tile.DesliceOp():
                tile_conversion.convert_deslice(scope, op)
            case tile.MaskOp():
                tile_conversion.convert_mask(scope, op)
            case tile.RollOp():
                tile_conversion.convert_roll(scope, op)
            case tile.WhileOp() if op.is_parallel:
                loop_conversion.convert_parallel_nest(
                    scope, op, self._convert_loop_body
                )
            case tile.WhileOp():
                loop_conversion.convert_sequential_nest(
                    scope, op, self._convert_loop_body
                )
            case func.CallOp():
                self._convert_call(op)
            case _:
                self._convert_compute_operation(op)

    def _convert_call(self, op: func.CallOp) -> None:
        """
        Let a function write its results into buffers of the caller. It is converted at
        its first call.
        """
        scope, callee = self.scope, self.functions.get(callee_name(op))
        if callee is None or len(callee.body.blocks) != 1:
            raise BufferizationError(op, _unsupported_operation_message(op))
        if RESULTS not in callee.attributes:
            self._convert_callee(callee, in_place_operands_of(op))
        buffers = [scope.lowered_operand_of(each) for each in op.arguments]
        scope.wait_for_writes_in_flight(*op.arguments)
        for result in op.results:
            if (overwritten := overwritten_operand_of(op, result)) is not None:
                self._check_is_overwritable(op, overwritten)
                destination, storage = scope.values[overwritten], SharedStorage()
            else:
                destination, storage = resolve_tile_destination(scope, result)
                buffers.append(destination)
            scope.bind_lowered_value(result, destination, storage)
        scope.builder.insert(func.CallOp(op.callee, buffers, []))

    def _convert_callee(
        self, callee: func.FuncOp, overwritten: Collection[int | None]
    ) -> None:
        """Convert a function, which calls neither itself nor its callers."""
        others = {n: f for n, f in self.functions.items() if f is not callee}
        FunctionConverter(
            callee, self.scope.target, self.scope.constants, others, overwritten
        ).convert_function()

    def _check_is_overwritable(self, call: func.CallOp, value: SSAValue) -> None:
        """Raise `BufferizationError` if a call may not overwrite an operand."""
        storage, liveness = self.scope.storages[value], self.scope.liveness
        if not storage.is_writable or not all(
            liveness.is_dead_after(each, call) for each in storage.values
        ):
            message = "expected overwritten operands that are not used after the call"
            raise BufferizationError(call, message)

    def _convert_compute_operation(self, op: Operation) -> None:
        """Lower an operation by the interface that it implements, or clone it."""
        scope = self.scope
        match op:
            case ConstantInterface():
                tile_conversion.convert_constant(scope, op)
            case ViewInterface():
                compute_conversion.convert_view_to_reshape(scope, op)
            case MovementInterface():
                compute_conversion.convert_movement(scope, op)
            case ElementwiseInterface():
                compute_conversion.convert_map(
                    scope, op, structured_map_of_elementwise(op)
                )
            case ReductionInterface() | ContractionInterface():
                compute_conversion.convert_accumulation(scope, op)
            case ScanInterface():
                compute_conversion.convert_scan(scope, op)
            case _:
                self._clone_operation(op)

    def _clone_operation(self, op: Operation) -> None:
        """
        Insert a copy of an operation without tensors, and map its results to the
        copy's.
        """
        copy = op.clone(self.scope.values)
        self.scope.builder.insert(copy)
        for old, new in zip(op.results, copy.results, strict=True):
            self.scope.values[old] = new


COMPUTE_INTERFACES = (
    ConstantInterface,
    ContractionInterface,
    ElementwiseInterface,
    MovementInterface,
    ReductionInterface,
    ScanInterface,
)
TILE_OPERATIONS = (
    tile.ArgsortOp,
    tile.DesliceOp,
    tile.EmptyOp,
    tile.FillOp,
    tile.GatherOp,
    tile.Im2colOp,
    tile.MaskOp,
    tile.RollOp,
    tile.ScatterOp,
    tile.SliceOp,
    tile.WhileOp,
    tile.YieldOp,
)


def check_is_bufferizable(op: Operation) -> None:
    """Raise `BufferizationError` for an unsupported operation with tensors."""
    if _is_bufferizable_kind(type(op)):
        return
    if any(isinstance(v.type, TensorType) for v in (*op.operands, *op.results)):
        raise BufferizationError(op, _unsupported_operation_message(op))


@lru_cache
def _is_bufferizable_kind(kind: type[Operation]) -> bool:
    """Return `True` if all operations of a class are supported, also with tensors."""
    if issubclass(kind, IndexedReadInterface | DelinearizedReadInterface):
        return False
    others = func.CallOp, func.ReturnOp
    return issubclass(kind, (*COMPUTE_INTERFACES, *TILE_OPERATIONS, *others))


def _unsupported_operation_message(op: Operation) -> str:
    """Return the error text for an operation on tensors, with passes to run first."""
    if isinstance(op, func.CallOp):
        return (
            "expected a function with a body of one block, which `tlf-inline` inlines"
        )
    if op.dialect_name() == graph.Graph.name:
        return (
            "expected an operation on tiles: run `graph-decompose`, `graph-group` and "
            "`convert-graph-to-tile` first"
        )
    return f"expected an operation on tiles, got one of the dialect {op.dialect_name()}"


def _propagate_location(source: Operation, first_new_op: Operation | None) -> None:
    """
    Copy the location of `source` to `first_new_op` and to all operations after it.
    """
    while first_new_op is not None:
        for inner in first_new_op.walk() if first_new_op.regions else (first_new_op,):
            if isinstance(inner.location, UnknownLoc):
                inner.location = source.location
        first_new_op = first_new_op.next_op
