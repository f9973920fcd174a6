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
from tlf.analysis.tiling.box_covering import is_box_moved_by
from tlf.analysis.tiling.group_tiling import (
    GroupTiling,
    LoopLevel,
    TiledOperation,
    is_box_covering,
    is_same_box,
)
from tlf.analysis.tiling.input_slices import loop_level_of_input_tile
from tlf.analysis.tiling.window_tile import RollingWindow
from tlf.dialects import graph, tile
from tlf.dialects.concat_like_interface import ConcatLikeInterface
from tlf.dialects.interfaces import (
    ContractionInterface,
    DelinearizedReadInterface,
    IndexedReadInterface,
    PositionDependentInterface,
    Scalar,
    ScanInterface,
    TilingInterface,
    to_affine_map,
)
from tlf.dialects.padding_interface import PaddingInterface, padding_of_clipped_box
from tlf.dialects.shared_attributes import share_tile_type
from tlf.dialects.types import AnyTensor, tensor_type
from tlf.lowering.graph_to_tile.offset_builder import (
    OffsetBuilder,
    build_offset_sum,
    result_to_operand_map,
)
from tlf.lowering.graph_to_tile.slice_sources import find_slice_source
from tlf.support.affine.index_access import (
    Accesses,
    AffineSum,
    Box,
    Interval,
    accessed_box,
)

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
    """
    Builder of the operations of a group on `tile` slices, with the tile of each value.
    """

    def __init__(
        self,
        tiling: GroupTiling,
        inputs: Mapping[SSAValue, SSAValue],
        level: str,
        indices: OffsetBuilder,
        builder_for_invariant_box: InvariantBuilder,
        sliced_tiles: SlicedTiles,
        windows: WindowTiles | None = None,
    ) -> None:
        self.tiling = tiling
        self.inputs = inputs
        self.level = level
        self.indices = indices
        self.home = builder_for_invariant_box
        self.cuts = sliced_tiles
        self.windows = windows or {}
        self.rolled: dict[tuple[SSAValue, int], SSAValue] = {}
        """Rolling windows after their update in the current iteration."""
        self.scan_totals: dict[ScanInterface, SSAValue] = {}
        """Totals of the scans over all previous tiles, in a loop over them."""
        self.values: dict[SSAValue, SSAValue] = {}
        self.is_last = False
        """`True` in the last iteration, in which no producer runs ahead."""

    def set_previous_windows(self, previous_windows: WindowTiles) -> None:
        """Begin an iteration with the rolling windows of the previous one."""
        self.windows = previous_windows
        for (value, _), window in previous_windows.items():
            if self.tiling.is_prefetched(value):
                self.values[value] = window

    def begin_reduction_loop(self, values: Mapping[SSAValue, SSAValue]) -> None:
        """Forget the tiles of an earlier reduction loop; restore those before it."""
        self.values = dict(values)
        for key in [key for key in self.cuts if key[1] is not LoopLevel.OUTER]:
            del self.cuts[key]

    def build_splat_result(
        self, builder: Builder, tiled: TiledOperation, number: Scalar
    ) -> None:
        """Build the tile of an operation as a constant, and record it."""
        result = tiled.op.results[0]
        type_ = self.tile_type_of_box(tensor_type(result), tiled.computed_box)
        constant = graph.ConstantOp.from_splat(number, type_)
        self.record_result_tile(builder, tiled, builder.insert(constant).result)

    def slice_movement_result(
        self, builder: Builder, tiled: TiledOperation
    ) -> SSAValue:
        """Slice the tile of a movement's result directly from its operand."""
        op = tiled.op
        if isinstance(op, DelinearizedReadInterface):
            return self._load_windows(builder, op, tiled.result)
        accesses = op.indexing_maps()[0] or ()
        offsets = _compute_access_offsets(accesses, tiled.box)
        source = self.inputs[op.operands[0]]
        type_ = tensor_type(op.results[0])
        starts = [self.indices.build_offset(builder, offset) for offset in offsets]
        result_type = self.tile_type_of_box(type_, tiled.result)
        fill, valid = (
            op.padding_value(0),
            valid_tile_extents(tiled.result, type_.get_shape()),
        )
        map_ = result_to_operand_map(accesses, op.result_indexing_maps()[0])
        if isinstance(op, IndexedReadInterface):
            axis, position = op.indexed_axis, op.indices_operand_index
            index_accesses = op.indexing_maps()[position] or ()
            box = accessed_box(index_accesses, tiled.box)
            indices = self.fetch_operand_tile(
                builder, op, position, box, tiled.loop_level
            )
            maps = (
                map_,
                result_to_operand_map(index_accesses, op.result_indexing_maps()[0]),
            )
            slice_op = tile.GatherOp(
                source, starts, axis, indices, maps, result_type, fill, valid
            )
        else:
            slice_op = tile.SliceOp(source, starts, result_type, fill, valid, map_)
        slice_op.location = op.location
        return builder.insert(slice_op).result

    def _load_windows(
        self, builder: Builder, op: DelinearizedReadInterface, box: Box
    ) -> SSAValue:
        """Load the box of a movement's result from its operand in memory."""
        type_ = tensor_type(op.results[0])
        load = tile.Im2colOp(
            self.inputs[op.operands[0]],
            self.indices.build_box_offsets(builder, box),
            op.delinearized_access,
            self.tile_type_of_box(type_, box),
            op.fill_value,
            valid_tile_extents(box, type_.get_shape()),
        )
        load.location = op.location
        return builder.insert(load).result

    def build_operation_on_fetched_tiles(
        self, builder: Builder, tiled: TiledOperation
    ) -> SSAValue:
        """
        Fetch the operand tiles of an operation, build it on them, and return its result
        tile.
        """
        operands: list[SSAValue] = []
        for position, accesses in enumerate(tiled.op.indexing_maps()):
            value = tiled.op.operands[position]
            if accesses is None:
                operands.append(self.inputs.get(value, value))
                continue
            box = self.operand_box(tiled, position)
            operands.append(
                self.fetch_operand_tile(
                    builder, tiled.op, position, box, tiled.loop_level
                )
            )
        if tiled.facts.is_unit_stride_slice:
            return operands[0]
        return self.build_operation_on_tiles(builder, tiled, operands)

    def operand_box(self, tiled: TiledOperation, operand_index: int) -> Box:
        """Return the box of an operand that a tile of an operation reads."""
        box = tiled.reads[operand_index]
        assert box is not None
        return box

    def build_operation_on_tiles(
        self, builder: Builder, tiled: TiledOperation, operand_tiles: Sequence[SSAValue]
    ) -> SSAValue:
        """
        Build the tiled form of an operation on the given operand tiles, and return its
        result.
        """
        op = tiled.op
        computed = tiled.computed_box
        types = [self.tile_type_of_box(tensor_type(op.results[0]), computed)]
        array = self.tiling.rules.array
        if (
            banded_matmul := _try_build_banded_matmul(
                array, tiled, operand_tiles, types[0]
            )
        ) is not None:
            new = banded_matmul
        elif isinstance(op, PositionDependentInterface):
            position = self.indices.build_box_offsets(builder, computed)
            new = op.tiled_implementation_at(
                operand_tiles, types, position, partial(build_offset_sum, builder)
            )
        elif isinstance(op, PaddingInterface):
            unclipped = accessed_box(op.indexing_maps()[0] or (), tiled.box)
            padding = padding_of_clipped_box(unclipped, self.operand_box(tiled, 0))
            new = op.padded_tiled_implementation(operand_tiles, types, padding)
        else:
            new = op.tiled_implementation(operand_tiles, types)
        new.location = op.location
        result = builder.insert(new).results[0]
        if isinstance(op, ScanInterface) and op in self.scan_totals:
            return self._continue_scan(builder, op, operand_tiles[0], result)
        return result

    def _continue_scan(
        self, builder: Builder, op: ScanInterface, tile_: SSAValue, scanned: SSAValue
    ) -> SSAValue:
        """
        Return the scan of a tile and of all previous tiles, and update their total.
        """
        total = self.scan_totals[op]
        result, self.scan_totals[op] = op.build_continuation(
            builder, tile_, scanned, total
        )
        return result

    def record_result_tile(
        self, builder: Builder, tiled: TiledOperation, result_tile: SSAValue
    ) -> None:
        """Record the tile of an operation, appended to its rolling window if any."""
        value = tiled.op.results[0]
        result_tile.name_hint = value.name_hint
        if (window := self.tiling.windows.get((value, 0))) is not None:
            new_slices = self.slice_subview_of_tile(
                builder, result_tile, tiled.computed_box, window.new_part
            )
            new_slices = self._mask_new_window_elements(
                builder, value, new_slices, window
            )
            result_tile = self._append_to_rolling_window(
                builder, (value, 0), new_slices, window
            )
            if window.is_prefetched:
                return
        self.values[value] = result_tile

    def _mask_new_window_elements(
        self,
        builder: Builder,
        value: SSAValue,
        new_elements: SSAValue,
        window: RollingWindow,
    ) -> SSAValue:
        """
        Return the new elements of a window, with the fill that all readers expect
        outside the tensor.
        """
        if window.fill is None:
            return new_elements
        return self.mask_out_of_bounds(
            builder, value, new_elements, window.new_part, window.fill
        )

    def mask_out_of_bounds(
        self,
        builder: Builder,
        value: SSAValue,
        subview: SSAValue,
        box: Box,
        fill: Scalar,
    ) -> SSAValue:
        """Return a subview of a value with `fill` outside the tensor bounds."""
        bounds = tensor_type(value).get_shape()
        offsets = self.indices.build_box_offsets(builder, box)
        valid = valid_tile_extents(box, bounds)
        return builder.insert(tile.MaskOp(subview, offsets, bounds, fill, valid)).result

    def _mask_subview_or_concat_operands(
        self,
        builder: Builder,
        value: SSAValue,
        subview: SSAValue,
        box: Box,
        fill: Scalar,
    ) -> SSAValue:
        """
        Mask a subview, unless it is loaded with the fill; mask each operand of a concat
        so that loads fill it.
        """
        producer = subview.owner
        if isinstance(producer, tile.Im2colOp) and _has_required_fill(subview, fill):
            return subview
        if not isinstance(producer, ConcatLikeInterface):
            return self.mask_out_of_bounds(builder, value, subview, box, fill)
        op = value.owner
        assert isinstance(op, Operation)
        parts: list[SSAValue] = []
        for operand, tile_ in zip(op.operands, producer.operands, strict=True):
            operand_box = _concat_operand_box(
                box, tensor_type(value), tensor_type(operand)
            )
            if operand in self.inputs and not self._is_in_tile_level(operand):
                parts.append(self.slice_input_tile(builder, operand, operand_box, fill))
            else:
                parts.append(
                    self._mask_subview_or_concat_operands(
                        builder, operand, tile_, operand_box, fill
                    )
                )
        concat = producer.tiled_implementation(parts, producer.result_types)
        concat.location = producer.location
        return builder.insert(concat).results[0]

    def _append_to_rolling_window(
        self,
        builder: Builder,
        window_key: tuple[SSAValue, int],
        new_slices: SSAValue,
        window: RollingWindow,
    ) -> SSAValue:
        """Insert a `tile.roll` of `new_slices` into a window, and record its result."""
        roll = tile.RollOp(self.windows[window_key], new_slices, window.axis)
        self.rolled[window_key] = builder.insert(roll).result
        self.rolled[window_key].name_hint = window_key[0].name_hint
        return self.rolled[window_key]

    def fetch_operand_tile(
        self,
        builder: Builder,
        op: TilingInterface,
        operand_index: int,
        box: Box,
        loop_level: LoopLevel,
    ) -> SSAValue:
        """Return tile `box` of an operand, with its padding filled if required."""
        value = op.operands[operand_index]
        border = self.tiling.padding_value(op, operand_index)
        if value in self.inputs:
            return self.slice_shared_input_tile(builder, value, box, loop_level, border)
        producer = value.owner
        assert isinstance(producer, Operation)
        computed = self.tiling.tiles[producer].result
        subview = self.slice_subview_of_tile(builder, self.values[value], computed, box)
        if border is None or (value, 0) in self.tiling.windows:
            return subview
        return self._mask_subview_or_concat_operands(
            builder, value, subview, box, border
        )

    def slice_shared_input_tile(
        self,
        builder: Builder,
        value: SSAValue,
        box: Box,
        loop_level: LoopLevel,
        required_fill: Scalar | None,
    ) -> SSAValue:
        """Slice an input tile once for all readers whose boxes it covers."""
        level = loop_level_of_input_tile(self.tiling, box, loop_level)
        moving = level is not LoopLevel.OUTER
        boxes = self.tiling.reads[value, level]
        index = _find_covering_box(boxes, box)
        covering_box, window = boxes[index], None
        if self._is_in_tile_level(value):
            return self._slice_tile_of_tile_level(
                builder, value, box, required_fill, moving
            )
        if level is LoopLevel.OUTER:
            window = self.tiling.windows.get((value, index))
            if (
                window is not None
                and self.is_last
                and is_box_covering(window.previous_tile, box)
            ):
                previous = self.windows[value, index]
                return self.slice_subview_of_tile(
                    builder, previous, window.previous_tile, box
                )
            if not self._is_moved_by_sequential_loop(covering_box):
                builder = self.home(covering_box)
        slices = self.cuts.setdefault((value, level), [])
        tile_ = _find_shared_tile(slices, covering_box, window, required_fill)
        if tile_ is not None:
            return self.slice_subview_of_tile(builder, tile_, covering_box, box)
        tile_ = self._slice_covering_tile(
            builder, (value, index), covering_box, window, required_fill
        )
        slices.append((covering_box, tile_))
        return self.slice_subview_of_tile(builder, tile_, covering_box, box)

    def _slice_tile_of_tile_level(
        self,
        builder: Builder,
        value: SSAValue,
        box: Box,
        required_fill: Scalar | None,
        moving: bool,
    ) -> SSAValue:
        """Slice a value in the level of the tiles, outside the loops if invariant."""
        is_invariant = not moving and not self._is_moved_by_sequential_loop(box)
        return self.slice_input_tile(
            self.home(box) if is_invariant else builder, value, box, required_fill
        )

    def _slice_covering_tile(
        self,
        builder: Builder,
        key: tuple[SSAValue, int],
        covering_box: Box,
        window: RollingWindow | None,
        required_fill: Scalar | None,
    ) -> SSAValue:
        """
        Build the slice of a whole input tile, or append only its new part to the
        rolling window, and return the tile.
        """
        if window is None:
            return self.slice_input_tile(builder, key[0], covering_box, required_fill)
        else:
            new_slices = self.slice_input_tile(
                builder, key[0], window.new_part, window.fill
            )
            return self._append_to_rolling_window(builder, key, new_slices, window)

    def _is_in_tile_level(self, value: SSAValue) -> bool:
        """Return `True` if an input is in the tile level, so that slices are views."""
        return tile.level_of(self.inputs[value].type) == self.level

    def _is_moved_by_sequential_loop(self, box: Box) -> bool:
        """Return `True` if a box moves with the rolling loop, or that of scans."""
        loop = self.tiling.sequential_loop
        return loop is not None and is_box_moved_by(box, (loop,))

    def slice_input_tile(
        self, builder: Builder, value: SSAValue, box: Box, required_fill: Scalar | None
    ) -> SSAValue:
        """Slice a tile of an input, or return the input if it equals the tile."""
        source = self.inputs[value]
        is_at_origin = all(interval.offset == AffineSum() for interval in box)
        if is_at_origin and source.type == self.tile_type_of_box(
            tensor_type(value), box
        ):
            return source
        offsets = self.indices.build_box_offsets(builder, box)
        slice_source = find_slice_source(builder, source, box, offsets, required_fill)
        slice_op = tile.SliceOp(
            slice_source.value,
            slice_source.offsets,
            self.tile_type_of_box(tensor_type(value), box),
            slice_source.fill,
            valid_tile_extents(box, tensor_type(source).get_shape()),
        )
        result = builder.insert(slice_op).result
        result.name_hint = value.name_hint
        return result

    def slice_subview_of_tile(
        self, builder: Builder, value: SSAValue, tile_box: Box, inner_box: Box
    ) -> SSAValue:
        """Return the subview of tile `tile_box` for the inner box `inner_box`."""
        if is_same_box(tile_box, inner_box):
            return value
        offsets = [
            self.indices.build_offset(builder, inner.offset - outer.offset)
            for inner, outer in zip(inner_box, tile_box, strict=True)
        ]
        type_ = self.tile_type_of_box(tensor_type(value), inner_box)
        return builder.insert(tile.SliceOp(value, offsets, type_)).result

    def tile_type_of_box(self, full_type: AnyTensor, box: Box) -> TensorType[Attribute]:
        """Return the type of a tile for a box."""
        return self.type_in_tile_level(
            full_type, [interval.tile_extent for interval in box]
        )

    def type_in_tile_level(
        self, full_type: AnyTensor, shape: Sequence[int]
    ) -> TensorType[Attribute]:
        """Return the type of a tensor of the given shape in the level of the tiles."""
        axes = tile.layout_of(full_type) if self.tiling.rules.is_axis_ordered else ()
        return share_tile_type(full_type.element_type, shape, self.level, axes)


def _find_covering_box(boxes: Sequence[Box], box: Box) -> int:
    """Return the index of a box that covers another, the same box if there is one."""
    covering = [n for n, each in enumerate(boxes) if is_box_covering(each, box)]
    return min(covering, key=lambda n: not is_same_box(boxes[n], box))


def _find_shared_tile(
    slices: Sequence[tuple[Box, SSAValue]],
    covering_box: Box,
    window: RollingWindow | None,
    required_fill: Scalar | None,
) -> SSAValue | None:
    """Return the tile that was sliced for a box, if its fill is as required."""
    for other, tile_ in slices:
        if is_same_box(other, covering_box) and (
            window or _has_required_fill(tile_, required_fill)
        ):
            return tile_
    return None


def _compute_access_offsets(accesses: Accesses, box: Box) -> list[AffineSum]:
    """Return the offset along each axis at which accesses read for a box."""
    return [
        sum(
            (box[iterator].offset * factor for iterator, factor in access.terms),
            AffineSum(access.offset),
        )
        for access in accesses
    ]


def _concat_operand_box(
    box: Box, result_type: AnyTensor, operand_type: AnyTensor
) -> Box:
    """Return the box of a concat operand: its full extent along the concat axis."""
    return tuple(
        interval if extent == own else Interval.whole(own)
        for interval, extent, own in zip(
            box, result_type.get_shape(), operand_type.get_shape(), strict=True
        )
    )


def valid_tile_extents(box: Box, bounds: Sequence[int]) -> list[int] | None:
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


def _has_required_fill(slice_value: SSAValue, required_fill: float | None) -> bool:
    """
    Return `True` if a slice is filled with `required_fill`, or no border is required.
    """
    if required_fill is None:
        return True
    owner = slice_value.owner
    if not isinstance(owner, tile.SliceOp | tile.Im2colOp) or owner.fill is None:
        return False
    return owner.fill.value.data == required_fill


def _try_build_banded_matmul(
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
