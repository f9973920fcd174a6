"""Compute the tiles that a group's analysis found, operation by operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from xdsl.builder import Builder
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from tlf.analysis.tiling.boxes import moves_with
from tlf.analysis.tiling.model import (
    GroupTiling,
    Scope,
    TiledOperation,
    covers,
    same_box,
)
from tlf.analysis.tiling.reads import place_of
from tlf.analysis.tiling.window import Window
from tlf.dialects import tile
from tlf.dialects.interfaces import (
    IndexedInterface,
    PositionInterface,
    Scalar,
    TilingInterface,
)
from tlf.dialects.joining import JoiningInterface
from tlf.dialects.padded import PaddedInterface, missing
from tlf.dialects.types import AnyTensor, tensor_type
from tlf.lowering.graph_to_tile.banded import banded
from tlf.lowering.graph_to_tile.indices import Indices, add, source_map
from tlf.lowering.graph_to_tile.sources import source_of
from tlf.support.affine.access import Box, Interval, Linear, region

Home: TypeAlias = Callable[[Box], Builder]
"""
Function from a box to the builder for slicing its tile, which is invariant in all loops
but those that the box names.
"""

Cuts: TypeAlias = dict[tuple[SSAValue, Scope], list[tuple[Box, SSAValue]]]
"""The tiles that were cut from each input so far."""

Windows: TypeAlias = Mapping[tuple[SSAValue, int], SSAValue]
"""For what rolls, the tile of the iteration before."""


class Tiles:
    """
    Builds the operations of a group on tiles.
    """

    def __init__(
        self,
        tiling: GroupTiling,
        inputs: Mapping[SSAValue, SSAValue],
        level: str,
        indices: Indices,
        home: Home,
        cuts: Cuts,
        windows: Windows | None = None,
    ) -> None:
        self.tiling = tiling
        self.inputs = inputs
        self.level = level
        self.indices = indices
        self.home = home
        self.cuts = cuts
        self.windows = windows or {}
        self.rolled: dict[tuple[SSAValue, int], SSAValue] = {}
        """The rolling windows after their update in this iteration."""
        self.values: dict[SSAValue, SSAValue] = {}
        self.is_last = False
        """True if no iteration follows, so that nothing is computed ahead."""

    def enter(self, windows: Windows) -> None:
        """Begin an iteration that finds these windows."""
        self.windows = windows
        for (value, _), window in windows.items():
            if self.tiling.leads(value):
                self.values[value] = window

    def gather(self, builder: Builder, tiled: TiledOperation) -> SSAValue:
        """Cut the tile of a movement's result straight from its operand."""
        op = tiled.op
        accesses = op.operand_accesses()[0] or ()
        offsets = [
            sum(
                (
                    tiled.box[iterator].offset * factor
                    for iterator, factor in access.terms
                ),
                Linear(access.offset),
            )
            for access in accesses
        ]
        source = self.inputs[op.operands[0]]
        type_ = tensor_type(op.results[0])
        starts = [self.indices.of(builder, offset) for offset in offsets]
        wanted = self.type_of(type_, tiled.result)
        fill, valid = op.border(0), valid_extents(tiled.result, type_.get_shape())
        map_ = source_map(accesses, op.result_accesses()[0])
        if isinstance(op, IndexedInterface):
            axis, number = op.indexed_axis, op.index_operand
            named = op.operand_accesses()[number] or ()
            box = region(named, tiled.box)
            indices = self.fetch(builder, op, number, box, tiled.scope)
            maps = (map_, source_map(named, op.result_accesses()[0]))
            cut = tile.GatherOp(
                source, starts, axis, indices, maps, wanted, fill, valid
            )
        else:
            cut = tile.SliceOp(source, starts, wanted, fill, valid, map_)
        cut.location = op.location
        return builder.insert(cut).result

    def compute(self, builder: Builder, tiled: TiledOperation) -> SSAValue:
        """Build an operation on the tiles of its operands."""
        operands: list[SSAValue] = []
        for position, accesses in enumerate(tiled.op.operand_accesses()):
            value = tiled.op.operands[position]
            if accesses is None:
                operands.append(self.inputs.get(value, value))
                continue
            box = self.box_of(tiled, position)
            operands.append(self.fetch(builder, tiled.op, position, box, tiled.scope))
        if tiled.form.is_part:
            return operands[0]
        return self.apply(builder, tiled, operands)

    def box_of(self, tiled: TiledOperation, operand: int) -> Box:
        """The part of an operand that an operation reads a tile of."""
        box = tiled.reads[operand]
        assert box is not None
        return box

    def apply(
        self, builder: Builder, tiled: TiledOperation, operands: Sequence[SSAValue]
    ) -> SSAValue:
        """Build an operation on given tiles."""
        op = tiled.op
        computed = tiled.computed
        types = [self.type_of(tensor_type(op.results[0]), computed)]
        array = self.tiling.rules.array
        if (made := banded(array, tiled, operands, types[0])) is not None:
            new = made
        elif isinstance(op, PositionInterface):
            position = self.indices.of_box(builder, computed)
            new = op.tiled_at(operands, types, position, partial(add, builder))
        elif isinstance(op, PaddedInterface):
            whole = region(op.operand_accesses()[0] or (), tiled.box)
            outside = missing(whole, self.box_of(tiled, 0))
            new = op.tiled_padded(operands, types, outside)
        else:
            new = op.tiled(operands, types)
        new.location = op.location
        return builder.insert(new).results[0]

    def keep(self, builder: Builder, tiled: TiledOperation, result: SSAValue) -> None:
        """Note what was computed of an operation, behind what is kept of it."""
        value = tiled.op.results[0]
        result.name_hint = value.name_hint
        if (window := self.tiling.windows.get((value, 0))) is not None:
            fresh = self.view(builder, result, tiled.computed, window.fresh)
            fresh = self._filled(builder, value, fresh, window)
            result = self._roll(builder, (value, 0), fresh, window)
            if window.leads:
                return
        self.values[value] = result

    def _filled(
        self, builder: Builder, value: SSAValue, fresh: SSAValue, window: Window
    ) -> SSAValue:
        """
        Return the new elements of a window, with the fill that all readers expect
        outside of the tensor.
        """
        if window.fill is None:
            return fresh
        return self.masked(builder, value, fresh, window.fresh, window.fill)

    def masked(
        self,
        builder: Builder,
        value: SSAValue,
        part: SSAValue,
        box: Box,
        fill: Scalar,
    ) -> SSAValue:
        """A part of a value, with `fill` where it lies outside."""
        bounds = tensor_type(value).get_shape()
        offsets = self.indices.of_box(builder, box)
        valid = valid_extents(box, bounds)
        return builder.insert(tile.MaskOp(part, offsets, bounds, fill, valid)).result

    def _bordered(
        self,
        builder: Builder,
        value: SSAValue,
        part: SSAValue,
        box: Box,
        fill: Scalar,
    ) -> SSAValue:
        """The same; of what is joined, each part has it, so that loads fill it."""
        made = part.owner
        if not isinstance(made, JoiningInterface):
            return self.masked(builder, value, part, box, fill)
        op = value.owner
        assert isinstance(op, Operation)
        parts: list[SSAValue] = []
        for operand, tile_ in zip(op.operands, made.operands, strict=True):
            own = _part_box(box, tensor_type(value), tensor_type(operand))
            if operand in self.inputs and not self._is_near(operand):
                parts.append(self.cut(builder, operand, own, fill))
            else:
                parts.append(self._bordered(builder, operand, tile_, own, fill))
        joined = made.tiled(parts, made.result_types)
        joined.location = made.location
        return builder.insert(joined).results[0]

    def _roll(
        self,
        builder: Builder,
        key: tuple[SSAValue, int],
        fresh: SSAValue,
        window: Window,
    ) -> SSAValue:
        rolled = tile.RollOp(self.windows[key], fresh, window.axis)
        self.rolled[key] = builder.insert(rolled).result
        self.rolled[key].name_hint = key[0].name_hint
        return self.rolled[key]

    def fetch(
        self,
        builder: Builder,
        op: TilingInterface,
        position: int,
        box: Box,
        scope: Scope,
    ) -> SSAValue:
        """The tile `box` of an operand, with what lies outside filled as need be."""
        value = op.operands[position]
        border = self.tiling.border(op, position)
        if value in self.inputs:
            return self.slice(builder, value, box, scope, border)
        producer = value.owner
        assert isinstance(producer, Operation)
        whole = self.tiling.tiles[producer].result
        part = self.view(builder, self.values[value], whole, box)
        if border is None or (value, 0) in self.tiling.windows:
            return part
        return self._bordered(builder, value, part, box, border)

    def slice(
        self,
        builder: Builder,
        value: SSAValue,
        box: Box,
        scope: Scope,
        border: Scalar | None,
    ) -> SSAValue:
        """Cut a tile from an input, once for all that need a part of it."""
        place = place_of(self.tiling, box, scope)
        moving = place is not Scope.OUTER
        boxes = self.tiling.reads[value, place]
        holding = [n for n, each in enumerate(boxes) if covers(each, box)]
        number = min(holding, key=lambda n: not same_box(boxes[n], box))
        whole, window = boxes[number], None
        if self._is_near(value):
            stays = not moving and not self._rolls(box)
            return self.cut(self.home(box) if stays else builder, value, box, border)
        if place is Scope.OUTER:
            window = self.tiling.windows.get((value, number))
            if window is not None and self.is_last and covers(window.before, box):
                there = self.windows[value, number]
                return self.view(builder, there, window.before, box)
            builder = builder if self._rolls(whole) else self.home(whole)
        known = self.cuts.setdefault((value, place), [])
        for other, cut in known:
            if same_box(other, whole) and (window or _fills(cut, border)):
                return self.view(builder, cut, whole, box)
        if window is None:
            cut = self.cut(builder, value, whole, border)
        else:
            fresh = self.cut(builder, value, window.fresh, window.fill)
            cut = self._roll(builder, (value, number), fresh, window)
        known.append((whole, cut))
        return self.view(builder, cut, whole, box)

    def _is_near(self, value: SSAValue) -> bool:
        """
        Return `True` if an input is already in the level, so that tiles of it are
        views.
        """
        return tile.level_of(self.inputs[value].type) == self.level

    def _rolls(self, box: Box) -> bool:
        """Return `True` if a box moves with the loop along which tiles roll."""
        loop = self.tiling.rolled
        return loop is not None and moves_with(box, (loop,))

    def cut(
        self, builder: Builder, value: SSAValue, box: Box, border: Scalar | None
    ) -> SSAValue:
        """Cut a tile from an input; one that is there already is taken as it is."""
        source = self.inputs[value]
        starts_there = all(interval.offset == Linear() for interval in box)
        if starts_there and source.type == self.type_of(tensor_type(value), box):
            return source
        offsets = self.indices.of_box(builder, box)
        found = source_of(builder, source, box, offsets, border)
        made = tile.SliceOp(
            found.value,
            found.offsets,
            self.type_of(tensor_type(value), box),
            found.fill,
            valid_extents(box, tensor_type(source).get_shape()),
        )
        cut = builder.insert(made).result
        cut.name_hint = value.name_hint
        return cut

    def view(
        self, builder: Builder, value: SSAValue, whole: Box, part: Box
    ) -> SSAValue:
        """The part of a tile that holds the box `part`."""
        if same_box(whole, part):
            return value
        offsets = [
            self.indices.of(builder, inner.offset - outer.offset)
            for inner, outer in zip(part, whole, strict=True)
        ]
        type_ = self.type_of(tensor_type(value), part)
        return builder.insert(tile.SliceOp(value, offsets, type_)).result

    def type_of(self, model: AnyTensor, box: Box) -> TensorType[Attribute]:
        """The type of a tile that holds a box."""
        return self.resident(model, [interval.room for interval in box])

    def resident(self, model: AnyTensor, shape: Sequence[int]) -> TensorType[Attribute]:
        """The type of a tensor of a shape that lies in the level of the tiles."""
        axes = tile.layout_of(model) if self.tiling.rules.ordered else ()
        encoding = tile.EncodingAttr(self.level, axes)
        return TensorType(model.element_type, shape, encoding)


def _part_box(box: Box, whole: AnyTensor, part: AnyTensor) -> Box:
    """Return the box of a concat operand: all of it along the axis of concatenation."""
    return tuple(
        interval if extent == own else Interval.whole(own)
        for interval, extent, own in zip(
            box, whole.get_shape(), part.get_shape(), strict=True
        )
    )


def valid_extents(box: Box, bounds: Sequence[int]) -> list[int] | None:
    """
    Return the valid extents of a tile along each axis, or `None` where all of its room
    is valid, or the bounds of the whole tensor imply them.
    """
    told = [
        interval.room == interval.size
        or (
            not interval.offset.terms
            and interval.offset.constant + interval.size >= bound
        )
        for interval, bound in zip(box, bounds, strict=True)
    ]
    return None if all(told) else [interval.size for interval in box]


def _fills(cut: SSAValue, border: float | None) -> bool:
    """Return `True` if a slice reads `border` outside, or if no border is required."""
    if border is None:
        return True
    owner = cut.owner
    if not isinstance(owner, tile.SliceOp) or owner.fill is None:
        return False
    return owner.fill.value.data == border
