"""
Analysis of rolling windows: those that are stored in ring buffers, and slices computed
in place.

A window that a sequential loop carries and updates by a `tile.roll` is stored in a
buffer of `slots` slices along the rolling axis. In iteration `t`, counted from 0, the
window begins at slice `t * count`, and its next slices follow at `t * count + extent`,
both modulo `slots`. The window therefore moves without copies.

New slices overwrite the slices at `t * count + extent - slots`, which the window drops.
This is safe if nothing reads the window before the roll after the first new slice is
written; otherwise the buffer has `count` additional slots. A loop with `stages` has
`count` additional slots per stage beyond the first, so that the load of new slices may
start `stages - 1` iterations earlier: the move of iteration `t + k` is the same
`mem.dma` with its offsets and the offset of its `mem.window`, affine in the induction
variable, advanced by `k` steps. It waits for the readers of the window of iteration `t
+ k - stages`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue

from tlf.analysis.buffers.tile_liveness import SharedStorage, TileLiveness
from tlf.dialects import tile
from tlf.dialects.collapsing_interface import find_collapsed_axis
from tlf.dialects.graph import add_remark
from tlf.dialects.interfaces import ViewInterface
from tlf.dialects.target import TargetSpec
from tlf.dialects.tile import level_of
from tlf.dialects.types import tensor_type

PASS_NAME = "convert-tile-to-mem"
"""Pass that the remarks are attributed to."""


@dataclass(eq=False)
class RingBuffer:
    """Rolling window that a `tile.while` carries, and the plan of its ring buffer."""

    loop: tile.WhileOp
    carried_index: int
    """Index of the carried value."""
    roll: tile.RollOp
    slot_count: int = 0
    """Number of slices of the buffer along the axis."""
    buffer: SSAValue | None = None
    storage: SharedStorage = field(
        default_factory=lambda: SharedStorage(is_writable=False)
    )
    """Storage of the windows in the buffer."""
    next_value: SSAValue | None = None
    """Value that is computed in place as the next slices, if any."""
    initial_value: SSAValue | None = None
    """Value that is computed in place as the first window, if any."""

    @property
    def rolling_axis(self) -> int:
        return self.roll.axis.value.data

    @property
    def window_extent(self) -> int:
        """Number of slices of the window."""
        return tensor_type(self.roll.window).get_shape()[self.rolling_axis]

    @property
    def new_slices(self) -> int:
        """Number of new slices per iteration."""
        return tensor_type(self.roll.next).get_shape()[self.rolling_axis]

    @property
    def first_window(self) -> SSAValue:
        return self.loop.inits[self.carried_index]

    @property
    def has_outer_yield(self) -> bool:
        """True if an outer loop yields the last window of the ring."""
        users = [use.operation for use in self.loop.results[self.carried_index].uses]
        return any(isinstance(user, tile.YieldOp) for user in users)


@dataclass
class RingBuffers:
    """Index of the ring buffers of a function, by loop, roll and computed value."""

    rings_by_loop: dict[tile.WhileOp, dict[int, RingBuffer]] = field(
        default_factory=dict[tile.WhileOp, dict[int, RingBuffer]]
    )
    """Rings of a loop, by the index of the carried value."""
    rings_by_roll: dict[tile.RollOp, RingBuffer] = field(
        default_factory=dict[tile.RollOp, RingBuffer]
    )
    """Rings by the operation that advances their window."""
    rings_by_next_slices: dict[SSAValue, RingBuffer] = field(
        default_factory=dict[SSAValue, RingBuffer]
    )
    """Rings by the tile that is computed in place as their next slices."""
    rings_by_first_window: dict[SSAValue, RingBuffer] = field(
        default_factory=dict[SSAValue, RingBuffer]
    )
    """Rings by the tile that is computed in place as their first window."""

    def rings_of(self, loop: tile.WhileOp) -> Mapping[int, RingBuffer]:
        """Return the rings of a loop, by the index of the carried value."""
        return self.rings_by_loop.get(loop, {})


def find_ring_buffers(
    function: Operation, target: TargetSpec, liveness: TileLiveness
) -> RingBuffers:
    """
    Find the ring buffers of a function. A remark explains each rolling window that does
    not become a ring.
    """
    rings = RingBuffers()
    for op in function.walk():
        if isinstance(op, tile.RollOp) and _is_window_in_buffer_level(op, target):
            loop = op.parent_op()
            reason = _find_ring_objection(op, loop, target)
            if reason is not None or not isinstance(loop, tile.WhileOp):
                add_remark(op, PASS_NAME, "missed", f"the window is shifted: {reason}")
                continue
            index = list(loop.yield_op.arguments).index(op.result)
            ring = RingBuffer(loop, index, op)
            rings.rings_by_loop.setdefault(loop, {})[index] = ring
            rings.rings_by_roll[op] = ring
    for ring in rings.rings_by_roll.values():
        _set_slots_and_next_slices(rings, ring, liveness)
        _set_first_window(rings, ring, liveness)
    return rings


def _is_window_in_buffer_level(op: tile.RollOp, target: TargetSpec) -> bool:
    name = level_of(op.window.type) or target.outermost_level.name
    level = target.levels.get(name)
    return level is not None and level.kind == "buffer"


def _find_ring_objection(
    op: tile.RollOp, loop: Operation | None, target: TargetSpec
) -> str | None:
    """
    Return the reason why the window of an operation cannot be a ring; None if it can.
    """
    names = list(target.levels)
    position = names.index(level_of(op.window.type) or target.outermost_level.name)
    if position == 0:
        return f"engines work in {names[0]}, and do not wrap"
    inner_level = target.levels[names[position - 1]]
    if inner_level.kind != "buffer":
        return f"nothing moves between it and a buffer in {inner_level.name}"
    if not isinstance(loop, tile.WhileOp) or loop.is_parallel:
        return "no sequential loop carries it"
    yielded = list(loop.yield_op.arguments)
    indices = [i for i, each in enumerate(yielded) if each is op.result]
    if len(indices) != 1 or op.window is not loop.carried_values[indices[0]]:
        return "the loop does not yield the carried window, rolled once"
    if any(trips is None for trips in trip_counts_of_loops(loop)[1:]):
        return "inner loops have bounds that are not constant"
    (index,) = indices
    result = loop.results[index]
    if result.uses and trip_counts_of_loops(loop)[0] is None:
        return "it is used after a loop with bounds that are not constant"
    for value in (loop.carried_values[index], op.result, result):
        if (user := _find_computing_user(value, op)) is not None:
            return f"{user.name} does not only move it"
    return None


def trip_counts_of_loops(loop: tile.WhileOp) -> list[int | None]:
    """
    Return the trip count of every loop of a nest, None for bounds that are not
    constant.
    """
    bounds = zip(
        loop.mixed_lower_bounds, loop.mixed_upper_bounds, loop.step_values, strict=True
    )
    return [
        max(0, -((lower - upper) // step))
        if isinstance(lower, int) and isinstance(upper, int)
        else None
        for lower, upper, step in bounds
    ]


def _find_computing_user(value: SSAValue, roll: tile.RollOp) -> Operation | None:
    """
    Return a user of a window, or of a view of it, that does not only move it; None if
    there is none.
    """
    for use in value.uses:
        user = use.operation
        match user:
            case tile.SliceOp() if user.map is not None:
                return user
            case tile.SliceOp() if is_slice_view(user):
                if user.fill is not None:
                    return user
                if (found := _find_computing_user(user.result, roll)) is not None:
                    return found
            case ViewInterface() if _is_collapsed_view(
                value, user.results[0], roll.axis.value.data
            ):
                if not _is_only_moved(user.results[0]):
                    return user
            case tile.DesliceOp() if user.destination is not value:
                continue
            case tile.RollOp() if user is roll or user.window is not value:
                continue
            case tile.SliceOp() | tile.YieldOp():
                continue
            case _:
                return user
    return None


def _is_collapsed_view(whole: SSAValue, view: SSAValue, axis: int) -> bool:
    """
    Return `True` if `view` is `whole` with two axes collapsed, where `axis` is not the
    second.
    """
    before, after = (tensor_type(each).get_shape() for each in (whole, view))
    first = find_collapsed_axis(before, after)
    return first is not None and first + 1 != axis


def is_slice_view(op: tile.SliceOp) -> bool:
    """Return `True` if a slice stays in its memory level."""
    return level_of(op.result.type) == level_of(op.source.type)


def _set_slots_and_next_slices(
    rings: RingBuffers, ring: RingBuffer, liveness: TileLiveness
) -> None:
    """
    Set the number of slots of a ring, and compute its next slices in place if possible.
    """
    block, next_ = ring.loop.body.block, ring.roll.next
    writer: Operation = ring.roll
    origins = _trace_tiles_built_in_place(next_, block, rings, ring.rolling_axis)
    if origins is not None and origins[0] not in rings.rings_by_next_slices:
        rings.rings_by_next_slices[origins[0]] = ring
        writer = _find_first_writer(origins, ring.roll)
    start = liveness.position[writer]
    window = ring.loop.carried_values[ring.carried_index]
    readers = _window_readers_in_block(window, block, ring.roll)
    is_late = any(liveness.position[each] >= start for each in readers)
    stages = 1 if ring.loop.stages is None else ring.loop.stages.value.data
    ring.slot_count = ring.window_extent + ring.new_slices * (stages - 1 + is_late)


def _find_first_writer(origins: Sequence[SSAValue], roll: tile.RollOp) -> Operation:
    """Return the first operation that may write the value computed in place."""
    writers = [*(origin.owner for origin in origins), roll]
    found = next(each for each in writers if not isinstance(each, tile.EmptyOp))
    assert isinstance(found, Operation)
    return found


def _window_readers_in_block(
    value: SSAValue, block: Block, roll: tile.RollOp
) -> Iterator[Operation]:
    """
    Yield the operations of a block that read a window or a view of it, except its roll.
    """
    for use in value.uses:
        user = use.operation
        if user is roll and use.index == 0:
            continue
        is_view = isinstance(user, tile.SliceOp) and is_slice_view(user)
        if is_view or isinstance(user, ViewInterface):
            yield from _window_readers_in_block(user.results[0], block, roll)
            continue
        ancestor: Operation | None = user
        while ancestor is not None and ancestor.parent is not block:
            ancestor = ancestor.parent_op()
        if ancestor is not None:
            yield ancestor


def _set_first_window(
    rings: RingBuffers, ring: RingBuffer, liveness: TileLiveness
) -> None:
    """
    Compute the first window in place in the ring, if the ring is larger than the
    window.
    """
    init = ring.first_window.owner
    block = init.parent if isinstance(init, Operation) else None
    if ring.slot_count == ring.window_extent or block is None:
        return
    origins = _trace_tiles_built_in_place(
        ring.first_window, block, rings, ring.rolling_axis
    )
    if (
        origins is None
        or origins[0] in rings.rings_by_next_slices
        or origins[0] in rings.rings_by_first_window
    ):
        return
    if all(liveness.is_dead_after(each, ring.loop) for each in origins):
        rings.rings_by_first_window[origins[0]] = ring


def _trace_tiles_built_in_place(
    value: SSAValue, block: Block, rings: RingBuffers, axis: int
) -> list[SSAValue] | None:
    """
    Return the chain of tiles from which a tile is built in place, in one block and by
    moves only: first the new tile, last the tile itself, possibly with axes collapsed
    with the axis of a ring. None if there is none.
    """
    chain: list[SSAValue] = []
    while True:
        chain.insert(0, value)
        op = value.owner
        if not isinstance(op, Operation) or op.parent is not block:
            return None
        if not _is_only_moved(value):
            return None
        match op:
            case tile.EmptyOp():
                return chain
            case tile.SliceOp() if not is_slice_view(op):
                return chain
            case tile.DesliceOp():
                value = op.destination
            case ViewInterface() if _is_collapsed_view(value, op.operands[0], axis):
                value = op.operands[0]
            case tile.WhileOp():
                index = list[SSAValue](op.results).index(value)
                if index in rings.rings_of(op):
                    return None
                value = op.inits[index]
            case _:
                return None


def _is_only_moved(value: SSAValue) -> bool:
    """Return `True` if all uses of a tile move it, move into it, or yield it."""
    return all(_has_move_use(value, use.operation) for use in value.uses)


def _has_move_use(value: SSAValue, user: Operation) -> bool:
    """
    Return `True` if `user` only moves `value`, moves into it or yields it, also through
    views and as carried value of a loop.
    """
    match user:
        case tile.SliceOp() if user.map is not None:
            return False
        case tile.SliceOp() if is_slice_view(user):
            return user.fill is None and _is_only_moved(user.result)
        case tile.WhileOp():
            return all(
                _is_only_moved(argument)
                for init, argument in zip(user.inits, user.carried_values, strict=True)
                if init is value
            )
        case ViewInterface():
            return _is_only_moved(user.results[0])
        case tile.DesliceOp() if user.destination is value:
            return _is_only_moved(user.result)
        case _:
            moves = (tile.SliceOp, tile.DesliceOp, tile.RollOp, tile.YieldOp)
            return isinstance(user, moves)
