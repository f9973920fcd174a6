"""
Emission of Triton code for loads, stores and masks: pointers and bounds conditions.
"""

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, StridedLayoutAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from tlf.dialects import mem
from tlf.dialects.types import itemsize_of, memref_type
from tlf.lowering.mem_to_triton.cache_retention import eviction_argument
from tlf.lowering.mem_to_triton.element_positions import ElementPositions, Position
from tlf.lowering.mem_to_triton.element_types import (
    element_type_of,
    python_literal_of,
    shape_of,
    triton_type_name,
)
from tlf.lowering.mem_to_triton.flat_axes import FlatAxes
from tlf.lowering.mem_to_triton.index_expressions import IndexExpr, IndexTable
from tlf.lowering.mem_to_triton.python_source import PythonSource
from tlf.lowering.mem_to_triton.thread_order import (
    find_thread_order,
    permute_text,
)
from tlf.support.affine.axis_orders import inverse_order
from tlf.support.affine.linear_access import is_identity

VECTOR_BYTES = 16
"""Bytes of the widest load of a thread."""

OFFSET_LIMIT = 2**31 - 1
"""Largest offset of 32-bit index arithmetic."""


@dataclass(frozen=True)
class PointerView:
    """
    A buffer view in a kernel: pointer variable, offset, shape and strides in elements.
    """

    pointer: str
    offset: IndexExpr
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @staticmethod
    def of_kernel_argument(pointer: str, value: SSAValue) -> "PointerView":
        """
        Return a new view of a memref argument, based on the kernel parameter `pointer`.
        """
        type_ = memref_type(value)
        strides, offset = static_strides_and_offset(type_)
        return PointerView(
            pointer, IndexExpr.of_constant(offset), type_.get_shape(), strides
        )


def static_strides_and_offset(
    type_: MemRefType[Attribute],
) -> tuple[tuple[int, ...], int]:
    """
    Return the static strides and the static offset of a memref, in elements.

    Raises `DiagnosticException` if a stride is dynamic. A dynamic offset counts as 0.
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
class ValidExtents:
    """
    Valid extent of each dim of a value, and exclusive upper bound of positions along
    each dim of its buffer.
    """

    valid: Sequence[int]
    limits: Sequence[int]


class AccessWriter:
    """Writer of the memory accesses of a kernel. With `wide`, offsets have 64 bits."""

    def __init__(
        self, source: PythonSource, indices: IndexTable, *, wide: bool
    ) -> None:
        self.source = source
        self.indices = indices
        self.wide = wide
        self.is_unrolled = False
        self.repeated_sources: AbstractSet[SSAValue] = frozenset()
        """Buffers of which several windows are read, at constant distances."""
        self.greatest = 0
        self.views: dict[SSAValue, PointerView] = {}

    def define_view_pointer(
        self, op: memref.SubviewOp | memref.ReinterpretCastOp
    ) -> None:
        """Record the pointer, offset, shape and strides of the result of a view."""
        if isinstance(op, memref.SubviewOp):
            self.define_subview_pointer(op)
        else:
            self.define_reinterpret_cast_pointer(op)

    def define_subview_pointer(self, op: memref.SubviewOp) -> None:
        """Record the pointer, offset, shape and strides of a subview's result."""
        if op.sizes or op.strides:
            raise DiagnosticException("memref.subview: expected static sizes, strides")
        view = self.views[op.source]
        steps = op.static_strides.get_values()
        offset = view.offset
        for at, stride in zip(
            self._offset_expressions_of_subview(op), view.strides, strict=True
        ):
            offset = offset + at * IndexExpr.of_constant(stride)
        type_ = op.result.type
        strides, _ = static_strides_and_offset(type_)
        scaled = [a * b for a, b in zip(view.strides, steps, strict=True)]
        if not set(strides) <= set(scaled):
            raise DiagnosticException(
                f"memref.subview: expected strides of {scaled}, got {list(strides)}"
            )
        offset = self._assign_index_variable(offset)
        self.views[op.result] = PointerView(
            view.pointer, offset, type_.get_shape(), strides
        )

    def _offset_expressions_of_subview(self, op: memref.SubviewOp) -> list[IndexExpr]:
        """Return the static and dynamic offsets of `op` as one expression per axis."""
        dynamic = iter(op.offsets)
        return [
            self.indices.expression_of(
                next(dynamic) if offset == DYNAMIC_INDEX else offset
            )
            for offset in cast(Sequence[int], op.static_offsets.get_values())
        ]

    def define_reinterpret_cast_pointer(self, op: memref.ReinterpretCastOp) -> None:
        """Record the pointer view of a static `memref.reinterpret_cast` result."""
        if op.sizes or op.strides or op.offsets:
            raise DiagnosticException("memref.reinterpret_cast: expected static bounds")
        view = self.views[op.source]
        (offset,) = cast(Sequence[int], op.static_offsets.get_values())
        start = IndexExpr.of_constant(offset)
        if view.offset.constant is None:
            # The static offset of a cast cannot express a dynamic source offset.
            raise DiagnosticException(
                "memref.reinterpret_cast: expected a source at a constant offset"
            )
        type_ = op.result.type
        strides, _ = static_strides_and_offset(type_)
        self.views[op.result] = PointerView(
            view.pointer, start, type_.get_shape(), strides
        )

    def load_expression(self, op: mem.LoadOp, axes: FlatAxes) -> str:
        """
        Return the `tl.load` expression of a `mem.load`, masked if it may be out of
        bounds, as a tile with some axes.
        """
        offsets = self.index_expressions_of(op.mixed_offsets)
        positions = ElementPositions.from_offsets(offsets, axes, op.source_map)
        return self._load_at(op, self.views[op.source], positions, op.box_sizes)

    def merged_load_expression(self, op: mem.LoadOp, axis: int) -> str:
        """
        Return the `tl.load` expression of a `mem.load` with the axes `axis` and
        `axis + 1` as one, which `can_merge_loaded_axes` permits.
        """
        view, offsets = (
            self.views[op.source],
            self.index_expressions_of(op.mixed_offsets),
        )
        row = IndexExpr.of_constant(view.shape[axis + 1])
        merged = PointerView(
            view.pointer,
            view.offset,
            _merge_extents(view.shape, axis),
            (*view.strides[:axis], *view.strides[axis + 1 :]),
        )
        offsets[axis : axis + 2] = [offsets[axis] * row]
        axes = FlatAxes.of_dims(_merge_extents(shape_of(op.value), axis))
        positions = ElementPositions.from_offsets(offsets, axes)
        return self._load_at(op, merged, positions, _merge_extents(op.box_sizes, axis))

    def can_merge_loaded_axes(self, op: mem.LoadOp, axis: int) -> bool:
        """
        Return `True` if a load reads whole rows along `axis + 1` that are contiguous
        with each other along `axis`.
        """
        if not is_identity(op.source_map):
            return False
        view, shape = self.views[op.source], shape_of(op.value)
        row = view.shape[axis + 1]
        return (
            op.mixed_offsets[axis + 1] == 0
            and shape[axis + 1] == op.box_sizes[axis + 1] == row
            and view.strides[axis] == view.strides[axis + 1] * row
        )

    def _load_at(
        self,
        op: mem.LoadOp,
        view: PointerView,
        positions: ElementPositions,
        box_sizes: Sequence[int],
    ) -> str:
        """Return the `tl.load` expression of the elements at some positions."""
        tile_shape = positions.tile_shape
        address = self.pointer_expression(view, positions)
        mask = self.mask_condition(positions, ValidExtents(box_sizes, view.shape))
        invariant_axes = positions.invariant_axes
        if mask is not None and len(invariant_axes) == len(tile_shape) > 0:
            # A scalar pointer requires a scalar condition.
            address, invariant_axes = (
                f"tl.broadcast_to({address}, {list(tile_shape)})",
                [],
            )
        if invariant_axes:
            text = load_in_order(op, address, mask, positions.axes)
            return f"tl.broadcast_to({text}, {list(tile_shape)})"
        steps = positions.steps_in_memory(view.strides)
        item = itemsize_of(op.value)
        order = find_thread_order(tile_shape, steps, item)
        if self.is_unrolled and any(step.is_contiguous for step in steps.values()):
            known = math.gcd(VECTOR_BYTES, item * _known_alignment(view, positions))
            address = _limit_alignment(address, known, len(tile_shape))
        return load_in_order(op, address, mask, positions.axes, order)

    def write_store(self, op: mem.StoreOp, value: str) -> None:
        """Write a `tl.store` of `value`, masked unless all elements are in bounds."""
        view, tile_shape = self.views[op.destination], shape_of(op.value)
        positions = ElementPositions.from_offsets(
            self.index_expressions_of(op.mixed_offsets), FlatAxes.of_dims(tile_shape)
        )
        address = self.pointer_expression(view, positions)
        mask = self.mask_condition(positions, ValidExtents(op.box, view.shape))
        steps = positions.steps_in_memory(view.strides)
        order = find_thread_order(tile_shape, steps, itemsize_of(op.value))
        arguments = [permute_text(each, order) for each in (address, value)]
        if mask is not None:
            arguments.append(f"mask={_permute_mask(mask, tile_shape, order)}")
        self.source.add_line(f"tl.store({', '.join(arguments)})")

    def mask_expression(self, op: mem.MaskOp, value: str) -> str:
        """Return the expression of a masked value; `value` if it is fully in bounds."""
        shape = shape_of(op.source)
        positions = ElementPositions.from_offsets(
            self.index_expressions_of(op.mixed_offsets), FlatAxes.of_dims(shape)
        )
        condition = self.mask_condition(
            positions, ValidExtents(op.valid_box_extents, op.upper_bounds)
        )
        if condition is None:
            return value
        type_ = element_type_of(op.source)
        fill = python_literal_of(op.fill_value, type_)
        other = f"tl.full({list(shape)}, {fill}, {triton_type_name(type_)})"
        return f"tl.where({condition}, {value}, {other})"

    def index_expressions_of(
        self, offsets: Sequence[SSAValue | int]
    ) -> list[IndexExpr]:
        return [self.indices.expression_of(offset) for offset in offsets]

    def _assign_index_variable(self, index: IndexExpr) -> IndexExpr:
        """Return `index` as a kernel variable; atoms and constants are unchanged."""
        if index.is_atom or index.constant is not None:
            return index
        return index.bind_to_variable(self.source.assign_variable("i", index.text))

    def arange_expression(self, extent: int) -> str:
        """Return the expression of the indices of `extent` elements."""
        steps = f"tl.arange(0, {extent})"
        return f"{steps}.to(tl.int64)" if self.wide else steps

    def _steps_along(self, axes: FlatAxes, dim: int) -> str:
        """Return the variable of the indices along a dim, in 32 bits."""
        numbers = f"tl.arange(0, {axes.extent_along(dim)})"
        return self.source.assign_variable_once("r", axes.index_along(dim, numbers))

    def vector_along(self, axes: FlatAxes, dim: int) -> str:
        """Return the variable of the indices along a dim, a vector along its axis."""
        numbers = self.arange_expression(axes.extent_along(dim))
        return self.source.assign_variable_once("r", axes.index_along(dim, numbers))

    def broadcast_along(self, axes: FlatAxes, dim: int, vector: str) -> str:
        """Return a vector along the axis of a dim, with unit axes up to their rank."""
        return broadcast_vector_along_dim(vector, axes.axis_of(dim), len(axes.extents))

    def _position_tile_expression(self, position: Position, axes: FlatAxes) -> str:
        """Return the positions along one dim of a buffer, as a broadcastable tile."""
        self.record_offset_magnitude(
            max(abs(end) for end in position.position_range(axes.shape))
        )
        if not position.terms:
            return position.offset.parenthesised_text
        terms = [] if position.offset.constant == 0 else [position.offset.text]
        if len(position.terms) == 1:
            ((dim, factor),) = position.terms
            numbers = self.arange_expression(axes.extent_along(dim))
            index = axes.index_along(dim, numbers)
            if factor != 1 and index != numbers:
                index = self.vector_along(axes, dim)
            terms.append(_scale_expression(index, factor))
            vector = self.source.assign_variable_once("r", " + ".join(terms))
            return self.broadcast_along(axes, dim, vector)
        terms += self._scaled_offset_terms(position, axes, 1)
        return self.source.assign_variable_once("r", " + ".join(terms))

    def _scaled_offset_terms(
        self, position: Position, axes: FlatAxes, stride: int
    ) -> list[str]:
        """Return the contribution of each term to an offset, scaled by `stride`."""
        return [
            _scale_expression(
                self.broadcast_along(axes, dim, self.vector_along(axes, dim)),
                factor * stride,
            )
            for dim, factor in position.terms
        ]

    def pointer_expression(self, view: PointerView, positions: ElementPositions) -> str:
        """Return the expression of the pointers to the elements of a value."""
        start, axes = view.offset, positions.axes
        reach = max(abs(start.low), abs(start.high))
        for position, stride in zip(positions.along, view.strides, strict=True):
            reach += abs(stride) * max(
                abs(end) for end in position.position_range(axes.shape)
            )
        self.record_offset_magnitude(reach)
        terms: list[str] = []
        for position, stride in zip(positions.along, view.strides, strict=True):
            if len(position.terms) == 1:
                terms.append(
                    _scale_expression(
                        self._position_tile_expression(position, axes), stride
                    )
                )
                continue
            start += position.offset * IndexExpr.of_constant(stride)
            terms += self._scaled_offset_terms(position, axes, stride)
        if start.constant != 0:
            terms.insert(0, start.text)
        return f"{view.pointer} + {' + '.join(terms)}" if terms else view.pointer

    def record_offset_magnitude(self, magnitude: int) -> None:
        """Record that an offset has a magnitude, which decides if it needs 64 bits."""
        self.greatest = max(self.greatest, magnitude)

    def mask_condition(
        self, positions: ElementPositions, extents: ValidExtents
    ) -> str | None:
        """
        Return the condition that elements are valid and their positions are in
        `[0, limit)`, or `None` if it always holds.
        """
        conditions: list[str] = []
        axes = positions.axes
        valid_shape = list(axes.shape)
        for dim, valid in enumerate(extents.valid):
            if valid < axes.shape[dim] and not _is_validity_implied_by_bounds(
                positions, extents, dim
            ):
                condition = f"({self._steps_along(axes, dim)} < {valid})"
                conditions.append(self.broadcast_along(axes, dim, condition))
                valid_shape[dim] = valid
        for position, limit in zip(positions.along, extents.limits, strict=True):
            low, high = position.position_range(valid_shape)
            if low >= 0 and high < limit:
                continue
            tile = self._position_tile_expression(position, axes)
            if position.offset.constant is not None and not position.terms:
                tile = f"tl.full([], {tile}, {'tl.int64' if self.wide else 'tl.int32'})"
            if low < 0:
                conditions.append(_position_comparison_expression(tile, ">= 0"))
            if high >= limit:
                conditions.append(_position_comparison_expression(tile, f"< {limit}"))
        return " & ".join(conditions) if conditions else None


def _merge_extents(extents: Sequence[int], axis: int) -> tuple[int, ...]:
    """Return extents with those of `axis` and `axis + 1` multiplied."""
    product = extents[axis] * extents[axis + 1]
    return (*extents[:axis], product, *extents[axis + 2 :])


def _limit_alignment(address: str, known_bytes: int, rank: int) -> str:
    """
    Return the pointers of a tile in an unrolled loop, aligned as known for all its
    iterations: tiles of iterations that are aligned better would have other layouts.
    """
    if known_bytes == VECTOR_BYTES:
        return address
    return f"tl.multiple_of({address}, {[known_bytes] * rank})"


def _known_alignment(view: PointerView, positions: ElementPositions) -> int:
    """
    Return a number of elements that the starts of all rows are multiples of; 0 if they
    start at the beginning of the buffer.
    """
    alignment = view.offset.divisor
    for position, stride in zip(positions.along, view.strides, strict=True):
        alignment = math.gcd(alignment, position.offset.divisor * stride)
        for _, factor in position.terms:
            if abs(step := factor * stride) != 1:
                alignment = math.gcd(alignment, step)
    return alignment


def _is_validity_implied_by_bounds(
    positions: ElementPositions, extents: ValidExtents, dim: int
) -> bool:
    """
    Return `True` if the bounds condition also excludes invalid elements along a dim.
    """
    return any(
        position.is_along(dim)
        and position.offset.low >= 0
        and position.offset.low + extents.valid[dim] >= limit
        for position, limit in zip(positions.along, extents.limits, strict=True)
    )


def load_in_order(
    op: mem.LoadOp | mem.Im2colOp,
    address: str,
    mask: str | None,
    axes: FlatAxes,
    order: Sequence[int] | None = None,
) -> str:
    """
    Return the expression of a load, masked if there is a mask, whose tile the threads
    fill in an order of its axes, if given.
    """
    address = permute_text(address, order)
    if mask is None:
        text = f"tl.load({address}{eviction_argument(op)})"
    else:
        mask = _permute_mask(mask, axes.extents, order)
        text = masked_load(op, address, mask)
    return text if order is None else permute_text(text, inverse_order(tuple(order)))


def _permute_mask(mask: str, shape: Sequence[int], order: Sequence[int] | None) -> str:
    """Return a condition, which may be a scalar, with the dims of its tile in order."""
    if order is None:
        return mask
    return permute_text(f"tl.broadcast_to({mask}, {list(shape)})", order)


def masked_load(
    op: mem.LoadOp | mem.GatherOp | mem.Im2colOp, address: str, mask: str
) -> str:
    """
    Return the expression of a masked load. Masked elements have the fill value of the
    operation, if it has one.

    Triton 3.6 repeats a negative 8-bit or 16-bit constant with the bits of its sign
    extension, so that masked elements of a vectorized load are -1.
    """
    hint = eviction_argument(op)
    if op.fill_value is None:
        return f"tl.load({address}, mask={mask}{hint})"
    type_ = element_type_of(op.value)
    text = python_literal_of(op.fill_value, type_)
    if str(type_) in ("i8", "i16") and op.fill_value < 0:
        fill = f"tl.full([], {text}, {triton_type_name(type_)})"
        text = f"tl.load({address}, mask={mask}, other=0{hint})"
        return f"tl.where({mask}, {text}, {fill})"
    if str(type_) == "f64":
        # Triton rounds a Python literal to f32.
        text = f"tl.full([], {text}, tl.float64)"
    return f"tl.load({address}, mask={mask}, other={text}{hint})"


def _scale_expression(text: str, factor: int) -> str:
    if factor == 1:
        return text
    return f"{text} * {factor}"


def _position_comparison_expression(tile: str, comparison: str) -> str:
    """Return a comparison of positions; a vector is compared before it is broadcast."""
    vector, bracket, indices = tile.partition("[")
    if not bracket or not vector.isidentifier():
        return f"({tile} {comparison})"
    return f"({vector} {comparison})[{indices}"


def broadcast_vector_along_dim(vector: str, dim: int, rank: int) -> str:
    """
    Return the expression of a vector along `dim`, with unit dims up to rank `rank`.
    """
    if rank == 1:
        return vector
    indices = ", ".join(":" if axis == dim else "None" for axis in range(rank))
    return f"{vector}[{indices}]"
