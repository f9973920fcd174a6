"""Build the loops over the tiles of a group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TypeAlias

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue

from tlf.analysis.tiling.model import GroupTiling, Scope, TiledOperation, last_end
from tlf.dialects import tile
from tlf.dialects.types import tensor_type
from tlf.lowering.graph_to_tile.indices import Indices
from tlf.lowering.graph_to_tile.nest import Body, Nest, named
from tlf.lowering.graph_to_tile.nested_loop import NestedLoop
from tlf.lowering.graph_to_tile.reduction_loop import ReductionLoop
from tlf.lowering.graph_to_tile.tiles import Cuts, Tiles, valid_extents
from tlf.lowering.graph_to_tile.windows import RollingLoop
from tlf.planner.cost.npu.in_flight import SINGLE, InFlight
from tlf.support.affine.access import Box, Interval

Result: TypeAlias = tuple[SSAValue, bool]
"""A result of a group, and whether it is to be kept near."""


class TileBuilder:
    """
    Builds a group's loops, for the tiles that its analysis found.
    """

    def __init__(
        self,
        tiling: GroupTiling,
        inputs: Mapping[SSAValue, SSAValue],
        level: str,
        mapping: tile.Mapping,
        order: Sequence[int] | None = None,
        in_flight: InFlight = SINGLE,
        overwritten: Mapping[SSAValue, SSAValue] | None = None,
    ) -> None:
        self.tiling = tiling
        self.inputs = inputs
        self.stages, self.pieces = (each if each > 1 else None for each in in_flight)
        self.overwritten = overwritten or {}
        self.indices = Indices()
        self.nest = self._nest(mapping, order)
        home, cuts = self.nest.home, Cuts()
        self.tiles = Tiles(tiling, inputs, level, self.indices, home, cuts)
        self.start: Tiles | None = None
        if tiling.start is not None:
            self.start = Tiles(tiling.start, inputs, level, self.indices, home, cuts)

    def _nest(self, mapping: tile.Mapping, order: Sequence[int] | None) -> Nest:
        """The parallel loops; those of a program are nested as they are to run."""
        loops = [
            loop
            for loop in self.tiling.loops.values()
            if loop is not self.tiling.rolled
        ]
        names = named(list(self.tiling.loops.values()))
        is_loop = mapping in (tile.Mapping.LOOP, tile.Mapping.CORE)
        if not is_loop or not self.tiling.rules.views:
            return Nest(loops, mapping, self.indices, names, order)
        if order is not None:
            loops = [loops[number] for number in order]
        stages = self.stages if self.tiling.rolled is None else None
        late = self.tiling.rules.again
        return Nest(
            loops, mapping, self.indices, names, stages=stages, split=True, late=late
        )

    def build(
        self, builder: Builder, results: Sequence[SSAValue], kept: Sequence[bool] = ()
    ) -> list[SSAValue]:
        """
        Build the nest before the builder's insertion point. Returns one value for each
        of some results of the group: a tensor that its tiles were put into, which lies
        in the level of the tiles if it is to be `kept` there. Of one tile it is that.
        """
        near = list(kept) or [False] * len(results)
        pairs = list(zip(results, near, strict=True))
        self.nest.bare = self.start is not None or any(near)
        wanted = [pair for pair in pairs if self.tiling.loops or not pair[1]]
        written = dict(zip(wanted, self._build(builder, wanted), strict=True))
        return [
            self._whole(builder, written[value, is_near], value, is_near)
            if (value, is_near) in written
            else self._only(builder, value)
            for value, is_near in pairs
        ]

    def _build(self, builder: Builder, results: Sequence[Result]) -> Sequence[SSAValue]:
        destinations = [
            self._near(builder, value) if kept else self._destination(builder, value)
            for value, kept in results
        ]
        body: Body = partial(self._body, [value for value, _ in results])
        if self.start is not None and self.tiling.rolled is not None:
            body = RollingLoop(
                self.tiles,
                self.start,
                self.tiling.rolled,
                self.nest.names[self.tiling.rolled],
                self.stages,
                body,
            ).build
        boxes = [
            box
            for (value, scope), boxes in self.tiling.reads.items()
            for number, box in enumerate(boxes)
            if scope is Scope.OUTER and (value, number) not in self.tiling.windows
        ]
        return self.nest.build(builder, destinations, boxes, body)

    def _body(
        self,
        results: Sequence[SSAValue],
        builder: Builder,
        destinations: Sequence[SSAValue],
    ) -> Sequence[SSAValue]:
        """
        Build the body of an iteration: compute, and put the results back in the order
        in which they are computed, so that none waits for a later one to be moved.
        """
        for op, each in self.tiling.tiles.items():
            if self.tiles.is_last and op in self.tiling.ahead:
                continue
            if each.scope is Scope.OUTER:
                self._compute(builder, each)
        pieces = dict(zip(self.tiling.results, self.tiling.pieces, strict=True))
        places = {op: number for number, op in enumerate(self.tiling.tiles)}
        pairs = list(enumerate(zip(results, destinations, strict=True)))
        pairs.sort(key=lambda each: places[_producer(each[1][0])])
        made = {
            number: self._put_back(builder, value, pieces[value], destination)
            for number, (value, destination) in pairs
        }
        return [made[number] for number in range(len(results))]

    def _near(self, builder: Builder, result: SSAValue) -> SSAValue:
        """
        Allocate the destination of a result that is kept in the level of its tiles. It
        has room for all of the last tile, so that each can be computed in place.
        """
        pieces = dict(zip(self.tiling.results, self.tiling.pieces, strict=True))
        shape = tensor_type(result).get_shape()
        rooms = [
            max(extent, last_end(interval))
            for interval, extent in zip(pieces[result], shape, strict=True)
        ]
        type_ = self.tiles.resident(tensor_type(result), rooms)
        made = builder.insert(tile.EmptyOp(type_)).result
        made.name_hint = result.name_hint
        return made

    def _only(self, builder: Builder, result: SSAValue) -> SSAValue:
        """The only tile of a result, without what others read around it."""
        shape = tensor_type(result).get_shape()
        have = self.tiling.tiles[_producer(result)].result
        wanted = tuple(Interval.whole(extent) for extent in shape)
        return self.tiles.view(builder, self.tiles.values[result], have, wanted)

    def _whole(
        self, builder: Builder, written: SSAValue, result: SSAValue, kept: bool
    ) -> SSAValue:
        """A result without the room behind it."""
        shape = tensor_type(result).get_shape()
        if not kept or tensor_type(written).get_shape() == shape:
            return written
        type_ = self.tiles.resident(tensor_type(result), shape)
        return builder.insert(tile.SliceOp(written, [0] * len(shape), type_)).result

    def _compute(self, builder: Builder, tiled: TiledOperation) -> None:
        op, anchor = tiled.op, self.tiling.anchor
        if op in self.tiling.gathered:
            result = self.tiles.gather(builder, tiled)
        elif anchor is not None and op is anchor and self.tiling.inner_loops:
            # Moves overlap with the computation of the loop that they are in.
            stages = None if self.tiling.nested_loops else self.pieces
            loop = ReductionLoop(self.tiles, self.indices, stages, self._compute)
            result = loop.build(builder, tiled)
        elif self.tiling.nested.get(op):
            result = NestedLoop(self.tiles, self.indices, self.pieces).build(
                builder, tiled
            )
        else:
            result = self.tiles.compute(builder, tiled)
        self.tiles.keep(builder, tiled, result)

    def _destination(self, builder: Builder, result: SSAValue) -> SSAValue:
        """
        Return the destination of a result: the value that it overwrites, or a new
        tensor.
        """
        if (place := self.overwritten.get(result)) is not None:
            return place
        return builder.insert(tile.EmptyOp(result.type)).result

    def _put_back(
        self, builder: Builder, value: SSAValue, piece: Box, destination: SSAValue
    ) -> SSAValue:
        whole = self.tiling.tiles[_producer(value)].result
        part = self.tiles.view(builder, self.tiles.values[value], whole, piece)
        offsets = self.indices.of_box(builder, piece)
        valid = valid_extents(piece, tensor_type(destination).get_shape())
        return builder.insert(tile.DesliceOp(part, destination, offsets, valid)).result


def _producer(value: SSAValue) -> Operation:
    """Return the operation that computes a result."""
    owner = value.owner
    assert isinstance(owner, Operation)
    return owner
