"""
Lowering of a group of graph operations to a loop nest on tiles: parallel loops, body
and result insertion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TypeAlias

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue

from tlf.analysis.tiling.group_tiling import (
    GroupTiling,
    LoopLevel,
    TiledOperation,
    max_end,
)
from tlf.dialects import tile
from tlf.dialects.types import tensor_type
from tlf.lowering.graph_to_tile.nested_reduction_loop import NestedReductionLoop
from tlf.lowering.graph_to_tile.offset_builder import OffsetBuilder
from tlf.lowering.graph_to_tile.parallel_nest import (
    BodyBuilder,
    ParallelNest,
    name_induction_variables,
)
from tlf.lowering.graph_to_tile.reduction_loop import ReductionLoop
from tlf.lowering.graph_to_tile.rolling_loop import RollingLoop
from tlf.lowering.graph_to_tile.scan_loop import ScanLoop
from tlf.lowering.graph_to_tile.tile_emitter import (
    SlicedTiles,
    TileEmitter,
    valid_tile_extents,
)
from tlf.planner.cost.npu.iterations_in_flight import SINGLE, IterationsInFlight
from tlf.support.affine.index_access import Box, Interval

GroupResult: TypeAlias = tuple[SSAValue, bool]
"""A group result; `True` if it is retained in the level of the tiles."""


class GroupLoopBuilder:
    """Builder of the `tile` loop nest of one `graph.group` from its tiling analysis."""

    def __init__(
        self,
        tiling: GroupTiling,
        inputs: Mapping[SSAValue, SSAValue],
        level: str,
        mapping: tile.Mapping,
        loop_order: Sequence[int] | None = None,
        in_flight: IterationsInFlight = SINGLE,
        overwritten_inputs: Mapping[SSAValue, SSAValue] | None = None,
        warps: int | None = None,
        unroll: Sequence[int] | None = None,
    ) -> None:
        self.tiling = tiling
        self.inputs = inputs
        self.stages, self.pieces = (each if each > 1 else None for each in in_flight)
        self.overwritten = overwritten_inputs or {}
        self.indices = OffsetBuilder()
        self.nest = self._build_parallel_nest(mapping, loop_order, warps, unroll)
        invariant_builder, cuts = (
            self.nest.builder_outside_invariant_loops,
            SlicedTiles(),
        )
        self.tiles = TileEmitter(
            tiling, inputs, level, self.indices, invariant_builder, cuts
        )
        self.start: TileEmitter | None = None
        if tiling.prologue is not None:
            self.start = TileEmitter(
                tiling.prologue, inputs, level, self.indices, invariant_builder, cuts
            )

    def _build_parallel_nest(
        self,
        mapping: tile.Mapping,
        loop_order: Sequence[int] | None,
        warps: int | None,
        unroll: Sequence[int] | None,
    ) -> ParallelNest:
        """
        Return a new nest of all parallel loops but the sequential one; no IR is built
        yet.
        """
        sequential = self.tiling.sequential_loop
        loops = [loop for loop in self.tiling.loops.values() if loop is not sequential]
        names = name_induction_variables(list(self.tiling.loops.values()))
        is_loop = mapping in (tile.Mapping.LOOP, tile.Mapping.CORE)
        if not is_loop or not self.tiling.rules.has_views:
            return ParallelNest(
                loops,
                mapping,
                self.indices,
                names,
                loop_order,
                warps=warps,
                unroll=unroll,
            )
        if loop_order is not None:
            loops = [loops[index] for index in loop_order]
        stages = self.stages if self.tiling.rolling_loop is None else None
        late = self.tiling.rules.is_retiled
        return ParallelNest(
            loops,
            mapping,
            self.indices,
            names,
            stages=stages,
            hoists_slices=True,
            slices_before_use=late,
        )

    def build_nest_and_results(
        self,
        builder: Builder,
        results: Sequence[SSAValue],
        resident_flags: Sequence[bool] = (),
    ) -> list[SSAValue]:
        """
        Build the nest at the builder's insertion point and return one value per
        requested result: the tensor its tiles are inserted into, allocated in the level
        of the tiles if `kept`. A kept result of a group without loops is its only tile.
        """
        is_retained = list(resident_flags) or [False] * len(results)
        pairs = list(zip(results, is_retained, strict=True))
        self.nest.omits_empty_loop = self.start is not None or any(is_retained)
        assembled = [pair for pair in pairs if self.tiling.loops or not pair[1]]
        destinations = dict(
            zip(
                assembled,
                self._build_loops_assembling_results(builder, assembled),
                strict=True,
            )
        )
        return [
            self._drop_padding_of_last_tile(
                builder, destinations[value, retained], value, retained
            )
            if (value, retained) in destinations
            else self._slice_only_tile_of_result(builder, value)
            for value, retained in pairs
        ]

    def _build_loops_assembling_results(
        self, builder: Builder, results: Sequence[GroupResult]
    ) -> Sequence[SSAValue]:
        """Build the nest that inserts result tiles; return the updated destinations."""
        destinations = [
            self._allocate_resident_destination(builder, value)
            if is_retained
            else self._destination_of_result(builder, value)
            for value, is_retained in results
        ]
        body: BodyBuilder = partial(
            self._build_iteration_body, [value for value, _ in results]
        )
        if self.start is not None and self.tiling.rolling_loop is not None:
            body = RollingLoop(
                self.tiles,
                self.start,
                self.tiling.rolling_loop,
                self.nest.names[self.tiling.rolling_loop],
                self.stages,
                body,
            ).build_rolling_loop
        elif (loop := self.tiling.scan_loop) is not None:
            name = self.nest.names[loop]
            body = ScanLoop(self.tiles, loop, name, body).build_scan_loop
        boxes = [
            box
            for (value, scope), boxes in self.tiling.reads.items()
            for index, box in enumerate(boxes)
            if scope is LoopLevel.OUTER and (value, index) not in self.tiling.windows
        ]
        return self.nest.build_nest(builder, destinations, boxes, body)

    def _build_iteration_body(
        self,
        results: Sequence[SSAValue],
        builder: Builder,
        destinations: Sequence[SSAValue],
    ) -> Sequence[SSAValue]:
        """
        Build the body of an iteration: compute all tiles, then write back results in
        order of computation, so that no write-back waits for a later result's move.
        """
        for op, each in self.tiling.tiles.items():
            if self.tiles.is_last and op in self.tiling.prefetch_distances:
                continue
            if each.loop_level is LoopLevel.OUTER:
                self._build_operation_or_reduction_loop(builder, each)
        result_tiles = dict(
            zip(self.tiling.results, self.tiling.result_tiles, strict=True)
        )
        positions = {op: index for index, op in enumerate(self.tiling.tiles)}
        pairs = list(enumerate(zip(results, destinations, strict=True)))
        pairs.sort(key=lambda each: positions[_producer_of_result(each[1][0])])
        written = {
            index: self._insert_result_tile(
                builder, value, result_tiles[value], destination
            )
            for index, (value, destination) in pairs
        }
        return [written[index] for index in range(len(results))]

    def _allocate_resident_destination(
        self, builder: Builder, result: SSAValue
    ) -> SSAValue:
        """
        Allocate the destination of a result that is resident in the level of its tiles.
        It is padded to a multiple of the tile so that the last tile fits in place.
        """
        result_tiles = dict(
            zip(self.tiling.results, self.tiling.result_tiles, strict=True)
        )
        shape = tensor_type(result).get_shape()
        padded_shape = [
            max(extent, max_end(interval))
            for interval, extent in zip(result_tiles[result], shape, strict=True)
        ]
        type_ = self.tiles.type_in_tile_level(tensor_type(result), padded_shape)
        destination = builder.insert(tile.EmptyOp(type_)).result
        destination.name_hint = result.name_hint
        return destination

    def _slice_only_tile_of_result(
        self, builder: Builder, result: SSAValue
    ) -> SSAValue:
        """Return the only tile of a result, without the halo of other members."""
        shape = tensor_type(result).get_shape()
        computed = self.tiling.tiles[_producer_of_result(result)].result
        full = tuple(Interval.whole(extent) for extent in shape)
        return self.tiles.slice_subview_of_tile(
            builder, self.tiles.values[result], computed, full
        )

    def _drop_padding_of_last_tile(
        self,
        builder: Builder,
        padded_result: SSAValue,
        result: SSAValue,
        is_retained: bool,
    ) -> SSAValue:
        """
        Build a slice of a retained result to its unpadded shape, or return
        `padded_result` if it needs none.
        """
        shape = tensor_type(result).get_shape()
        if not is_retained or tensor_type(padded_result).get_shape() == shape:
            return padded_result
        type_ = self.tiles.type_in_tile_level(tensor_type(result), shape)
        return builder.insert(
            tile.SliceOp(padded_result, [0] * len(shape), type_)
        ).result

    def _build_operation_or_reduction_loop(
        self, builder: Builder, tiled: TiledOperation
    ) -> None:
        """Build a tiled operation, or the loop of its reduction; record its tile."""
        op, anchor = tiled.op, self.tiling.anchor
        if op in self.tiling.gathered_operations:
            result = self.tiles.slice_movement_result(builder, tiled)
        elif anchor is not None and op is anchor and self.tiling.inner_loops:
            # Moves overlap with computation of their own loop only.
            stages = None if self.tiling.nested_loops else self.pieces
            loop = ReductionLoop(
                self.tiles,
                self.indices,
                stages,
                self._build_operation_or_reduction_loop,
            )
            result = loop.build_reduction_loop(builder, tiled)
        elif self.tiling.nested_loops_by_op.get(op):
            result = NestedReductionLoop(
                self.tiles, self.indices, self.pieces
            ).build_reduction_loop(builder, tiled)
        else:
            result = self.tiles.build_operation_on_fetched_tiles(builder, tiled)
        self.tiles.record_result_tile(builder, tiled, result)

    def _destination_of_result(self, builder: Builder, result: SSAValue) -> SSAValue:
        """
        Return the destination of a result: the value that it overwrites, or a new
        tensor.
        """
        if (overwritten := self.overwritten.get(result)) is not None:
            return overwritten
        return builder.insert(tile.EmptyOp(result.type)).result

    def _insert_result_tile(
        self, builder: Builder, value: SSAValue, tile_box: Box, destination: SSAValue
    ) -> SSAValue:
        """Insert the `tile.deslice` that writes a result's tile into `destination`."""
        computed = self.tiling.tiles[_producer_of_result(value)].result
        subview = self.tiles.slice_subview_of_tile(
            builder, self.tiles.values[value], computed, tile_box
        )
        offsets = self.indices.build_box_offsets(builder, tile_box)
        valid = valid_tile_extents(tile_box, tensor_type(destination).get_shape())
        return builder.insert(
            tile.DesliceOp(subview, destination, offsets, valid)
        ).result


def _producer_of_result(value: SSAValue) -> Operation:
    """Return the operation that computes a result."""
    owner = value.owner
    assert isinstance(owner, Operation)
    return owner
