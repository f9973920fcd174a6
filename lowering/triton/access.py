"""
Loads, stores and masks: addresses and conditions for boxes of buffers.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, StridedLayoutAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from tlf.dialects import mem
from tlf.lowering.triton.indices import Index, Indices
from tlf.lowering.triton.source import Source
from tlf.lowering.triton.types import element_of, literal, shape_of, triton_name

OFFSET_LIMIT = 2**31 - 1
"""The greatest offset that 32-bit index arithmetic can hold."""


@dataclass(frozen=True)
class View:
    """
    A buffer in a kernel: the variable of its pointer, the element where it starts, its
    shape, and its strides in elements.
    """

    pointer: str
    offset: Index
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @staticmethod
    def of(pointer: str, value: SSAValue) -> "View":
        """
        The view of a kernel's argument.
        """
        type_ = cast(MemRefType[Attribute], value.type)
        strides, offset = strides_and_offset(type_)
        return View(pointer, Index.of(offset), type_.get_shape(), strides)


def strides_and_offset(type_: MemRefType[Attribute]) -> tuple[tuple[int, ...], int]:
    """
    The static strides and the static offset of a memref, in elements.

    Raises `DiagnosticException` if a stride is unknown. An unknown offset counts as 0.
    """
    layout = type_.layout
    if isinstance(layout, StridedLayoutAttr):
        strides = tuple(layout.get_strides())
        if any(stride is None for stride in strides):
            raise DiagnosticException(f"expected static strides in {type_}")
        return cast(tuple[int, ...], strides), layout.get_offset() or 0
    shape = type_.get_shape()
    return tuple(math.prod(shape[dim + 1 :]) for dim in range(len(shape))), 0


@dataclass(frozen=True)
class Extents:
    """
    Of each dimension of a box: the extent of its tile, how much of that is valid, and
    the bound that positions stay below.
    """

    room: Sequence[int]
    valid: Sequence[int]
    limits: Sequence[int]


class Access:
    """
    Writes the accesses of one kernel. With `wide`, offsets have 64 bits.
    """

    def __init__(self, source: Source, indices: Indices, *, wide: bool) -> None:
        self.source = source
        self.indices = indices
        self.wide = wide
        self.greatest = 0
        self.views: dict[SSAValue, View] = {}

    def subview(self, op: memref.SubviewOp) -> None:
        if op.sizes or op.strides:
            raise DiagnosticException("memref.subview: expected static sizes, strides")
        view = self.views[op.source]
        steps = op.static_strides.get_values()
        offset = view.offset
        for at, stride in zip(self._offsets(op), view.strides, strict=True):
            offset = offset + at * Index.of(stride)
        type_ = op.result.type
        strides, _ = strides_and_offset(type_)
        scaled = [a * b for a, b in zip(view.strides, steps, strict=True)]
        if not set(strides) <= set(scaled):
            raise DiagnosticException(
                f"memref.subview: expected strides of {scaled}, got {list(strides)}"
            )
        offset = self._named(offset)
        self.views[op.result] = View(view.pointer, offset, type_.get_shape(), strides)

    def _offsets(self, op: memref.SubviewOp) -> list[Index]:
        dynamic = iter(op.offsets)
        return [
            self.indices.of(next(dynamic) if offset == DYNAMIC_INDEX else offset)
            for offset in cast(Sequence[int], op.static_offsets.get_values())
        ]

    def reinterpret_cast(self, op: memref.ReinterpretCastOp) -> None:
        if op.sizes or op.strides or op.offsets:
            raise DiagnosticException("memref.reinterpret_cast: expected static bounds")
        view = self.views[op.source]
        (offset,) = cast(Sequence[int], op.static_offsets.get_values())
        start = Index.of(offset)
        if view.offset.constant is None:
            # A cast states the offset from the buffer, which a moving view must keep.
            raise DiagnosticException(
                "memref.reinterpret_cast: expected a source at a constant offset"
            )
        type_ = op.result.type
        strides, _ = strides_and_offset(type_)
        self.views[op.result] = View(view.pointer, start, type_.get_shape(), strides)

    def load(self, op: mem.LoadOp) -> str:
        """
        The expression that loads the value of `op`.
        """
        view, offsets = self.views[op.source], self._at(op.mixed_offsets)
        room = shape_of(op.value)
        address, vectors = self._address(view, offsets, room)
        mask = self._mask(vectors, offsets, Extents(room, op.box, view.shape))
        if mask is None:
            return f"tl.load({address})"
        type_ = element_of(op.value)
        fill = op.fill_value if op.fill_value is not None else 0
        other = literal(fill, type_)
        if str(type_) == "f64":
            # A bare number would be rounded to f32.
            other = f"tl.full([], {other}, tl.float64)"
        return f"tl.load({address}, mask={mask}, other={other})"

    def store(self, op: mem.StoreOp, value: str) -> None:
        view, offsets = self.views[op.destination], self._at(op.mixed_offsets)
        box = shape_of(op.value)
        address, vectors = self._address(view, offsets, box)
        mask = self._mask(vectors, offsets, Extents(box, op.box, view.shape))
        where = "" if mask is None else f", mask={mask}"
        self.source.line(f"tl.store({address}, {value}{where})")

    def mask(self, op: mem.MaskOp, value: str) -> str:
        """
        The expression of a masked value, which is `value` if all of it is in bounds.
        """
        offsets, box = self._at(op.mixed_offsets), shape_of(op.source)
        vectors = self._vectors(offsets, box)
        extents = Extents(box, op.extents, op.limits)
        condition = self._mask(vectors, offsets, extents)
        if condition is None:
            return value
        type_ = element_of(op.source)
        fill = literal(op.number, type_)
        other = f"tl.full({list(box)}, {fill}, {triton_name(type_)})"
        return f"tl.where({condition}, {value}, {other})"

    def _at(self, offsets: Sequence[SSAValue | int]) -> list[Index]:
        return [self.indices.of(offset) for offset in offsets]

    def _named(self, index: Index) -> Index:
        if index.is_atom or index.constant is not None:
            return index
        return Index(self.source.assign("i", index.text), index.low, index.high)

    def _vectors(self, offsets: Sequence[Index], box: Sequence[int]) -> list[str]:
        """
        The positions along each dimension of a box, as variables of rank 1.
        """
        vectors: list[str] = []
        for offset, size in zip(offsets, box, strict=True):
            self._note(max(abs(offset.low), abs(offset.high + size)))
            steps = f"tl.arange(0, {size})"
            if self.wide:
                steps = f"{steps}.to(tl.int64)"
            text = steps if offset.constant == 0 else f"{offset.text} + {steps}"
            vectors.append(self.source.shared("r", text))
        return vectors

    def _address(
        self, view: View, offsets: Sequence[Index], box: Sequence[int]
    ) -> tuple[str, list[str]]:
        """
        The pointers to the elements of a box, and the positions along each dimension.
        """
        start = view.offset
        reach = max(abs(start.low), abs(start.high))
        for offset, size, stride in zip(offsets, box, view.strides, strict=True):
            ends = abs(offset.low), abs(offset.high + size - 1)
            reach += abs(stride) * max(ends)
        self._note(reach)
        vectors = self._vectors(offsets, box)
        terms = [] if start.constant == 0 else [start.text]
        for dim, (vector, stride) in enumerate(zip(vectors, view.strides, strict=True)):
            term = _along(vector, dim, len(box))
            if stride == 0:
                term = f"{term} * 0"
            elif stride != 1:
                term = f"{term} * {stride}"
            terms.append(term)
        if not terms:
            return view.pointer, vectors
        return f"{view.pointer} + {' + '.join(terms)}", vectors

    def _note(self, reach: int) -> None:
        self.greatest = max(self.greatest, reach)

    def _mask(
        self,
        vectors: Sequence[str],
        offsets: Sequence[Index],
        extents: Extents,
    ) -> str | None:
        """
        The condition that elements are valid and their positions lie in [0, limit), or
        None if they always do.
        """
        conditions: list[str] = []
        rank = len(offsets)
        for dim, (offset, room, valid, limit) in enumerate(
            zip(offsets, extents.room, extents.valid, extents.limits, strict=True)
        ):
            if valid < room and not (offset.low >= 0 and offset.low + valid >= limit):
                steps = self.source.shared("r", f"tl.arange(0, {room})")
                conditions.append(_along(f"({steps} < {valid})", dim, rank))
            if offset.low < 0:
                test = _along(f"({vectors[dim]} >= 0)", dim, rank)
                conditions.append(test)
            whole = room if offset.low + valid >= limit else valid
            if offset.high + whole > limit:
                test = _along(f"({vectors[dim]} < {limit})", dim, rank)
                conditions.append(test)
        return " & ".join(conditions) if conditions else None


def _along(vector: str, dim: int, rank: int) -> str:
    """
    A vector as a tile of a higher rank, along one dimension.
    """
    if rank == 1:
        return vector
    indices = ", ".join(":" if axis == dim else "None" for axis in range(rank))
    return f"{vector}[{indices}]"
