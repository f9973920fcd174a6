"""
Lowering of the operations of a group to operations on tiles, with the slices of their
operands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from xdsl.builder import Builder
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from tlf.analysis.operations.banded_matmul import SystolicArray
from tlf.analysis.tiling.banded_windows import banded_matmul_of
from tlf.analysis.tiling.box_covering import is_moved_by
from tlf.analysis.tiling.group_tiling import (
    GroupTiling,
    LoopLevel,
    TiledOperation,
    is_covering,
    is_same_box,
)
from tlf.analysis.tiling.input_slices import loop_level_of
from tlf.analysis.tiling.window_tile import RollingWindow
from tlf.dialects import graph, tile
from tlf.dialects.concat_like_interface import ConcatLikeInterface
from tlf.dialects.interfaces import (
    ContractionInterface,
    IndexedInterface,
    PositionInterface,
    Scalar,
    TilingInterface,
    to_affine_map,
)
from tlf.dialects.padding_interface import PaddingInterface, padding_amounts
from tlf.dialects.types import AnyTensor, tensor_type
from tlf.lowering.graph_to_tile.offset_builder import (
    OffsetBuilder,
    add_offsets,
    source_map,
)
from tlf.lowering.graph_to_tile.slice_sources import find_slice_source
from tlf.support.affine.index_access import AffineSum, Box, Interval, accessed_box

InvariantBuilder: TypeAlias = Callable[[Box], Builder]
"""
Function from a box to the builder at which its tile is sliced: outside all loops that
the box is invariant in.
"""

SlicedTiles: TypeAlias = dict[tuple[SSAValue, LoopLevel], list[tuple[Box, SSAValue]]]
"""Tiles sliced so far from each input at each loop level."""

WindowTiles: TypeAlias = Mapping[tuple[SSAValue, int], SSAValue]
"""Rolling windows of the previous iteration, by value and read index."""


class TileEmitter:
    """Emitter of the operations of a group on tiles."""

    def __init__(
        self,
        tiling: GroupTiling,
        inputs: Mapping[SSAValue, SSAValue],
        level: str,
        indices: OffsetBuilder,
        home: InvariantBuilder,
        cuts: SlicedTiles,
        windows: WindowTiles | None = None,
    ) -> None:
        self.tiling = tiling
        self.inputs = inputs
        self.level = level
        self.indices = indices
        self.home = home
        self.cuts = cuts
        self.windows = windows or {}
        self.rolled: dict[tuple[SSAValue, int], SSAValue] = {}
        """Rolling windows after their update in the current iteration."""
        self.values: dict[SSAValue, SSAValue] = {}
        self.is_last = False
        """`True` in the last iteration, in which no producer runs ahead."""

    def begin_iteration(self, windows: WindowTiles) -> None:
        """Begin an iteration with the rolling windows of the previous one."""
        self.windows = windows
        for (value, _), window in windows.items():
            if self.tiling.is_prefetched(value):
                self.values[value] = window

    def slice_movement(self, builder: Builder, tiled: TiledOperation) -> SSAValue:
        """Slice the tile of a movement's result directly from its operand."""
        op = tiled.op
        accesses = op.indexing_maps()[0] or ()
        offsets = [
            sum(
                (
                    tiled.box[iterator].offset * factor
                    for iterator, factor in access.terms
                ),
                AffineSum(access.offset),
            )
            for access in accesses
        ]
        source = self.inputs[op.operands[0]]
        type_ = tensor_type(op.results[0])
        starts = [self.indices.build_offset(builder, offset) for offset in offsets]
        result_type = self.tile_type(type_, tiled.result)
        fill, valid = (
            op.padding_value(0),
            valid_extents(tiled.result, type_.get_shape()),
        )
        map_ = source_map(accesses, op.result_indexing_maps()[0])
        if isinstance(op, IndexedInterface):
            axis, position = op.indexed_axis, op.index_operand
            index_accesses = op.indexing_maps()[position] or ()
            box = accessed_box(index_accesses, tiled.box)
            indices = self.fetch(builder, op, position, box, tiled.loop_level)
            maps = (map_, source_map(index_accesses, op.result_indexing_maps()[0]))
            slice_op = tile.GatherOp(
                source, starts, axis, indices, maps, result_type, fill, valid
            )
        else:
            slice_op = tile.SliceOp(source, starts, result_type, fill, valid, map_)
        slice_op.location = op.location
        return builder.insert(slice_op).result

    def compute_tile(self, builder: Builder, tiled: TiledOperation) -> SSAValue:
        """Build an operation on the tiles of its operands."""
        operands: list[SSAValue] = []
        for position, accesses in enumerate(tiled.op.indexing_maps()):
            value = tiled.op.operands[position]
            if accesses is None:
                operands.append(self.inputs.get(value, value))
                continue
            box = self.operand_box(tiled, position)
            operands.append(
                self.fetch(builder, tiled.op, position, box, tiled.loop_level)
            )
        if tiled.facts.is_unit_stride_slice:
            return operands[0]
        return self.build_operation(builder, tiled, operands)

    def operand_box(self, tiled: TiledOperation, operand: int) -> Box:
        """Return the box of an operand that a tile of an operation reads."""
        box = tiled.reads[operand]
        assert box is not None
        return box

    def build_operation(
        self, builder: Builder, tiled: TiledOperation, operands: Sequence[SSAValue]
    ) -> SSAValue:
        """Build an operation on the given operand tiles."""
        op = tiled.op
        computed = tiled.computed_box
        types = [self.tile_type(tensor_type(op.results[0]), computed)]
        array = self.tiling.rules.array
        if (
            banded_matmul := _build_banded_matmul(array, tiled, operands, types[0])
        ) is not None:
            new = banded_matmul
        elif isinstance(op, PositionInterface):
            position = self.indices.build_box_offsets(builder, computed)
            new = op.tiled_implementation_at(
                operands, types, position, partial(add_offsets, builder)
            )
        elif isinstance(op, PaddingInterface):
            unclipped = accessed_box(op.indexing_maps()[0] or (), tiled.box)
            padding = padding_amounts(unclipped, self.operand_box(tiled, 0))
            new = op.padded_tiled_implementation(operands, types, padding)
        else:
            new = op.tiled_implementation(operands, types)
        new.location = op.location
        return builder.insert(new).results[0]

    def record_result(
        self, builder: Builder, tiled: TiledOperation, result: SSAValue
    ) -> None:
        """Record the tile of an operation, appended to its rolling window if any."""
        value = tiled.op.results[0]
        result.name_hint = value.name_hint
        if (window := self.tiling.windows.get((value, 0))) is not None:
            new_slices = self.slice_view(
                builder, result, tiled.computed_box, window.new_part
            )
            new_slices = self._fill_window(builder, value, new_slices, window)
            result = self._roll_window(builder, (value, 0), new_slices, window)
            if window.is_prefetched:
                return
        self.values[value] = result

    def _fill_window(
        self, builder: Builder, value: SSAValue, fresh: SSAValue, window: RollingWindow
    ) -> SSAValue:
        """
        Return the new elements of a window, with the fill that all readers expect
        outside the tensor.
        """
        if window.fill is None:
            return fresh
        return self.mask_outside(builder, value, fresh, window.new_part, window.fill)

    def mask_outside(
        self,
        builder: Builder,
        value: SSAValue,
        part: SSAValue,
        box: Box,
        fill: Scalar,
    ) -> SSAValue:
        """Return a subview of a value with `fill` outside the tensor bounds."""
        bounds = tensor_type(value).get_shape()
        offsets = self.indices.build_box_offsets(builder, box)
        valid = valid_extents(box, bounds)
        return builder.insert(tile.MaskOp(part, offsets, bounds, fill, valid)).result

    def _mask_padding(
        self,
        builder: Builder,
        value: SSAValue,
        part: SSAValue,
        box: Box,
        fill: Scalar,
    ) -> SSAValue:
        """Mask a subview; mask each operand of a concat so that loads fill it."""
        producer = part.owner
        if not isinstance(producer, ConcatLikeInterface):
            return self.mask_outside(builder, value, part, box, fill)
        op = value.owner
        assert isinstance(op, Operation)
        parts: list[SSAValue] = []
        for operand, tile_ in zip(op.operands, producer.operands, strict=True):
            operand_box = _concat_operand_box(
                box, tensor_type(value), tensor_type(operand)
            )
            if operand in self.inputs and not self._is_in_tile_level(operand):
                parts.append(self.slice_input(builder, operand, operand_box, fill))
            else:
                parts.append(
                    self._mask_padding(builder, operand, tile_, operand_box, fill)
                )
        concat = producer.tiled_implementation(parts, producer.result_types)
        concat.location = producer.location
        return builder.insert(concat).results[0]

    def _roll_window(
        self,
        builder: Builder,
        key: tuple[SSAValue, int],
        fresh: SSAValue,
        window: RollingWindow,
    ) -> SSAValue:
        roll = tile.RollOp(self.windows[key], fresh, window.axis)
        self.rolled[key] = builder.insert(roll).result
        self.rolled[key].name_hint = key[0].name_hint
        return self.rolled[key]

    def fetch(
        self,
        builder: Builder,
        op: TilingInterface,
        position: int,
        box: Box,
        scope: LoopLevel,
    ) -> SSAValue:
        """Return tile `box` of an operand, with its padding filled if required."""
        value = op.operands[position]
        border = self.tiling.padding_value(op, position)
        if value in self.inputs:
            return self.slice_once(builder, value, box, scope, border)
        producer = value.owner
        assert isinstance(producer, Operation)
        computed = self.tiling.tiles[producer].result
        subview = self.slice_view(builder, self.values[value], computed, box)
        if border is None or (value, 0) in self.tiling.windows:
            return subview
        return self._mask_padding(builder, value, subview, box, border)

    def slice_once(
        self,
        builder: Builder,
        value: SSAValue,
        box: Box,
        scope: LoopLevel,
        border: Scalar | None,
    ) -> SSAValue:
        """Slice an input tile once for all readers whose boxes it covers."""
        level = loop_level_of(self.tiling, box, scope)
        moving = level is not LoopLevel.OUTER
        boxes = self.tiling.reads[value, level]
        covering = [n for n, each in enumerate(boxes) if is_covering(each, box)]
        index = min(covering, key=lambda n: not is_same_box(boxes[n], box))
        covering_box, window = boxes[index], None
        if self._is_in_tile_level(value):
            is_invariant = not moving and not self._is_rolling_box(box)
            return self.slice_input(
                self.home(box) if is_invariant else builder, value, box, border
            )
        if level is LoopLevel.OUTER:
            window = self.tiling.windows.get((value, index))
            if (
                window is not None
                and self.is_last
                and is_covering(window.previous_tile, box)
            ):
                previous = self.windows[value, index]
                return self.slice_view(builder, previous, window.previous_tile, box)
            builder = (
                builder
                if self._is_rolling_box(covering_box)
                else self.home(covering_box)
            )
        slices = self.cuts.setdefault((value, level), [])
        for other, tile_ in slices:
            if is_same_box(other, covering_box) and (
                window or _has_fill(tile_, border)
            ):
                return self.slice_view(builder, tile_, covering_box, box)
        if window is None:
            tile_ = self.slice_input(builder, value, covering_box, border)
        else:
            new_slices = self.slice_input(builder, value, window.new_part, window.fill)
            tile_ = self._roll_window(builder, (value, index), new_slices, window)
        slices.append((covering_box, tile_))
        return self.slice_view(builder, tile_, covering_box, box)

    def _is_in_tile_level(self, value: SSAValue) -> bool:
        """Return `True` if an input is in the tile level, so that slices are views."""
        return tile.level_of(self.inputs[value].type) == self.level

    def _is_rolling_box(self, box: Box) -> bool:
        """Return `True` if a box moves with the rolling loop."""
        loop = self.tiling.rolling_loop
        return loop is not None and is_moved_by(box, (loop,))

    def slice_input(
        self, builder: Builder, value: SSAValue, box: Box, border: Scalar | None
    ) -> SSAValue:
        """Slice a tile of an input, or return the input if it equals the tile."""
        source = self.inputs[value]
        is_at_origin = all(interval.offset == AffineSum() for interval in box)
        if is_at_origin and source.type == self.tile_type(tensor_type(value), box):
            return source
        offsets = self.indices.build_box_offsets(builder, box)
        slice_source = find_slice_source(builder, source, box, offsets, border)
        slice_op = tile.SliceOp(
            slice_source.value,
            slice_source.offsets,
            self.tile_type(tensor_type(value), box),
            slice_source.fill,
            valid_extents(box, tensor_type(source).get_shape()),
        )
        result = builder.insert(slice_op).result
        result.name_hint = value.name_hint
        return result

    def slice_view(
        self, builder: Builder, value: SSAValue, whole: Box, part: Box
    ) -> SSAValue:
        """Return the subview of tile `whole` for the inner box `part`."""
        if is_same_box(whole, part):
            return value
        offsets = [
            self.indices.build_offset(builder, inner.offset - outer.offset)
            for inner, outer in zip(part, whole, strict=True)
        ]
        type_ = self.tile_type(tensor_type(value), part)
        return builder.insert(tile.SliceOp(value, offsets, type_)).result

    def tile_type(self, model: AnyTensor, box: Box) -> TensorType[Attribute]:
        """Return the type of a tile for a box."""
        return self.resident_type(model, [interval.tile_extent for interval in box])

    def resident_type(
        self, model: AnyTensor, shape: Sequence[int]
    ) -> TensorType[Attribute]:
        """Return the type of a tensor of the given shape in the level of the tiles."""
        axes = tile.layout_of(model) if self.tiling.rules.is_axis_ordered else ()
        encoding = tile.EncodingAttr(self.level, axes)
        return TensorType(model.element_type, shape, encoding)


def _concat_operand_box(box: Box, whole: AnyTensor, part: AnyTensor) -> Box:
    """Return the box of a concat operand: its full extent along the concat axis."""
    return tuple(
        interval if extent == own else Interval.whole(own)
        for interval, extent, own in zip(
            box, whole.get_shape(), part.get_shape(), strict=True
        )
    )


def valid_extents(box: Box, bounds: Sequence[int]) -> list[int] | None:
    """
    Return the valid extents of a tile along each axis, or `None` if the tile is fully
    valid or the tensor bounds imply the extents.
    """
    is_implied = [
        interval.tile_extent == interval.size
        or (
            not interval.offset.terms
            and interval.offset.constant + interval.size >= bound
        )
        for interval, bound in zip(box, bounds, strict=True)
    ]
    return None if all(is_implied) else [interval.size for interval in box]


def _has_fill(cut: SSAValue, border: float | None) -> bool:
    """Return `True` if a slice is filled with `border`, or no border is required."""
    if border is None:
        return True
    owner = cut.owner
    if not isinstance(owner, tile.SliceOp) or owner.fill is None:
        return False
    return owner.fill.value.data == border


def _build_banded_matmul(
    array: SystolicArray | None,
    tiled: TiledOperation,
    operands: Sequence[SSAValue],
    type_: Attribute,
) -> Operation | None:
    """Build a tiled operation as a banded matmul, or return `None` if it is not one."""
    op, form = tiled.op, tiled.facts
    bands = banded_matmul_of(array, op, tiled.box, form)
    if bands is None or not isinstance(op, ContractionInterface):
        return None
    domain = bands.domain_extents
    maps = [
        to_affine_map(each, len(domain)).data
        for each in bands.tile_accesses(form.indexing_maps, form.result_map)
    ]
    acc = op.accumulator_type
    return graph.LinearContractOp(operands, domain, maps, type_, acc, op.precision)
