"""Windows of ring buffers: where they are in every iteration."""

from __future__ import annotations

from math import prod

from xdsl.builder import Builder
from xdsl.dialects.affine import ApplyOp
from xdsl.dialects.builtin import AffineMapAttr, TensorType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from tlf.analysis.buffers.parts import around
from tlf.analysis.buffers.rings import SOURCE, Ring, trip_counts
from tlf.analysis.buffers.tile_liveness import Storage
from tlf.dialects import mem, tile
from tlf.dialects.graph import remark
from tlf.dialects.mem import Index
from tlf.dialects.types import AnyTensor, tensor_type
from tlf.lowering.tile_to_mem.buffers import subview
from tlf.lowering.tile_to_mem.copies import copy, own
from tlf.lowering.tile_to_mem.scope import Scope
from tlf.lowering.tile_to_mem.strided import reshaped_view, seen_as


def make_place(scope: Scope, value: SSAValue) -> tuple[SSAValue, Storage]:
    """
    Return the destination of a new tile: the requested one, or a buffer of its own.
    """
    type_ = tensor_type(value)
    if (place := scope.destinations.get(value)) is not None:
        return place, Storage()
    if (place := _part(scope, value)) is not None:
        return place
    if (ring := scope.rings.nexts.get(value)) is not None:
        scope.moves.wait(scope.builder, writes=[ring.storage])
        ring.following = _behind(scope, ring)
        place = seen_as(scope, ring.following, type_.get_shape())
        assert place is not None
        return place, Storage(around=ring.storage)
    if (ring := scope.rings.inits.get(value)) is not None:
        ring.buffer = scope.allocate(_ring_type(ring))
        ring.first = _start(scope.builder, ring, ring.buffer)
        place = seen_as(scope, ring.first, type_.get_shape())
        assert place is not None
        return place, Storage()
    return scope.allocate(type_), Storage()


def _part(scope: Scope, value: SSAValue) -> tuple[SSAValue, Storage] | None:
    """The part of a tensor that a tile is to be put into, if it can be made there."""
    if (put := scope.parts.get(value)) is None:
        return None
    tensor, shape = around(put), tensor_type(value).get_shape()
    offsets = scope.indices(put.mixed_offsets)
    part = subview(scope.builder, scope.values[tensor], offsets, put.extents)
    if shape == put.extents:
        seen = part
    elif (seen := reshaped_view(scope.builder, part, shape)) is None:
        return None
    scope.made[put] = part
    return seen, Storage(around=scope.storages[tensor].whole)


def open_ring(scope: Scope, ring: Ring) -> None:
    """Let a ring hold the first window of its loop, before the loop starts."""
    init = ring.init
    source = scope.operand(init)
    if ring.first is source and _take_over(scope, ring, scope.storages[init]):
        return
    if ring.slots == ring.extent and not ring.is_handed_on:
        ring.buffer = own(scope, ring.loop, init)[0]
        return
    scope.reading(init)
    ring.buffer = scope.allocate(_ring_type(ring))
    copy(scope, ring.loop, source, _start(scope.builder, ring, ring.buffer))


def _take_over(scope: Scope, ring: Ring, storage: Storage) -> bool:
    inits = [each for each in ring.loop.inits if scope.storages.get(each) is storage]
    if len(inits) != 1 or not scope.liveness.take_over(storage, ring.loop):
        return False
    scope.moves.wait(scope.builder, writes=[storage])
    return True


def carry(scope: Scope, ring: Ring) -> None:
    """Let the window that an iteration starts from be where it is."""
    place = _window(scope, ring, _position(scope, ring, 0), ring.extent)
    scope.bind(ring.loop.carried[ring.number], place, ring.storage)


def roll(scope: Scope, op: tile.RollOp, ring: Ring) -> None:
    """Move a window on, with the slices behind it if they are not there yet."""
    if scope.operand(op.next) is ring.following:
        scope.storages[op.next].writable = False
    else:
        remark(op, SOURCE, "missed", "the next slices of the window are copied")
        scope.reading(op.next)
        scope.moves.wait(scope.builder, writes=[ring.storage])
        copy(scope, op, scope.operand(op.next), _behind(scope, ring))
    place = _window(scope, ring, _position(scope, ring, ring.count), ring.extent)
    scope.bind(op.result, place, ring.storage)


def close_ring(scope: Scope, ring: Ring) -> None:
    """Let the last window be where it is, after the loop."""
    result = ring.loop.results[ring.number]
    if not result.uses:
        return
    trips = [count or 0 for count in trip_counts(ring.loop)]
    place = _window(scope, ring, prod(trips) * ring.count % ring.slots, ring.extent)
    scope.bind(result, place, Storage(writable=False))


def _ring_type(ring: Ring) -> AnyTensor:
    """A tile of all slots of a ring."""
    window = tensor_type(ring.roll.window)
    shape = list(window.get_shape())
    shape[ring.axis] = ring.slots
    return TensorType(window.element_type, shape, window.encoding)


def _start(builder: Builder, ring: Ring, buffer: SSAValue) -> SSAValue:
    """The part of a ring's buffer that the first window is in."""
    shape = tensor_type(ring.init).get_shape()
    return subview(builder, buffer, [0] * len(shape), shape)


def _behind(scope: Scope, ring: Ring) -> SSAValue:
    """The slices behind the window that the iteration starts from."""
    return _window(scope, ring, _position(scope, ring, ring.extent), ring.count)


def _window(scope: Scope, ring: Ring, position: Index, count: int) -> SSAValue:
    """Some slices of a ring."""
    assert ring.buffer is not None
    sizes = list(tensor_type(ring.roll.window).get_shape())
    offsets: list[Index] = [0] * len(sizes)
    offsets[ring.axis], sizes[ring.axis] = position, count
    made = mem.WindowOp(ring.buffer, offsets, sizes, ring.axis)
    return scope.builder.insert(made).result


def _position(scope: Scope, ring: Ring, shift: int) -> Index:
    """
    The slice, not yet modulo the slots, that is `shift` behind the start of the window
    in an iteration: the number of iterations before it, times the slices of each.
    """
    loop = ring.loop
    operands: list[SSAValue] = []
    total: AffineExpr = AffineExpr.constant(shift)

    def expression(index: Index) -> AffineExpr:
        if isinstance(index, int):
            return AffineExpr.constant(index)
        operands.append(index)
        return AffineExpr.dimension(len(operands) - 1)

    slices = ring.count
    nest = zip(
        loop.mixed_lower, loop.step_values, loop.induction_variables, strict=True
    )
    trips = [count or 0 for count in trip_counts(loop)]
    for (lower, step, variable), count in reversed(list(zip(nest, trips, strict=True))):
        behind = expression(scope.index(variable))
        if lower != 0:
            behind = behind - expression(scope.index(lower))
        if slices % step:
            total = behind // step * slices + total
        else:
            total = behind * (slices // step) + total
        slices *= count
    if not operands:
        return shift
    if total == AffineExpr.dimension(0):
        return operands[0]
    map_ = AffineMapAttr(AffineMap(len(operands), 0, (total,)))
    return scope.builder.insert(ApplyOp(operands, map_)).result
