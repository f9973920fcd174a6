"""Schedule items of the operations on tiles."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import Operation, SSAValue

from tlf.analysis.buffers.tile_liveness import Storage
from tlf.analysis.operations.form import Form
from tlf.analysis.tiling.model import WIDEST
from tlf.dialects import tile
from tlf.dialects.cuts import is_cut
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ConstantInterface,
    ContractionInterface,
    ElementwiseInterface,
    MovementInterface,
    ReductionInterface,
    TilingInterface,
    ViewInterface,
)
from tlf.dialects.tile import level_of, stored_in
from tlf.dialects.types import is_half, tensor_type
from tlf.planner.cost.program.compute import product_of, reduction_of
from tlf.planner.cost.program.copies import copy, own
from tlf.planner.cost.program.indexed import read_gather, read_scatter
from tlf.planner.cost.program.indices import UnknownTimeError
from tlf.planner.cost.program.loops import read_parallel, read_sequential
from tlf.planner.cost.program.maps import OUTPUT, Body, Name, copy_body, splat_of
from tlf.planner.cost.program.places import Place
from tlf.planner.cost.program.reader import Reader
from tlf.planner.cost.program.tiles import (
    read_deslice,
    read_empty,
    read_mask,
    read_roll,
    read_slice,
)


def read_operation(reader: Reader, op: Operation) -> None:
    """Add what an operation does to the schedule."""
    match op:
        case tile.EmptyOp():
            read_empty(reader, op)
        case tile.FillOp():
            place = reader.filled(tensor_type(op.result))
            reader.bind(op.result, place, Storage())
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
        case tile.WhileOp() if op.parallel:
            read_parallel(reader, op)
        case tile.WhileOp():
            read_sequential(reader, op)
        case _:
            _read_compute(reader, op)


def _read_compute(reader: Reader, op: Operation) -> None:
    match op:
        case ConstantInterface():
            if op.splat() is None or level_of(op.results[0].type) is None:
                type_ = tensor_type(op.results[0])
                place = reader.allocate(type_)
                reader.bind(op.results[0], place, Storage(writable=False))
        case ViewInterface():
            _read_view(reader, op)
        case MovementInterface():
            _read_movement(reader, op)
        case ElementwiseInterface():
            _read_map(reader, op, Body.of(op))
        case ReductionInterface() | ContractionInterface():
            _read_accumulation(reader, op)
        case _:
            raise UnknownTimeError(op, "expected an operation on tiles")


def _read_view(reader: Reader, op: ViewInterface) -> None:
    """The same place under another shape."""
    source, shape = op.operands[0], tensor_type(op.results[0]).get_shape()
    reader.reading(source)
    place, storage = reader.place(source), reader.storages[source]
    if (seen := place.reshaped(shape)) is None:
        made = reader.allocate(stored_in(tensor_type(source), ()))
        copy(reader, place, made)
        seen, storage = made.reshaped(shape) or made, Storage()
    reader.bind(op.results[0], seen, storage)


def _read_movement(reader: Reader, op: MovementInterface) -> None:
    """A copy near the engines. Part of a stored tensor is where it is."""
    source, type_ = op.operands[0], tensor_type(op.results[0])
    place = reader.place(source)
    reader.reading(source)
    if is_cut(op) and level_of(type_) is None:
        accesses = op.operand_accesses()[0] or ()
        base = place.base
        for access, stride in zip(accesses, place.strides, strict=True):
            base += access.offset * stride
        steps = [access.terms[0][1] for access in accesses]
        strides = tuple(
            step * stride for step, stride in zip(steps, place.strides, strict=True)
        )
        seen = Place(place.buffer, type_.get_shape(), strides, place.item, base)
        reader.bind(op.results[0], seen, reader.storages[source])
        return
    _read_map(reader, op, copy_body(source, type_.get_shape()))


def _read_map(reader: Reader, op: TilingInterface, body: Body) -> None:
    """Instructions on elements, in the place of an operand if one ends there."""
    inputs = [reader.place(value) for value in body.inputs]
    reader.reading(*body.inputs)
    output, storage = _output(reader, op, body.inputs)
    replaced = {n for n, each in enumerate(inputs) if each.buffer is output.buffer}
    spare = WIDEST * prod(body.shape) * max(0, len(body.work) - 1)
    places: dict[Name, Place] = {OUTPUT: output, **dict(enumerate(inputs))}
    for each in body.instructions(replaced):
        cost = reader.costs.elementwise(each.elements, each.slow)
        if each.writes not in places:
            places[each.writes] = reader.scratch(output, each.bytes)
        reads = [places[name] for name in each.reads]
        step = reader.compute(cost, reads, places[each.writes])
        step.spare, spare = spare, 0
        step.half = tensor_type(op.results[0]).element_type if Form(op).rounds else None
    reader.bind(op.results[0], output, storage)


def _output(
    reader: Reader, op: TilingInterface, inputs: Sequence[SSAValue]
) -> tuple[Place, Storage]:
    """The place of an input that ends here and fits, or a new one."""
    result = tensor_type(op.results[0])
    identity = isinstance(op, ElementwiseInterface)
    for value in inputs:
        operand = tensor_type(value)
        if not identity or operand.get_shape() != result.get_shape():
            continue
        if operand.element_type != result.element_type:
            continue
        storage = reader.storages[value]
        others = {other for other in inputs if reader.storages[other] is storage}
        if others == {value} and reader.liveness.take_over(storage, op):
            reader.wait(writes=[storage])
            return reader.places[value], storage
    return reader.allocate(result), Storage()


def _read_accumulation(
    reader: Reader, op: ReductionInterface | ContractionInterface
) -> None:
    """A reduction or a product, added to what it starts from."""
    inputs = [reader.place(value) for value in op.inputs]
    reader.reading(*op.inputs)
    total, storage = _start(reader, op)
    if isinstance(op, ContractionInterface):
        step = reader.compute(product_of(op, reader.costs), inputs, total)
        step.product = True
        element = tensor_type(op.operands[0]).element_type
        step.half = element if is_half(element) else None
    else:
        step = reader.compute(reduction_of(op, reader.costs), inputs, total)
    if total.is_contiguous:
        step.sums = total.buffer
    reader.bind(op.results[0], total, storage)


def _start(reader: Reader, op: AccumulatingInterface) -> tuple[Place, Storage]:
    """Return the place and the storage that hold the initial value of a sum."""
    if op.init_value is None:
        return reader.filled(tensor_type(op.results[0])), Storage()
    constant = splat_of(op.init_value)
    if constant is not None and op.init_value not in reader.places:
        reader.place(op.init_value)
    return own(reader, op, op.init_value)
