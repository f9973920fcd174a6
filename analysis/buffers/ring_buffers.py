"""
Ring buffers for rolling windows, and the slices that are computed in place.

A window that a sequential loop carries, and of which it yields a `tile.roll`, lies in a
buffer of `slots` slices along the axis that rolls. Iteration `t`, counted from 0, finds
it at slice `t * count`, and its next slices come behind it, at `t * count + extent`,
both modulo `slots`. So nothing moves when the window does.

New slices overwrite those at `t * count + extent - slots`, which the window drops. That
is after its last use if nothing reads the window before the roll once the first new
slice is on its way; otherwise there are `count` more slots. A loop with `stages` has
`count` more for every stage beyond the first, so that the load of new slices may be
started as many iterations earlier: the move of iteration `t + k` is the same `mem.dma`,
its offsets and that of its `mem.window`, affine in the counter of the loop, taken `k`
steps later. It waits for the readers of the window of iteration `t + k - stages`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue

from tlf.analysis.buffers.tile_liveness import SharedStorage, TileLiveness
from tlf.dialects import tile
from tlf.dialects.collapsing_interface import collapsed_axis
from tlf.dialects.graph import add_remark
from tlf.dialects.interfaces import ViewInterface
from tlf.dialects.target import TargetSpec
from tlf.dialects.tile import level_of
from tlf.dialects.types import tensor_type

PASS_NAME = "convert-tile-to-mem"
"""The pass that remarks are of."""


@dataclass(eq=False)
class RingBuffer:
    """A window that a loop carries, and the buffer it gets."""

    loop: tile.WhileOp
    carried_index: int
    """Index of the carried value."""
    roll: tile.RollOp
    slots: int = 0
    """The slices of the buffer along the axis."""
    buffer: SSAValue | None = None
    storage: SharedStorage = field(
        default_factory=lambda: SharedStorage(is_writable=False)
    )
    """The windows in the buffer."""
    next_value: SSAValue | None = None
    """The value made as the next slices, if it lies in the buffer."""
    initial_value: SSAValue | None = None
    """The value made as the first window, if it lies in the buffer."""

    @property
    def axis(self) -> int:
        return self.roll.axis.value.data

    @property
    def extent(self) -> int:
        """The slices of the window."""
        return tensor_type(self.roll.window).get_shape()[self.axis]

    @property
    def new_slices(self) -> int:
        """The slices that are new in every iteration."""
        return tensor_type(self.roll.next).get_shape()[self.axis]

    @property
    def init(self) -> SSAValue:
        return self.loop.inits[self.carried_index]

    @property
    def has_outer_yield(self) -> bool:
        """True if a loop around that of the ring yields its last window."""
        users = [use.operation for use in self.loop.results[self.carried_index].uses]
        return any(isinstance(user, tile.YieldOp) for user in users)


@dataclass
class RingBuffers:
    """The rings of a function, by where they come into play."""

    by_loop: dict[tile.WhileOp, dict[int, RingBuffer]] = field(
        default_factory=dict[tile.WhileOp, dict[int, RingBuffer]]
    )
    """The rings of a loop, by the number of the carried value."""
    by_roll: dict[tile.RollOp, RingBuffer] = field(
        default_factory=dict[tile.RollOp, RingBuffer]
    )
    """The rings by the operation that moves their window on."""
    nexts: dict[SSAValue, RingBuffer] = field(
        default_factory=dict[SSAValue, RingBuffer]
    )
    """The rings that a tile is the next slices of, made in their place."""
    inits: dict[SSAValue, RingBuffer] = field(
        default_factory=dict[SSAValue, RingBuffer]
    )
    """The rings that a tile is the first window of, made in its place."""

    def rings_of(self, loop: tile.WhileOp) -> Mapping[int, RingBuffer]:
        """The rings of a loop, by the number of the carried value."""
        return self.by_loop.get(loop, {})


def find_rings(
    function: Operation, target: TargetSpec, liveness: TileLiveness
) -> RingBuffers:
    """
    Find the ring buffers of a function; a remark explains each missed one. A remark
    tells why a window that rolls is none.
    """
    rings = RingBuffers()
    for op in function.walk():
        if isinstance(op, tile.RollOp) and _has_buffer(op, target):
            loop = op.parent_op()
            reason = _find_objection(op, loop, target)
            if reason is not None or not isinstance(loop, tile.WhileOp):
                add_remark(op, PASS_NAME, "missed", f"the window is shifted: {reason}")
                continue
            number = list(loop.yield_op.arguments).index(op.result)
            ring = RingBuffer(loop, number, op)
            rings.by_loop.setdefault(loop, {})[number] = ring
            rings.by_roll[op] = ring
    for ring in rings.by_roll.values():
        _assign_next(rings, ring, liveness)
        _assign_init(rings, ring, liveness)
    return rings


def _has_buffer(op: tile.RollOp, target: TargetSpec) -> bool:
    name = level_of(op.window.type) or target.outermost.name
    level = target.levels.get(name)
    return level is not None and level.kind == "buffer"


def _find_objection(
    op: tile.RollOp, loop: Operation | None, target: TargetSpec
) -> str | None:
    """Return why the window of an operation cannot be a ring, or None."""
    names = list(target.levels)
    position = names.index(level_of(op.window.type) or target.outermost.name)
    if position == 0:
        return f"engines work in {names[0]}, and do not wrap"
    nearer = target.levels[names[position - 1]]
    if nearer.kind != "buffer":
        return f"nothing moves between it and a buffer in {nearer.name}"
    if not isinstance(loop, tile.WhileOp) or loop.is_parallel:
        return "no sequential loop carries it"
    yielded = list(loop.yield_op.arguments)
    numbers = [n for n, each in enumerate(yielded) if each is op.result]
    if len(numbers) != 1 or op.window is not loop.carried_values[numbers[0]]:
        return "the loop does not yield what it carries, moved on once"
    if any(trips is None for trips in trip_counts(loop)[1:]):
        return "inner loops have bounds that are not constant"
    (number,) = numbers
    result = loop.results[number]
    if result.uses and trip_counts(loop)[0] is None:
        return "it is used after a loop with bounds that are not constant"
    for value in (loop.carried_values[number], op.result, result):
        if (user := _find_computing_user(value, op)) is not None:
            return f"{user.name} does not only move it"
    return None


def trip_counts(loop: tile.WhileOp) -> list[int | None]:
    """The iterations of every loop of a nest, where the bounds are constant."""
    bounds = zip(loop.mixed_lower, loop.mixed_upper, loop.step_values, strict=True)
    return [
        max(0, -((lower - upper) // step))
        if isinstance(lower, int) and isinstance(upper, int)
        else None
        for lower, upper, step in bounds
    ]


def _find_computing_user(value: SSAValue, roll: tile.RollOp) -> Operation | None:
    """A use of a window, or of a part of it, that is no move from it."""
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


def _is_collapsed_view(whole: SSAValue, seen: SSAValue, axis: int) -> bool:
    """
    Return `True` if a tile is another one with two axes collapsed, of which `axis` is
    not the second.
    """
    before, after = (tensor_type(each).get_shape() for each in (whole, seen))
    first = collapsed_axis(before, after)
    return first is not None and first + 1 != axis


def is_slice_view(op: tile.SliceOp) -> bool:
    """Return `True` if a slice stays in its memory level."""
    return level_of(op.result.type) == level_of(op.source.type)


def _assign_next(rings: RingBuffers, ring: RingBuffer, liveness: TileLiveness) -> None:
    """Choose the slots of a ring, and let its next slices be made in it if they can."""
    block, next_ = ring.loop.body.block, ring.roll.next
    writer: Operation = ring.roll
    origins = _trace_origins(next_, block, rings, ring.axis)
    if origins is not None and origins[0] not in rings.nexts:
        rings.nexts[origins[0]] = ring
        writer = _first_writer(origins, ring.roll)
    start = liveness.position[writer]
    window = ring.loop.carried_values[ring.carried_index]
    readers = _readers_in_block(window, block, ring.roll)
    is_late = any(liveness.position[each] >= start for each in readers)
    stages = 1 if ring.loop.stages is None else ring.loop.stages.value.data
    ring.slots = ring.extent + ring.new_slices * (stages - 1 + is_late)


def _first_writer(origins: Sequence[SSAValue], roll: tile.RollOp) -> Operation:
    """The first operation that may write what is made in place."""
    writers = [*(origin.owner for origin in origins), roll]
    found = next(each for each in writers if not isinstance(each, tile.EmptyOp))
    assert isinstance(found, Operation)
    return found


def _readers_in_block(
    value: SSAValue, block: Block, roll: tile.RollOp
) -> Iterator[Operation]:
    """The operations of a block that read a window or part of it, but for its roll."""
    for use in value.uses:
        user = use.operation
        if user is roll and use.index == 0:
            continue
        is_cut = isinstance(user, tile.SliceOp) and is_slice_view(user)
        if is_cut or isinstance(user, ViewInterface):
            yield from _readers_in_block(user.results[0], block, roll)
            continue
        ancestor: Operation | None = user
        while ancestor is not None and ancestor.parent is not block:
            ancestor = ancestor.parent_op()
        if ancestor is not None:
            yield ancestor


def _assign_init(rings: RingBuffers, ring: RingBuffer, liveness: TileLiveness) -> None:
    """Let the first window be made in its ring, where that is larger."""
    init = ring.init.owner
    block = init.parent if isinstance(init, Operation) else None
    if ring.slots == ring.extent or block is None:
        return
    origins = _trace_origins(ring.init, block, rings, ring.axis)
    if origins is None or origins[0] in rings.nexts or origins[0] in rings.inits:
        return
    if all(liveness.is_dead_after(each, ring.loop) for each in origins):
        rings.inits[origins[0]] = ring


def _trace_origins(
    value: SSAValue, block: Block, rings: RingBuffers, axis: int
) -> list[SSAValue] | None:
    """
    The tiles that a tile is made of in place, in one block and only moved: first one
    that is new, last the tile itself, maybe with other axes as one with that of a ring.
    None if there are no such.
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
                number = list[SSAValue](op.results).index(value)
                if number in rings.rings_of(op):
                    return None
                value = op.inits[number]
            case _:
                return None


def _is_only_moved(value: SSAValue) -> bool:
    """Return `True` if all uses of a tile are moves from it or to it, or yield it."""
    return all(_is_move_use(value, use.operation) for use in value.uses)


def _is_move_use(value: SSAValue, user: Operation) -> bool:
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
