"""
Cost model of NPU tile programs: computing operations of the IR read as instructions of
its schedule.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from tlf.analysis.buffers.tile_liveness import SharedStorage
from tlf.analysis.operations.banded_matmul import MatmulWork
from tlf.analysis.operations.op_facts import OpFacts
from tlf.analysis.tiling.group_tiling import TEMPORARY_BYTES
from tlf.dialects import tile
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ConstantInterface,
    ContractionInterface,
    ElementwiseInterface,
    MovementInterface,
    ReductionInterface,
    TilingInterface,
    ViewInterface,
    splat_attribute_of,
)
from tlf.dialects.slice_views import is_strided_slice
from tlf.dialects.tile import level_of, with_axis_order
from tlf.dialects.types import is_16_bit_float, scalar_value, tensor_type
from tlf.machine.instruction_costs import Cost, InstructionCosts
from tlf.machine.machine_spec import MatrixEngine
from tlf.planner.cost.program.affine_indices import UnpredictableTimeError
from tlf.planner.cost.program.buffer_views import BufferView, Shape
from tlf.planner.cost.program.indexed_moves import read_gather, read_scatter
from tlf.planner.cost.program.level_copies import copy_view, writable_view_of_operand
from tlf.planner.cost.program.nest_reader import (
    read_parallel_loop,
    read_sequential_loop,
)
from tlf.planner.cost.program.schedule_reader import ScheduleReader
from tlf.planner.cost.program.tile_reader import (
    read_deslice,
    read_empty,
    read_mask,
    read_roll,
    read_slice,
)
from tlf.planner.cost.program.vector_instructions import (
    OUTPUT,
    Name,
    ScalarBody,
    body_of_copy,
)


def read_operation(reader: ScheduleReader, op: Operation) -> None:
    """Append items that model a tile operation to the schedule; bind its results."""
    match op:
        case tile.EmptyOp():
            read_empty(reader, op)
        case tile.FillOp():
            number = scalar_value(op.value)
            view = reader.make_filled_view(tensor_type(op.result), number)
            reader.bind_view(op.result, view, SharedStorage())
        case tile.SliceOp():
            read_slice(reader, op)
        case tile.GatherOp():
            read_gather(reader, op)
        case tile.ScatterOp():
            read_scatter(reader, op)
        case tile.DesliceOp():
            read_deslice(reader, op)
        case tile.MaskOp():
            read_mask(reader, op)
        case tile.RollOp():
            read_roll(reader, op)
        case tile.WhileOp() if op.is_parallel:
            read_parallel_loop(reader, op)
        case tile.WhileOp():
            read_sequential_loop(reader, op)
        case _:
            _read_computation(reader, op)


def _read_computation(reader: ScheduleReader, op: Operation) -> None:
    """
    Add a stored constant, view, movement, elementwise or accumulating operation. Raises
    `UnpredictableTimeError` for others.
    """
    match op:
        case ConstantInterface():
            if op.splat_attribute() is None or level_of(op.results[0].type) is None:
                type_ = tensor_type(op.results[0])
                view = reader.allocate_view(type_)
                reader.bind_view(op.results[0], view, SharedStorage(is_writable=False))
        case ViewInterface():
            _read_view_operation(reader, op)
        case MovementInterface():
            _read_data_movement(reader, op)
        case ElementwiseInterface():
            _read_elementwise(reader, op, ScalarBody.from_operation(op))
        case ReductionInterface() | ContractionInterface():
            _read_accumulation(reader, op)
        case _:
            raise UnpredictableTimeError(op, "expected an operation on tiles")


def _read_view_operation(reader: ScheduleReader, op: ViewInterface) -> None:
    """
    Bind a view of the operand with another shape, copied if no strides describe it.
    """
    source, shape = op.operands[0], tensor_type(op.results[0]).get_shape()
    reader.wait_for_pending_writes(source)
    source_view, storage = reader.view_of(source), reader.storages[source]
    if (view := _reshape_in_place(source_view, shape)) is None:
        copy = reader.allocate_view(with_axis_order(tensor_type(source), ()))
        copy_view(reader, source_view, copy)
        view, storage = copy.reshape(shape) or copy, SharedStorage()
    reader.bind_view(op.results[0], view, storage)


def _reshape_in_place(source_view: BufferView, shape: Shape) -> BufferView | None:
    """
    Return a view of another shape, or `None` if the operand is copied: no strides
    describe the view, or the operand is a part of a buffer that starts at an offset
    which changes from iteration to iteration.
    """
    is_moving_part = source_view.byte_offset.terms and source_view.ring_window is None
    if is_moving_part and shape != source_view.shape:
        return None
    return source_view.reshape(shape)


def _read_data_movement(reader: ScheduleReader, op: MovementInterface) -> None:
    """
    Add a copy in the innermost level. A strided slice of a stored tensor is a view.
    """
    source, type_ = op.operands[0], tensor_type(op.results[0])
    source_view = reader.view_of(source)
    reader.wait_for_pending_writes(source)
    if is_strided_slice(op) and level_of(type_) is None:
        accesses = op.indexing_maps()[0] or ()
        base = source_view.byte_offset
        for access, stride in zip(accesses, source_view.strides, strict=True):
            base += access.offset * stride
        steps = [access.terms[0][1] for access in accesses]
        strides = tuple(
            step * stride
            for step, stride in zip(steps, source_view.strides, strict=True)
        )
        view = BufferView(
            source_view.buffer, type_.get_shape(), strides, source_view.item_bytes, base
        )
        reader.bind_view(op.results[0], view, reader.storages[source])
        return
    _read_elementwise(reader, op, body_of_copy(source, type_.get_shape()))


def _read_elementwise(
    reader: ScheduleReader, op: TilingInterface, body: ScalarBody
) -> None:
    """
    Add the instructions of an elementwise body, in place of an operand if possible.
    """
    inputs = [reader.view_of(value) for value in body.inputs]
    reader.wait_for_pending_writes(*body.inputs)
    output, storage = _reused_or_new_output_view(reader, op, body.inputs)
    replaced = {n for n, each in enumerate(inputs) if each.buffer is output.buffer}
    spare = TEMPORARY_BYTES * prod(body.shape) * max(0, len(body.operations) - 1)
    views: dict[Name, BufferView] = {OUTPUT: output, **dict(enumerate(inputs))}
    for each in body.vector_instructions(replaced):
        cost = reader.costs.cost_of_elementwise(each.element_count, each.is_slow)
        if each.writes not in views:
            views[each.writes] = reader.make_scratch_view(output, each.byte_count)
        reads = [views[name] for name in each.reads]
        step = reader.add_compute(cost, reads, views[each.writes])
        step.temporary_bytes, spare = spare, 0
        step.half_type = (
            tensor_type(op.results[0]).element_type
            if OpFacts(op).is_rounding_cast
            else None
        )
    reader.bind_view(op.results[0], output, storage)


def _reused_or_new_output_view(
    reader: ScheduleReader, op: TilingInterface, inputs: Sequence[SSAValue]
) -> tuple[BufferView, SharedStorage]:
    """
    Return the view of an input of matching type without later uses, or a new buffer.
    """
    result = tensor_type(op.results[0])
    is_elementwise = isinstance(op, ElementwiseInterface)
    for value in inputs:
        operand = tensor_type(value)
        if not is_elementwise or operand.get_shape() != result.get_shape():
            continue
        if operand.element_type != result.element_type:
            continue
        storage = reader.storages[value]
        sharing = {other for other in inputs if reader.storages[other] is storage}
        if sharing == {value} and reader.liveness.try_reuse_dead_storage(storage, op):
            reader.wait_for_conflicts(writes=[storage])
            return reader.places[value], storage
    return reader.allocate_view(result), SharedStorage()


def _read_accumulation(
    reader: ScheduleReader, op: ReductionInterface | ContractionInterface
) -> None:
    """Add a reduction or a product, accumulated onto its initial value."""
    inputs = [reader.view_of(value) for value in op.inputs]
    reader.wait_for_pending_writes(*op.inputs)
    total, storage = _initial_value_view(reader, op)
    if isinstance(op, ContractionInterface):
        step = reader.add_compute(_product_cost(op, reader.costs), inputs, total)
        step.is_product = True
        element = tensor_type(op.operands[0]).element_type
        step.half_type = element if is_16_bit_float(element) else None
    else:
        step = reader.add_compute(_reduction_cost(op, reader.costs), inputs, total)
    if total.is_contiguous:
        step.accumulator = total.buffer
        step.neutral_element = op.neutral_element()
    reader.bind_view(op.results[0], total, storage)


def _initial_value_view(
    reader: ScheduleReader, op: AccumulatingInterface
) -> tuple[BufferView, SharedStorage]:
    """Return the view and the storage of an accumulation's initial value."""
    if op.init_value is None:
        type_ = tensor_type(op.results[0])
        return reader.make_filled_view(type_, op.neutral_element()), SharedStorage()
    constant = splat_attribute_of(op.init_value)
    if constant is not None and op.init_value not in reader.places:
        reader.view_of(op.init_value)
    return writable_view_of_operand(reader, op, op.init_value)


def _product_cost(op: ContractionInterface, costs: InstructionCosts) -> Cost:
    """
    Return the cost of a product of tiles; the roles of its iterators follow from the
    operands that they index.
    """
    facts = OpFacts(op)
    work = MatmulWork.of_iterators(facts.iterator_roles, facts.extents)
    return costs.cost_of_fastest_matmul(*work, kind=_array_rate_name_of(op, costs))


def _array_rate_name_of(op: ContractionInterface, costs: InstructionCosts) -> str:
    """
    Return the name of the array's rate for a product. Raises `UnpredictableTimeError`
    if the array has none.
    """
    unit = costs.machine.engines["matrix"]
    assert isinstance(unit, MatrixEngine)
    element = tensor_type(op.operands[0]).element_type
    is_tf32 = op.precision == "tf32" and element == f32
    kind = "tf32" if is_tf32 and "tf32" in unit.cycles else str(element)
    if kind not in unit.cycles:
        known = ", ".join(unit.cycles)
        raise UnpredictableTimeError(op, f"expected products of {known}, got {kind}")
    return kind


def _reduction_cost(op: ReductionInterface, costs: InstructionCosts) -> Cost:
    """Return the cost of a reduction of a tile."""
    return costs.cost_of_elementwise(_element_count(op))


def _element_count(op: TilingInterface) -> int:
    return prod(each.extent for each in op.iteration_domain())
