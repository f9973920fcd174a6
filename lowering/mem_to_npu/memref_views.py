"""
Lowering of memrefs to strided views in the NPU code generator: memory level, byte
offset and strides.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from xdsl.builder import Builder
from xdsl.dialects import func, memref
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import PassFailedException

from tlf.analysis.buffers.memory_effects import covered_region_of
from tlf.dialects import mem, npu
from tlf.dialects.collapsing_interface import collapse_axes_of_shape
from tlf.dialects.mem import Index
from tlf.dialects.types import byte_count, dtype_of, memref_type
from tlf.lowering.mem_to_npu.index_builder import IndexBuilder
from tlf.lowering.mem_to_npu.multibuffer_slots import BufferSlot, slot_selected_by
from tlf.passes.mem.mem_plan import argument_offsets, global_offsets
from tlf.support.affine.index_access import AffineSum


@dataclass(frozen=True)
class BufferExtent:
    """Byte range of an allocated buffer in a level, from `low` to before `high`."""

    level: str
    low: int
    high: int

    def is_overlapping(self, other: "BufferExtent") -> bool:
        """Return `True` if both byte ranges share bytes of one memory level."""
        return (
            self.level == other.level
            and self.low < other.high
            and other.low < self.high
        )


@dataclass(frozen=True)
class RingAxis:
    """
    Axis of a view along which indices wrap modulo `slots`, in slices. The view starts
    at slice `start`, with `0 <= start < slots`.
    """

    axis: int
    slots: int
    start: Index


@dataclass(frozen=True)
class BufferView:
    """Strided array at a byte offset in a memory level, inside an allocated buffer."""

    buffer_extent: BufferExtent
    offset: int
    """Byte offset in the level, without `terms`."""
    terms: tuple[tuple[SSAValue, int], ...]
    """Dynamic terms of the byte offset: values and their factors."""
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """Strides in bytes, per axis."""
    element_type: Attribute
    ring: RingAxis | None = None
    slots: tuple[BufferSlot, ...] = ()
    """Multi-buffer slots that contain the view, along different axes."""

    @property
    def level(self) -> str:
        return self.buffer_extent.level

    @property
    def memory_axis_order(self) -> tuple[int, ...]:
        """Axes in memory order, outermost first."""
        axes = range(len(self.shape))
        return tuple(sorted(axes, key=lambda axis: (-self.strides[axis], axis)))

    def view_from_element(self, offsets: Sequence[Index]) -> "BufferView":
        """Return the view that starts at the element with the given indices."""
        offset, terms = self.offset, list(self.terms)
        for index, stride in zip(offsets, self.strides, strict=True):
            if isinstance(index, int):
                offset += index * stride
            else:
                terms.append((index, stride))
        return replace(self, offset=offset, terms=tuple(terms))

    def build_access(
        self, index_builder: IndexBuilder, strides: Sequence[int]
    ) -> npu.Access:
        """Build the access of an instruction with the given strides to the view."""
        products = [
            index_builder.build_mul(value, factor) for value, factor in self.terms
        ]
        base = index_builder.build_sum(products)
        offset = self.offset
        if isinstance(base, int):
            offset, base = offset + base, None
        return npu.Access(self.level, base, offset, tuple(strides), self.element_type)


@dataclass
class BufferViews:
    """Resolver of the buffer views of a function with planned byte offsets."""

    arguments: Mapping[SSAValue, int]
    """Byte offset of every argument."""
    globals: Mapping[str, int]
    """Byte offset of every global."""
    _resolved_views: dict[SSAValue, BufferView] = field(
        default_factory=dict[SSAValue, BufferView]
    )

    @staticmethod
    def from_planned_function(function: func.FuncOp) -> "BufferViews":
        """Return the views of a function with the offsets assigned by `mem-plan`."""
        offsets = argument_offsets(function)
        arguments = dict[SSAValue, int](zip(function.args, offsets, strict=True))
        return BufferViews(arguments, global_offsets(function))

    def view_of(self, buffer: SSAValue) -> BufferView:
        """
        Return the view that a memref value denotes, resolved once from its definition.

        Raises `PassFailedException` if its address is unknown.
        """
        if buffer not in self._resolved_views:
            self._resolved_views[buffer] = self._resolve_view(buffer)
        return self._resolved_views[buffer]

    def _resolve_view(self, buffer: SSAValue) -> BufferView:
        """Return the view of `buffer` by its definition and the view of its source."""
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
                return _resolve_ring_window(owner, self.view_of(owner.source))
            case mem.CollapseOp():
                return _resolve_collapsed_view(owner, self.view_of(owner.source))
            case memref.SubviewOp():
                return _resolve_subview(owner, self.view_of(owner.source))
            case memref.ReinterpretCastOp():
                return _resolve_reinterpret_cast(owner, self.view_of(owner.source))
            case Operation():
                raise PassFailedException(
                    f"{owner.name}: cannot resolve the address of the returned buffer"
                )
            case _:
                raise PassFailedException(
                    "cannot resolve the address of a loop-carried buffer"
                )


def _whole_buffer_view(buffer: SSAValue, offset: int) -> BufferView:
    """Return a new view of all elements of `buffer`, at byte `offset` of its level."""
    type_ = memref_type(buffer)
    item = dtype_of(type_.element_type).itemsize
    strides = type_.get_strides()
    if strides is None or None in strides:
        raise PassFailedException(f"expected static strides, got {type_}")
    buffer_extent = BufferExtent(
        mem.level_of(type_), offset, offset + byte_count(type_)
    )
    return BufferView(
        buffer_extent,
        offset,
        (),
        type_.get_shape(),
        tuple(item * stride for stride in strides if stride is not None),
        type_.element_type,
    )


def _resolve_subview(op: memref.SubviewOp, source: BufferView) -> BufferView:
    """Return the view of a static `memref.subview`, with its multi-buffer slots."""
    if op.sizes or op.strides:
        raise PassFailedException("memref.subview: expected static sizes and strides")
    if source.ring is not None:
        raise PassFailedException(
            "memref.subview: expected a buffer that does not wrap, got a window"
        )
    offsets = mem.merge_offsets(op.static_offsets, op.offsets)
    sizes = op.static_sizes.get_values()
    factors = op.static_strides.get_values()
    shifted = source.view_from_element(offsets)
    strides = [s * f for s, f in zip(source.strides, factors, strict=True)]
    retained_axes = mem.dimensions_in_subview_type(sizes, op.result.type.get_shape())
    return replace(
        shifted,
        shape=tuple(sizes[dimension] for dimension in retained_axes),
        strides=tuple(strides[dimension] for dimension in retained_axes),
        slots=(
            *(source.slots or _slot_along_first_axis(source, offsets, sizes)),
            *_slots_of_added_sections(op),
        ),
    )


def _resolve_ring_window(op: mem.WindowOp, source: BufferView) -> BufferView:
    """Resolve a ring window; its start slice is computed once, before the window."""
    offsets, axis = list(op.mixed_offsets), op.ring_axis
    start = index_builder_before(op).build_mod(offsets[axis], op.ring_size)
    offsets[axis] = start
    ring = RingAxis(axis, op.ring_size, start)
    slots = source.slots
    if _is_full_buffer_or_slot(source):
        stride, extent = source.strides[axis], op.box_sizes[axis]
        slot = slot_selected_by(start, op.ring_size, stride, extent)
        slots = slots if slot is None else (*slots, slot)
    return replace(
        source.view_from_element(offsets), shape=op.box_sizes, ring=ring, slots=slots
    )


def _resolve_collapsed_view(op: mem.CollapseOp, source: BufferView) -> BufferView:
    """
    Return the view of the result of `op`, which merges an axis of `source` with the
    next.
    """
    strides = list(source.strides)
    strides[op.first_axis] = strides[op.first_axis + 1]
    ring = source.ring
    if ring is not None and ring.axis == op.first_axis:
        start = index_builder_before(op).build_mul(ring.start, op.row_size)
        ring = RingAxis(ring.axis, ring.slots * op.row_size, start)
    shape = collapse_axes_of_shape(source.shape, op.first_axis)
    return replace(source, shape=shape, strides=tuple(strides), ring=ring)


def _is_full_buffer_or_slot(view: BufferView) -> bool:
    """Return `True` if a view covers a full buffer, or a full slot of it."""
    item = dtype_of(view.element_type).itemsize
    slot_count = prod(slot.slot_count for slot in view.slots)
    return (
        view.buffer_extent.high - view.buffer_extent.low
        == item * prod(view.shape) * slot_count
    )


def _slot_along_first_axis(
    source: BufferView, offsets: Sequence[Index], sizes: Sequence[int]
) -> tuple[BufferSlot, ...]:
    """Return the slot of a subview that has one slice of a buffer's first axis."""
    if len(sizes) < 1 or sizes[0] != 1 or source.shape[0] < 2 or source.terms:
        return ()
    item = dtype_of(source.element_type).itemsize
    slot_bytes = source.strides[0]
    last_element = sum(
        (size - 1) * stride
        for size, stride in zip(source.shape[1:], source.strides[1:], strict=True)
    )
    is_contiguous = (
        source.buffer_extent.high - source.buffer_extent.low
        == slot_bytes * source.shape[0]
    )
    first = source.offset - source.buffer_extent.low
    if not is_contiguous or first + last_element + item > slot_bytes:
        return ()
    slot = slot_selected_by(offsets[0], source.shape[0], slot_bytes)
    return () if slot is None else (slot,)


def _slots_of_added_sections(op: memref.SubviewOp) -> Iterator[BufferSlot]:
    """Yield the slots of sections that a subview adds to those of its source."""
    item = dtype_of(op.result.type.element_type).itemsize
    inherited = len(covered_region_of(op.source).sections)
    for each in covered_region_of(op.result).sections[inherited:]:
        count = -(-each.period // each.stride)
        yield BufferSlot(
            count, AffineSum(each.first_slice), each.stride * item, each.extent
        )


def _resolve_reinterpret_cast(
    op: memref.ReinterpretCastOp, source: BufferView
) -> BufferView:
    """Return `source` with the static offset, sizes and strides of the cast."""
    if op.offsets or op.sizes or op.strides:
        raise PassFailedException(
            "memref.reinterpret_cast: expected static offsets, sizes and strides"
        )
    if source.terms or source.offset != source.buffer_extent.low:
        raise PassFailedException(
            "memref.reinterpret_cast: expected an allocated buffer, got a subview"
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
    """Return a builder of index arithmetic directly before an operation."""
    return IndexBuilder(Builder(InsertPoint.before(op)))
