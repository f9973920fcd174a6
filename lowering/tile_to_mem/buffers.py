"""Buffers: their types, allocation, views, and the moves that are still under way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from xdsl.builder import Builder
from xdsl.dialects import memref
from xdsl.dialects.affine import ApplyOp
from xdsl.dialects.builtin import (
    AffineMapAttr,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    StringAttr,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from tlf.analysis.buffers.tile_liveness import Storage
from tlf.dialects import mem
from tlf.dialects.cuts import row_major
from tlf.dialects.mem import Index
from tlf.dialects.tile import EncodingAttr
from tlf.dialects.types import AnyTensor

AnyBuffer: TypeAlias = MemRefType[Attribute]


def buffer_type(type_: AnyTensor, level: str) -> AnyBuffer:
    """
    The buffer of a tile in a memory level: contiguous, its axes in the order that the
    tile's encoding gives, or in row-major order.
    """
    shape = type_.get_shape()
    encoding = type_.encoding
    axes = encoding.axes if isinstance(encoding, EncodingAttr) else ()
    layout: Attribute = NoneAttr()
    if axes and axes != tuple(range(len(shape))):
        layout = StridedLayoutAttr(_strides(shape, axes))
    return MemRefType(type_.element_type, shape, layout, StringAttr(level))


def _strides(shape: Sequence[int], axes: Sequence[int]) -> list[int]:
    """The strides of a contiguous buffer whose axes lie in the order `axes`."""
    inner = row_major([shape[axis] for axis in axes])
    strides = dict(zip(axes, inner, strict=True))
    return [strides[axis] for axis in range(len(shape))]


def is_contiguous(buffer: SSAValue) -> bool:
    """Return `True` if a buffer holds its elements in row-major order without gaps."""
    return isinstance(cast(AnyBuffer, buffer.type).layout, NoneAttr)


def subview(
    builder: Builder, source: SSAValue, offsets: Sequence[Index], sizes: Sequence[int]
) -> SSAValue:
    """The part of a buffer that starts at some offsets. That of a window is one."""
    if isinstance(window := source.owner, mem.WindowOp):
        return _part_of_window(builder, window, offsets, sizes)
    strides = [1] * len(sizes)
    source_type = cast(AnyBuffer, source.type)
    type_ = memref.SubviewOp.infer_result_type(source_type, offsets, sizes, strides)
    made = memref.SubviewOp.get(source, offsets, sizes, strides, type_)
    return builder.insert(made).result


def _part_of_window(
    builder: Builder,
    window: mem.WindowOp,
    offsets: Sequence[Index],
    sizes: Sequence[int],
) -> SSAValue:
    pairs = zip(window.mixed_offsets, offsets, strict=True)
    total = [index_sum(builder, start, offset) for start, offset in pairs]
    made = mem.WindowOp(window.source, total, sizes, window.ring_axis)
    return builder.insert(made).result


def index_sum(builder: Builder, one: Index, other: Index) -> Index:
    """The sum of two indices: a number, one of them, or one `affine.apply`."""
    if isinstance(one, int) and isinstance(other, int):
        return one + other
    if 0 in (one, other):
        return other if one == 0 else one
    operands: list[SSAValue] = []
    total: AffineExpr = AffineExpr.constant(0)
    for each in (one, other):
        total = total + _expression(each, operands)
    map_ = AffineMapAttr(AffineMap(len(operands), 0, (total,)))
    return builder.insert(ApplyOp(operands, map_)).result


def _expression(index: Index, operands: list[SSAValue]) -> AffineExpr:
    """An index in terms of operands, to which those that it needs are added."""
    if isinstance(index, int):
        return AffineExpr.constant(index)
    first = len(operands)
    if isinstance(owner := index.owner, ApplyOp) and not owner.map.data.num_symbols:
        operands += owner.mapOperands
        dims = [AffineExpr.dimension(first + n) for n in range(len(owner.mapOperands))]
        return owner.map.data.results[0].replace_dims_and_symbols(dims, [])
    operands.append(index)
    return AffineExpr.dimension(first)


def reshaped(builder: Builder, source: SSAValue, shape: Sequence[int]) -> SSAValue:
    """The elements of a contiguous buffer under another shape."""
    source_type = cast(AnyBuffer, source.type)
    if source_type.get_shape() == tuple(shape):
        return source
    type_ = MemRefType(
        source_type.element_type, shape, NoneAttr(), source_type.memory_space
    )
    made = memref.ReinterpretCastOp.from_dynamic(
        source, [0], list(shape), list(row_major(shape)), type_
    )
    return builder.insert(made).result


def restrided(
    builder: Builder,
    source: SSAValue,
    shape: Sequence[int],
    strides: Sequence[int],
    first: int = 0,
) -> SSAValue:
    """The elements of a contiguous buffer that strides reach from one of them."""
    source_type = cast(AnyBuffer, source.type)
    type_ = MemRefType(
        source_type.element_type,
        shape,
        StridedLayoutAttr(list(strides), first),
        source_type.memory_space,
    )
    made = memref.ReinterpretCastOp.from_dynamic(
        source, [first], list(shape), list(strides), type_
    )
    return builder.insert(made).result


@dataclass
class Moves:
    """
    The moves that a block started and did not yet wait for.
    """

    written: dict[Storage, list[SSAValue]] = field(
        default_factory=dict[Storage, list[SSAValue]]
    )
    read: dict[Storage, list[SSAValue]] = field(
        default_factory=dict[Storage, list[SSAValue]]
    )

    def start(self, token: SSAValue, source: Storage, destination: Storage) -> None:
        """Note a move between two places."""
        self.read.setdefault(source.whole, []).append(token)
        self.written.setdefault(destination.whole, []).append(token)

    def wait(
        self,
        builder: Builder,
        reads: Sequence[Storage] = (),
        writes: Sequence[Storage] = (),
    ) -> None:
        """Wait for the moves that stand against reading and writing some places."""
        tokens = [
            token
            for storage in (*reads, *writes)
            for token in self.written.get(storage.whole, ())
        ]
        tokens += [token for each in writes for token in self.read.get(each.whole, ())]
        self._finish(builder, tokens)

    def wait_all(self, builder: Builder) -> None:
        """Wait for every move."""
        self._finish(builder, [t for tokens in self.written.values() for t in tokens])

    def _finish(self, builder: Builder, tokens: Sequence[SSAValue]) -> None:
        if not tokens:
            return
        builder.insert(mem.WaitOp(list(dict.fromkeys(tokens))))
        done = set(tokens)
        for table in (self.written, self.read):
            for storage, pending in list(table.items()):
                if left := [token for token in pending if token not in done]:
                    table[storage] = left
                else:
                    del table[storage]
