"""Views of buffers: every memref resolved to a level, a first byte and strides."""

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

from tlf.analysis.buffers.touches import region_of
from tlf.dialects import mem, npu
from tlf.dialects.collapsing import collapsed_shape
from tlf.dialects.mem import Index
from tlf.dialects.types import byte_count, dtype_of
from tlf.lowering.mem_to_npu.index import IndexBuilder
from tlf.lowering.mem_to_npu.slots import Form, Slot, slot_of
from tlf.passes.mem.mem_plan import argument_offsets, global_offsets


@dataclass(frozen=True)
class Extent:
    """
    The bytes of a whole buffer in a level, from `low` to before `high`.
    """

    level: str
    low: int
    high: int

    def overlaps(self, other: "Extent") -> bool:
        return (
            self.level == other.level
            and self.low < other.high
            and other.low < self.high
        )


@dataclass(frozen=True)
class Ring:
    """
    The axis of a view along which indices wrap, to the first of `slots` slices after
    the last. The view starts at slice `start`, at least 0 and less than `slots`.
    """

    axis: int
    slots: int
    start: Index


@dataclass(frozen=True)
class View:
    """
    A strided array in memory, part of a whole buffer.
    """

    whole: Extent
    offset: int
    """The first byte in the level, without `terms`."""
    terms: tuple[tuple[SSAValue, int], ...]
    """Values that add to the first byte, each with its factor."""
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """Bytes between neighbours, per dimension."""
    element_type: Attribute
    ring: Ring | None = None
    slots: tuple[Slot, ...] = ()
    """The parts of the buffer that this is in, along different axes."""

    @property
    def level(self) -> str:
        return self.whole.level

    @property
    def order(self) -> tuple[int, ...]:
        """The axes as they lie in memory, outermost first."""
        axes = range(len(self.shape))
        return tuple(sorted(axes, key=lambda axis: (-self.strides[axis], axis)))

    def moved(self, offsets: Sequence[Index]) -> "View":
        """
        The view whose first element is the one at these indices.
        """
        offset, terms = self.offset, list(self.terms)
        for index, stride in zip(offsets, self.strides, strict=True):
            if isinstance(index, int):
                offset += index * stride
            else:
                terms.append((index, stride))
        return replace(self, offset=offset, terms=tuple(terms))

    def access(self, index: IndexBuilder, strides: Sequence[int]) -> npu.Access:
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
class Views:
    """
    The views of a function whose memory has been planned.
    """

    arguments: Mapping[SSAValue, int]
    """The first byte of every argument."""
    globals: Mapping[str, int]
    """The first byte of every global."""
    _known: dict[SSAValue, View] = field(default_factory=dict[SSAValue, View])

    @staticmethod
    def of(function: func.FuncOp) -> "Views":
        """
        Read what `mem-plan` decided for a function.
        """
        offsets = argument_offsets(function)
        arguments = dict[SSAValue, int](zip(function.args, offsets, strict=True))
        return Views(arguments, global_offsets(function))

    def view(self, buffer: SSAValue) -> View:
        """
        Return where a buffer is.

        Raises `PassFailedException` when its address is not known.
        """
        if buffer not in self._known:
            self._known[buffer] = self._resolve(buffer)
        return self._known[buffer]

    def _resolve(self, buffer: SSAValue) -> View:
        owner = buffer.owner
        match owner:
            case Block() if buffer in self.arguments:
                return _whole(buffer, self.arguments[buffer])
            case mem.AllocOp(offset=None):
                raise PassFailedException(
                    "mem.alloc: expected a planned buffer, got one without an offset: "
                    "run `mem-plan` first"
                )
            case mem.AllocOp():
                assert owner.offset is not None
                return _whole(buffer, owner.offset.value.data)
            case memref.GetGlobalOp():
                return _whole(buffer, self.globals[owner.name_.string_value()])
            case mem.WindowOp():
                return _window(owner, self.view(owner.source))
            case mem.CollapseOp():
                return _collapse(owner, self.view(owner.source))
            case memref.SubviewOp():
                return _subview(owner, self.view(owner.source))
            case memref.ReinterpretCastOp():
                return _reinterpret(owner, self.view(owner.source))
            case Operation():
                raise PassFailedException(
                    f"{owner.name}: cannot tell where the buffer it returns is"
                )
            case _:
                raise PassFailedException(
                    "cannot tell where a buffer that a loop carries is"
                )


def _type(buffer: SSAValue) -> MemRefType[Attribute]:
    return cast(MemRefType[Attribute], buffer.type)


def _whole(buffer: SSAValue, offset: int) -> View:
    """The view of an argument, a global or an allocation."""
    type_ = _type(buffer)
    item = dtype_of(type_.element_type).itemsize
    strides = type_.get_strides()
    if strides is None or None in strides:
        raise PassFailedException(f"expected static strides, got {type_}")
    whole = Extent(mem.level_of(type_), offset, offset + byte_count(type_))
    return View(
        whole,
        offset,
        (),
        type_.get_shape(),
        tuple(item * stride for stride in strides if stride is not None),
        type_.element_type,
    )


def _subview(op: memref.SubviewOp, source: View) -> View:
    if op.sizes or op.strides:
        raise PassFailedException("memref.subview: expected static sizes and strides")
    if source.ring is not None:
        raise PassFailedException(
            "memref.subview: expected a buffer that does not wrap, got a window"
        )
    offsets = mem.mixed(op.static_offsets, op.offsets)
    sizes = op.static_sizes.get_values()
    factors = op.static_strides.get_values()
    moved = source.moved(offsets)
    strides = [s * f for s, f in zip(source.strides, factors, strict=True)]
    kept = mem.kept_dimensions(sizes, op.result.type.get_shape())
    return replace(
        moved,
        shape=tuple(sizes[dimension] for dimension in kept),
        strides=tuple(strides[dimension] for dimension in kept),
        slots=(*(source.slots or _slots(source, offsets, sizes)), *_sections(op)),
    )


def _window(op: mem.WindowOp, source: View) -> View:
    """The slice that the view starts at is computed once, where the view is made."""
    offsets, axis = list(op.mixed_offsets), op.ring_axis
    start = index_builder(op).mod(offsets[axis], op.slots)
    offsets[axis] = start
    ring = Ring(axis, op.slots, start)
    slots = source.slots
    if _has_all_slices(source):
        stride, extent = source.strides[axis], op.box[axis]
        slot = slot_of(start, op.slots, stride, extent)
        slots = slots if slot is None else (*slots, slot)
    return replace(source.moved(offsets), shape=op.box, ring=ring, slots=slots)


def _collapse(op: mem.CollapseOp, source: View) -> View:
    """A window of the same slices of its ring; along their axis, elements are told."""
    strides = list(source.strides)
    strides[op.first] = strides[op.first + 1]
    ring = source.ring
    if ring is not None and ring.axis == op.first:
        start = index_builder(op).mul(ring.start, op.row)
        ring = Ring(ring.axis, ring.slots * op.row, start)
    shape = collapsed_shape(source.shape, op.first)
    return replace(source, shape=shape, strides=tuple(strides), ring=ring)


def _has_all_slices(view: View) -> bool:
    """Return `True` if a view covers all of a buffer, or all of a slot of it."""
    item = dtype_of(view.element_type).itemsize
    parts = prod(slot.count for slot in view.slots)
    return view.whole.high - view.whole.low == item * prod(view.shape) * parts


def _slots(
    source: View, offsets: Sequence[Index], sizes: Sequence[int]
) -> tuple[Slot, ...]:
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


def _sections(op: memref.SubviewOp) -> Iterator[Slot]:
    """The slices that a view takes of its buffer and not all of its source."""
    item = dtype_of(op.result.type.element_type).itemsize
    known = len(region_of(op.source).sections)
    for each in region_of(op.result).sections[known:]:
        count = -(-each.period // each.stride)
        yield Slot(count, Form(each.first, {}), each.stride * item, each.extent)


def _reinterpret(op: memref.ReinterpretCastOp, source: View) -> View:
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


def index_builder(op: Operation) -> IndexBuilder:
    """
    Index arithmetic just before an operation.
    """
    return IndexBuilder(Builder(InsertPoint.before(op)))
