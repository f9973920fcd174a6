"""Strided views of buffers: memrefs resolved to level, byte offset and strides."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import PassFailedException

from tlf.analysis.buffers.memory_effects import region_of
from tlf.dialects import mem, npu
from tlf.dialects.collapsing_interface import collapsed_shape
from tlf.dialects.mem import Index
from tlf.dialects.types import byte_count, dtype_of
from tlf.lowering.mem_to_npu.index_builder import IndexBuilder
from tlf.lowering.mem_to_npu.multibuffer_slots import AffineForm, BufferSlot, slot_of
from tlf.passes.mem.mem_plan import argument_offsets, global_offsets


@dataclass(frozen=True)
class BufferExtent:
    """The byte range of a whole buffer in a level, from `low` to before `high`."""

    level: str
    low: int
    high: int

    def is_overlapping(self, other: "BufferExtent") -> bool:
        return (
            self.level == other.level
            and self.low < other.high
            and other.low < self.high
        )


@dataclass(frozen=True)
class RingAxis:
    """
    The axis of a view along which indices wrap, to the first of `slots` slices after
    the last. The view starts at slice `start`, at least 0 and less than `slots`.
    """

    axis: int
    slots: int
    start: Index


@dataclass(frozen=True)
class BufferView:
    """A strided array in memory, a subview of a whole buffer."""

    whole: BufferExtent
    offset: int
    """The first byte in the level, without `terms`."""
    terms: tuple[tuple[SSAValue, int], ...]
    """Values that add to the first byte, each with its factor."""
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """Bytes between neighbours, per dimension."""
    element_type: Attribute
    ring: RingAxis | None = None
    slots: tuple[BufferSlot, ...] = ()
    """The parts of the buffer that this is in, along different axes."""

    @property
    def level(self) -> str:
        return self.whole.level

    @property
    def order(self) -> tuple[int, ...]:
        """The axes as they lie in memory, outermost first."""
        axes = range(len(self.shape))
        return tuple(sorted(axes, key=lambda axis: (-self.strides[axis], axis)))

    def with_offsets(self, offsets: Sequence[Index]) -> "BufferView":
        """Return the view that starts at the element with these indices."""
        offset, terms = self.offset, list(self.terms)
        for index, stride in zip(offsets, self.strides, strict=True):
            if isinstance(index, int):
                offset += index * stride
            else:
                terms.append((index, stride))
        return replace(self, offset=offset, terms=tuple(terms))

    def to_access(self, index: IndexBuilder, strides: Sequence[int]) -> npu.Access:
        """
        The address of the view, for an instruction with these strides.
        """
        parts = [index.mul(value, factor) for value, factor in self.terms]
        base = index.sum(parts)
        offset = self.offset
        if isinstance(base, int):
            offset, base = offset + base, None
        return npu.Access(self.level, base, offset, tuple(strides), self.element_type)


@dataclass
class BufferViews:
    """The buffer views of a function after memory planning."""

    arguments: Mapping[SSAValue, int]
    """The first byte of every argument."""
    globals: Mapping[str, int]
    """The first byte of every global."""
    _known: dict[SSAValue, BufferView] = field(
        default_factory=dict[SSAValue, BufferView]
    )

    @staticmethod
    def of(function: func.FuncOp) -> "BufferViews":
        """
        Read what `mem-plan` decided for a function.
        """
        offsets = argument_offsets(function)
        arguments = dict[SSAValue, int](zip(function.args, offsets, strict=True))
        return BufferViews(arguments, global_offsets(function))

    def view_of(self, buffer: SSAValue) -> BufferView:
        """
        Return where a buffer is.

        Raises `PassFailedException` when its address is not known.
        """
        if buffer not in self._known:
            self._known[buffer] = self._resolve(buffer)
        return self._known[buffer]

    def _resolve(self, buffer: SSAValue) -> BufferView:
        owner = buffer.owner
        match owner:
            case Block() if buffer in self.arguments:
                return _whole_buffer_view(buffer, self.arguments[buffer])
            case mem.AllocOp(offset=None):
                raise PassFailedException(
                    "mem.alloc: expected a planned buffer, got one without an offset: "
                    "run `mem-plan` first"
                )
            case mem.AllocOp():
                assert owner.offset is not None
                return _whole_buffer_view(buffer, owner.offset.value.data)
            case memref.GetGlobalOp():
                return _whole_buffer_view(
                    buffer, self.globals[owner.name_.string_value()]
                )
            case mem.WindowOp():
                return _resolve_window(owner, self.view_of(owner.source))
            case mem.CollapseOp():
                return _resolve_collapse(owner, self.view_of(owner.source))
            case memref.SubviewOp():
                return _resolve_subview(owner, self.view_of(owner.source))
            case memref.ReinterpretCastOp():
                return _resolve_reinterpret_cast(owner, self.view_of(owner.source))
            case Operation():
                raise PassFailedException(
                    f"{owner.name}: cannot tell where the buffer it returns is"
                )
            case _:
                raise PassFailedException(
                    "cannot tell where a buffer that a loop carries is"
                )


def _memref_type(buffer: SSAValue) -> MemRefType[Attribute]:
    return cast(MemRefType[Attribute], buffer.type)


def _whole_buffer_view(buffer: SSAValue, offset: int) -> BufferView:
    """The view of an argument, a global or an allocation."""
    type_ = _memref_type(buffer)
    item = dtype_of(type_.element_type).itemsize
    strides = type_.get_strides()
    if strides is None or None in strides:
        raise PassFailedException(f"expected static strides, got {type_}")
    whole = BufferExtent(mem.level_of(type_), offset, offset + byte_count(type_))
    return BufferView(
        whole,
        offset,
        (),
        type_.get_shape(),
        tuple(item * stride for stride in strides if stride is not None),
        type_.element_type,
    )


def _resolve_subview(op: memref.SubviewOp, source: BufferView) -> BufferView:
    if op.sizes or op.strides:
        raise PassFailedException("memref.subview: expected static sizes and strides")
    if source.ring is not None:
        raise PassFailedException(
            "memref.subview: expected a buffer that does not wrap, got a window"
        )
    offsets = mem.merge_offsets(op.static_offsets, op.offsets)
    sizes = op.static_sizes.get_values()
    factors = op.static_strides.get_values()
    moved = source.with_offsets(offsets)
    strides = [s * f for s, f in zip(source.strides, factors, strict=True)]
    kept = mem.kept_dimensions(sizes, op.result.type.get_shape())
    return replace(
        moved,
        shape=tuple(sizes[dimension] for dimension in kept),
        strides=tuple(strides[dimension] for dimension in kept),
        slots=(
            *(source.slots or _leading_slot(source, offsets, sizes)),
            *_section_slots(op),
        ),
    )


def _resolve_window(op: mem.WindowOp, source: BufferView) -> BufferView:
    """Resolve a ring window; its start slice is computed once, at the view."""
    offsets, axis = list(op.mixed_offsets), op.ring_axis
    start = index_builder_before(op).mod(offsets[axis], op.ring_size)
    offsets[axis] = start
    ring = RingAxis(axis, op.ring_size, start)
    slots = source.slots
    if _has_all_slices(source):
        stride, extent = source.strides[axis], op.box[axis]
        slot = slot_of(start, op.ring_size, stride, extent)
        slots = slots if slot is None else (*slots, slot)
    return replace(source.with_offsets(offsets), shape=op.box, ring=ring, slots=slots)


def _resolve_collapse(op: mem.CollapseOp, source: BufferView) -> BufferView:
    """Resolve a window whose ring axis is merged with the next one."""
    strides = list(source.strides)
    strides[op.first_axis] = strides[op.first_axis + 1]
    ring = source.ring
    if ring is not None and ring.axis == op.first_axis:
        start = index_builder_before(op).mul(ring.start, op.row_size)
        ring = RingAxis(ring.axis, ring.slots * op.row_size, start)
    shape = collapsed_shape(source.shape, op.first_axis)
    return replace(source, shape=shape, strides=tuple(strides), ring=ring)


def _has_all_slices(view: BufferView) -> bool:
    """Return `True` if a view covers all of a buffer, or all of a slot of it."""
    item = dtype_of(view.element_type).itemsize
    parts = prod(slot.count for slot in view.slots)
    return view.whole.high - view.whole.low == item * prod(view.shape) * parts


def _leading_slot(
    source: BufferView, offsets: Sequence[Index], sizes: Sequence[int]
) -> tuple[BufferSlot, ...]:
    """The slot that a view takes of a whole buffer along its first dimension."""
    if len(sizes) < 1 or sizes[0] != 1 or source.shape[0] < 2 or source.terms:
        return ()
    item = dtype_of(source.element_type).itemsize
    room = source.strides[0]
    inside = sum(
        (size - 1) * stride
        for size, stride in zip(source.shape[1:], source.strides[1:], strict=True)
    )
    is_whole = source.whole.high - source.whole.low == room * source.shape[0]
    first = source.offset - source.whole.low
    if not is_whole or first + inside + item > room:
        return ()
    slot = slot_of(offsets[0], source.shape[0], room)
    return () if slot is None else (slot,)


def _section_slots(op: memref.SubviewOp) -> Iterator[BufferSlot]:
    """The slices that a view takes of its buffer and not all of its source."""
    item = dtype_of(op.result.type.element_type).itemsize
    known = len(region_of(op.source).sections)
    for each in region_of(op.result).sections[known:]:
        count = -(-each.period // each.stride)
        yield BufferSlot(
            count, AffineForm(each.first, {}), each.stride * item, each.extent
        )


def _resolve_reinterpret_cast(
    op: memref.ReinterpretCastOp, source: BufferView
) -> BufferView:
    if op.offsets or op.sizes or op.strides:
        raise PassFailedException(
            "memref.reinterpret_cast: expected static offsets, sizes and strides"
        )
    if source.terms or source.offset != source.whole.low:
        raise PassFailedException(
            "memref.reinterpret_cast: expected a whole buffer, got a part of one"
        )
    item = dtype_of(source.element_type).itemsize
    (offset,) = op.static_offsets.get_values()
    return replace(
        source,
        offset=source.offset + item * offset,
        shape=tuple(op.static_sizes.get_values()),
        strides=tuple(item * stride for stride in op.static_strides.get_values()),
    )


def index_builder_before(op: Operation) -> IndexBuilder:
    """
    Index arithmetic just before an operation.
    """
    return IndexBuilder(Builder(InsertPoint.before(op)))
