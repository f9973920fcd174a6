"""
Builders of the lowering of tiles to `mem`: buffer types, subviews, index sums and
pending waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

from xdsl.builder import Builder
from xdsl.dialects import memref
from xdsl.dialects.affine import ApplyOp
from xdsl.dialects.builtin import (
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    StringAttr,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr

from tlf.analysis.buffers.tile_liveness import SharedStorage
from tlf.dialects import mem
from tlf.dialects.affine_values import insert_affine_apply
from tlf.dialects.mem import Index
from tlf.dialects.shared_attributes import CACHE_SIZE
from tlf.dialects.slice_views import row_major_strides
from tlf.dialects.tile import EncodingAttr
from tlf.dialects.types import AnyTensor, memref_type
from tlf.support.affine.dense_strides import strides_in_axis_order

AnyBuffer: TypeAlias = MemRefType[Attribute]


def buffer_type_in_level(type_: AnyTensor, level: str) -> AnyBuffer:
    """
    Return the type of a tile's buffer in a memory level: contiguous, with the axis
    order of the tile's encoding, or row-major.
    """
    encoding = type_.encoding
    axes = encoding.axis_order if isinstance(encoding, EncodingAttr) else ()
    return _build_buffer_type(type_.element_type, type_.get_shape(), axes, level)


@lru_cache(CACHE_SIZE)
def _build_buffer_type(
    element: Attribute, shape: tuple[int, ...], axes: tuple[int, ...], level: str
) -> AnyBuffer:
    """Return the type of a contiguous buffer; row-major if `axes` is empty."""
    layout: Attribute = NoneAttr()
    if axes and axes != tuple(range(len(shape))):
        layout = StridedLayoutAttr(strides_in_axis_order(shape, axes))
    return MemRefType(element, shape, layout, StringAttr(level))


def is_contiguous(buffer: SSAValue) -> bool:
    """Return `True` if a buffer is row-major without gaps."""
    return isinstance(memref_type(buffer).layout, NoneAttr)


def build_subview(
    builder: Builder, source: SSAValue, offsets: Sequence[Index], sizes: Sequence[int]
) -> SSAValue:
    """Build a subview of a buffer; a subview of a ring window is a ring window."""
    if isinstance(window := source.owner, mem.WindowOp):
        return _build_window_subview(builder, window, offsets, sizes)
    strides = [1] * len(sizes)
    source_type = memref_type(source)
    type_ = memref.SubviewOp.infer_result_type(source_type, offsets, sizes, strides)
    subview = memref.SubviewOp.get(source, offsets, sizes, strides, type_)
    return builder.insert(subview).result


def _build_window_subview(
    builder: Builder,
    window: mem.WindowOp,
    offsets: Sequence[Index],
    sizes: Sequence[int],
) -> SSAValue:
    """Build a `mem.window` at `offsets` within `window`, on the same ring buffer."""
    pairs = zip(window.mixed_offsets, offsets, strict=True)
    total = [build_index_sum(builder, start, offset) for start, offset in pairs]
    subview = mem.WindowOp(window.source, total, sizes, window.ring_axis)
    return builder.insert(subview).result


def build_index_sum(builder: Builder, lhs: Index, rhs: Index) -> Index:
    """
    Build the sum of two indices: a constant, one of the operands, or an `affine.apply`.
    """
    if isinstance(lhs, int) and isinstance(rhs, int):
        return lhs + rhs
    if 0 in (lhs, rhs):
        return rhs if lhs == 0 else lhs
    operands: list[SSAValue] = []
    total: AffineExpr = AffineExpr.constant(0)
    for each in (lhs, rhs):
        total = total + _to_affine_expr(each, operands)
    return insert_affine_apply(builder, total, operands)


def _to_affine_expr(index: Index, operands: list[SSAValue]) -> AffineExpr:
    """Return an index as an affine expression; append its operands to `operands`."""
    if isinstance(index, int):
        return AffineExpr.constant(index)
    first = len(operands)
    if isinstance(owner := index.owner, ApplyOp) and not owner.map.data.num_symbols:
        operands += owner.mapOperands
        dims = [AffineExpr.dimension(first + n) for n in range(len(owner.mapOperands))]
        return owner.map.data.results[0].replace_dims_and_symbols(dims, [])
    operands.append(index)
    return AffineExpr.dimension(first)


def reshape_contiguous_buffer(
    builder: Builder, source: SSAValue, shape: Sequence[int]
) -> SSAValue:
    """
    Build a row-major view of a contiguous buffer in `shape`, or return `source` if it
    has that shape.
    """
    source_type = memref_type(source)
    if source_type.get_shape() == tuple(shape):
        return source
    type_ = MemRefType(
        source_type.element_type, shape, NoneAttr(), source_type.memory_space
    )
    view = memref.ReinterpretCastOp.from_dynamic(
        source, [0], list(shape), list(row_major_strides(shape)), type_
    )
    return builder.insert(view).result


def restride_contiguous(
    builder: Builder,
    source: SSAValue,
    shape: Sequence[int],
    strides: Sequence[int],
    offset: int = 0,
) -> SSAValue:
    """Build a view of a contiguous buffer with given strides and offset."""
    source_type = memref_type(source)
    type_ = MemRefType(
        source_type.element_type,
        shape,
        StridedLayoutAttr(list(strides), offset),
        source_type.memory_space,
    )
    view = memref.ReinterpretCastOp.from_dynamic(
        source, [offset], list(shape), list(strides), type_
    )
    return builder.insert(view).result


@dataclass
class PendingMoves:
    """Asynchronous moves of a block that are still in flight: no wait covers them."""

    written: dict[SharedStorage, list[SSAValue]] = field(
        default_factory=dict[SharedStorage, list[SSAValue]]
    )
    read: dict[SharedStorage, list[SSAValue]] = field(
        default_factory=dict[SharedStorage, list[SSAValue]]
    )

    def record_move_in_flight(
        self, token: SSAValue, source: SharedStorage, destination: SharedStorage
    ) -> None:
        """Record the token of a move between two storages."""
        self.read.setdefault(source.outermost, []).append(token)
        self.written.setdefault(destination.outermost, []).append(token)

    def wait_for_conflicting_moves(
        self,
        builder: Builder,
        reads: Sequence[SharedStorage] = (),
        writes: Sequence[SharedStorage] = (),
    ) -> None:
        """Wait for moves in flight that conflict with reads or writes of storages."""
        tokens = [
            token
            for storage in (*reads, *writes)
            for token in self.written.get(storage.outermost, ())
        ]
        tokens += [
            token for each in writes for token in self.read.get(each.outermost, ())
        ]
        self._wait_for_tokens(builder, tokens)

    def wait_for_all_moves(self, builder: Builder) -> None:
        """Wait for every move in flight."""
        self._wait_for_tokens(
            builder, [t for tokens in self.written.values() for t in tokens]
        )

    def _wait_for_tokens(self, builder: Builder, tokens: Sequence[SSAValue]) -> None:
        """Insert one `mem.wait` for `tokens`, and drop them from moves in flight."""
        if not tokens:
            return
        builder.insert(mem.WaitOp(list(dict.fromkeys(tokens))))
        completed = set(tokens)
        for table in (self.written, self.read):
            for storage, pending in list(table.items()):
                if remaining := [token for token in pending if token not in completed]:
                    table[storage] = remaining
                else:
                    del table[storage]
