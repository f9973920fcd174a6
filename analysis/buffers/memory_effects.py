"""Analysis of `mem` operations: roots, views, writes and aliasing of buffers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from tlf.analysis.buffers.subview_disjointness import (
    BufferRegion,
    has_disjoint_sections,
)
from tlf.dialects import mem
from tlf.dialects.types import memref_type

VIEW_OPS = (
    mem.CollapseOp,
    mem.WindowOp,
    memref.SubviewOp,
    memref.ReinterpretCastOp,
)
"""Operations whose result is a view of a buffer."""

BUFFER_OPS = (mem.AllocOp, memref.GetGlobalOp)
"""Operations that define buffers, other than arguments."""

_MOVES = frozenset({mem.DmaOp, mem.DmaGatherOp, mem.DmaScatterOp})
_READERS_OR_VIEWS = frozenset({mem.LoadOp, mem.Im2colOp, *VIEW_OPS})


def root_buffer_of(buffer: SSAValue) -> SSAValue:
    """Return the buffer that a view is part of."""
    while type(owner := buffer.owner) in VIEW_OPS:
        assert isinstance(owner, VIEW_OPS)
        buffer = owner.source
    return buffer


def ring_window_of(buffer: SSAValue) -> mem.WindowOp | None:
    """
    Return the `mem.window` that defines `buffer`, also through a `mem.collapse`; None
    if there is none.
    """
    owner = buffer.owner
    if isinstance(owner, mem.CollapseOp):
        owner = owner.source.owner
    return owner if isinstance(owner, mem.WindowOp) else None


def covered_region_of(buffer: SSAValue) -> BufferRegion:
    """Return the region of the root that a buffer covers, in elements."""
    match owner := buffer.owner:
        case memref.SubviewOp():
            return _covered_region_of_subview(owner)
        case mem.WindowOp():
            return covered_region_of(owner.source).with_unknown_start()
        case mem.CollapseOp():
            return covered_region_of(owner.source)
        case memref.ReinterpretCastOp() if root_buffer_of(buffer) is not owner.source:
            return BufferRegion()
        case _:
            layout = static_shape_and_strides_of(buffer)
            return BufferRegion.whole_buffer(*layout) if layout else BufferRegion()


def _covered_region_of_subview(op: memref.SubviewOp) -> BufferRegion:
    """
    Return the region of the root buffer, in elements, that a `memref.subview` spans.
    """
    source, layout = (
        covered_region_of(op.source),
        static_shape_and_strides_of(op.source),
    )
    if layout is None or op.sizes or op.strides:
        return source.with_unknown_start()
    offsets = mem.merge_offsets(op.static_offsets, op.offsets)
    steps = op.static_strides.get_values()
    sizes = [
        (size - 1) * step + 1
        for size, step in zip(op.static_sizes.get_values(), steps, strict=True)
    ]
    known = [each if isinstance(each, int) else None for each in offsets]
    return source.subview(*layout, known, sizes)


def static_shape_and_strides_of(
    buffer: SSAValue,
) -> tuple[Sequence[int], Sequence[int]] | None:
    """Return the shape and the strides of a buffer; None if they are not static."""
    type_ = memref_type(buffer)
    strides = type_.get_strides()
    if strides is None or not type_.has_static_shape():
        return None
    known = [each for each in strides if each is not None]
    return (type_.get_shape(), known) if len(known) == len(strides) else None


def can_buffers_alias(left: SSAValue, right: SSAValue) -> bool:
    """
    Return `True` if two buffers or views have the same root and are not known to be
    disjoint.
    """
    if root_buffer_of(left) is not root_buffer_of(right):
        return False
    return not has_disjoint_sections(
        covered_region_of(left).sections, covered_region_of(right).sections
    )


def written_buffers_of(op: Operation) -> Iterator[SSAValue]:
    """
    Yield the buffers or views that an operation may write; for an unknown operation,
    all of its memref operands.
    """
    # Types are compared, as `isinstance` is slow for classes of operations.
    kind = type(op)
    if kind in _READERS_OR_VIEWS:
        return
    if kind in _MOVES:
        assert isinstance(op, mem.Move)
        yield op.destination
    elif isinstance(op, mem.StructuredOp):
        yield from op.output_operands
    else:
        yield from buffers_among(op.operands)


def buffers_among(values: Iterable[SSAValue]) -> Iterator[SSAValue]:
    """Yield the values that are buffers or views."""
    for value in values:
        if type(value.type) is MemRefType:
            yield value


def root_buffers_written_in(top: Operation) -> set[SSAValue]:
    """Return the buffers that the operations inside `top` write."""
    return {
        root_buffer_of(buffer) for op in top.walk() for buffer in written_buffers_of(op)
    }


def has_access_to_buffer(top: Operation, buffer: SSAValue) -> bool:
    """
    Return `True` if an operation, or one inside it, uses a buffer or a view of it.
    """
    return any(
        root_buffer_of(value) is buffer
        for op in top.walk()
        if type(op) not in VIEW_OPS
        for value in buffers_among(op.operands)
    )
