"""Operations on tiles as structured compute on buffers and values."""

from __future__ import annotations

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap

from tlf.analysis.buffers.tile_liveness import Storage
from tlf.dialects import mem, tile
from tlf.dialects.cuts import is_cut, row_major
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ContractionInterface,
    MovementInterface,
    ReductionInterface,
    TilingInterface,
    ViewInterface,
)
from tlf.dialects.tile import level_of, stored_in
from tlf.dialects.types import scalar_attribute, scalar_value, tensor_type
from tlf.lowering.tile_to_mem.buffers import (
    is_contiguous,
    reshaped,
    restrided,
)
from tlf.lowering.tile_to_mem.compute import (
    Map,
    accumulation,
    element_strides,
    first_element,
    is_plain,
    movement_map,
)
from tlf.lowering.tile_to_mem.copies import copy, own
from tlf.lowering.tile_to_mem.errors import BufferizationError
from tlf.lowering.tile_to_mem.scope import Scope
from tlf.lowering.tile_to_mem.strided import cut_view, seen_as


def convert_view(scope: Scope, op: ViewInterface) -> None:
    """The same buffer under another shape."""
    source = op.operands[0]
    if scope.is_value(source.type):
        convert_map(scope, op, movement_map(op))
        return
    scope.reading(source)
    place, storage = scope.operand(source), scope.storages[source]
    if (part := _part(scope, op)) is not None:
        scope.bind(op.results[0], part, storage)
        return
    shape = tensor_type(op.results[0]).get_shape()
    if not is_contiguous(place):
        if (seen := _reshaped_part(scope, op, place)) is not None:
            scope.bind(op.results[0], seen, storage)
            return
        place = scope.allocate(stored_in(tensor_type(source), ()))
        copy(scope, op, scope.operand(source), place)
        storage = Storage()
    scope.bind(op.results[0], reshaped(scope.builder, place, shape), storage)


def _part(scope: Scope, op: ViewInterface) -> SSAValue | None:
    """The part of a tensor that a view's operand was made in, and its result is."""
    for use in op.results[0].uses:
        if isinstance(use.operation, tile.DesliceOp) and use.operation in scope.made:
            return scope.made[use.operation]
    return None


def _reshaped_part(scope: Scope, op: ViewInterface, place: SSAValue) -> SSAValue | None:
    """Part of a tensor under another shape, where strides reach it."""
    nearest = next(iter(scope.target.levels))
    if level_of(op.results[0].type) == nearest:
        return None
    return seen_as(scope, place, tensor_type(op.results[0]).get_shape())


def convert_movement(scope: Scope, op: MovementInterface) -> None:
    """
    A map that copies; on buffers, of a strided view where elements are skipped or lie
    in windows. Part of a stored tensor is where it is.
    """
    if is_cut(op) and level_of(op.results[0].type) is None:
        source = op.operands[0]
        scope.reading(source)
        part = cut_view(scope.builder, scope.operand(source), op)
        scope.bind(op.results[0], part, scope.storages[source])
        return
    if is_plain(op) or scope.is_value(op.results[0].type):
        convert_map(scope, op, movement_map(op))
        return
    source, result = op.operands[0], tensor_type(op.results[0])
    scope.reading(source)
    place = scope.operand(source)
    if not is_contiguous(place):
        place = scope.allocate(stored_in(tensor_type(source), ()))
        copy(scope, op, scope.operand(source), place)
    shape = tensor_type(source).get_shape()
    if (strides := element_strides(op, row_major(shape))) is None:
        raise BufferizationError(op, "cannot move elements that repeat along an axis")
    first = first_element(op, row_major(shape))
    seen = restrided(scope.builder, place, result.get_shape(), strides, first)
    target = scope.allocate(result)
    copy(scope, op, seen, target)
    scope.bind(op.results[0], target, Storage())


def convert_map(scope: Scope, op: TilingInterface, map_: Map) -> None:
    """An elementwise operation or a movement."""
    inputs = [scope.operand(value) for value in map_.inputs]
    result = op.results[0]
    scope.reading(*map_.inputs)
    if scope.is_value(result.type):
        made = mem.MapOp(inputs, [], map_.domain, map_.maps, map_.body, [result.type])
        scope.bind(result, scope.builder.insert(made).results[0], Storage())
        return
    place, storage = _map_output(scope, op, map_)
    scope.builder.insert(mem.MapOp(inputs, [place], map_.domain, map_.maps, map_.body))
    scope.bind(result, place, storage)


def _map_output(
    scope: Scope, op: TilingInterface, map_: Map
) -> tuple[SSAValue, Storage]:
    """The buffer of an input that ends here and fits, or a new one."""
    result = tensor_type(op.results[0])
    identity = AffineMap.identity(len(map_.domain))
    for value, indexing in zip(map_.inputs, map_.maps, strict=False):
        operand = tensor_type(value)
        fits = operand.get_shape() == result.get_shape() and (
            operand.element_type == result.element_type
        )
        if not fits or indexing != identity:
            continue
        storage = scope.storages[value]
        others = {other for other in map_.inputs if scope.storages[other] is storage}
        if others == {value} and scope.liveness.take_over(storage, op):
            scope.moves.wait(scope.builder, writes=[storage])
            return scope.values[value], storage
    return scope.allocate(result), Storage()


def convert_accumulation(
    scope: Scope, op: ReductionInterface | ContractionInterface
) -> None:
    """A reduction or contraction, into what it starts from."""
    result = tensor_type(op.results[0])
    if result.element_type != op.accumulator_type:
        raise BufferizationError(
            op,
            f"expected a result of {op.accumulator_type}, the type it accumulates in, "
            f"got {result.element_type}: run `graph-decompose`",
        )
    compute = accumulation(op)
    inputs = [scope.operand(value) for value in op.inputs]
    scope.reading(*op.inputs)
    total, storage = _start(scope, op)
    if not scope.is_value(result):
        seen = reshaped(scope.builder, total, compute.output_shape)
        scope.builder.insert(compute.build(inputs, seen))
        scope.bind(op.results[0], total, storage)
        return
    if compute.output_shape != result.get_shape():
        raise BufferizationError(op, "cannot split an axis of a tile of registers")
    made = scope.builder.insert(compute.build(inputs, total))
    scope.bind(op.results[0], made.results[0], Storage())


def _start(scope: Scope, op: AccumulatingInterface) -> tuple[SSAValue, Storage]:
    """
    Return the initial value that the result is accumulated on in place, and its
    storage.
    """
    result = tensor_type(op.results[0])
    if op.init_value is None:
        neutral = scalar_attribute(op.neutral(), result.element_type)
        return scope.filled(result, scalar_value(neutral)), Storage()
    if scope.is_value(result):
        return scope.operand(op.init_value), Storage()
    place, storage = own(scope, op, op.init_value)
    if not is_contiguous(place):
        raise BufferizationError(op, "expected to accumulate on a tile of its own")
    return place, storage
