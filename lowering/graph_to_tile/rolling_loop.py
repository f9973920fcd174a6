"""
Lowering of a group to a rolling loop: a sequential loop that carries overlapping
windows of tiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.analysis.tiling.group_tiling import LoopLevel, TileLoop
from tlf.analysis.tiling.window_tile import RollingWindow
from tlf.dialects import tile
from tlf.dialects.types import tensor_type
from tlf.lowering.graph_to_tile.parallel_nest import BodyBuilder
from tlf.lowering.graph_to_tile.tile_emitter import TileEmitter
from tlf.support.affine.index_access import AffineSum


@dataclass
class RollingLoop:
    """Builder of a sequential loop that carries destinations and rolling windows."""

    tile_emitter: TileEmitter
    """Emitter of the tiles computed in the loop."""
    prologue_emitter: TileEmitter
    """Emitter of the tiles computed before the loop."""
    loop: TileLoop
    variable_name: str
    stages: int | None
    body: BodyBuilder

    def build_rolling_loop(
        self, builder: Builder, destinations: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """
        Build the loop and a peeled iteration if any; return the updated destinations.
        """
        windows = self.tile_emitter.tiling.windows
        initial_windows = self._build_initial_windows(builder)
        carried = [*destinations, *(initial_windows[key] for key in windows)]
        block = Block(arg_types=[IndexType(), *(each.type for each in carried)])
        block.args[0].name_hint = self.variable_name
        self.tile_emitter.indices.variables[self.loop] = block.args[0]
        count = len(destinations)
        arguments = block.args[1 + count :]
        for (value, _), argument in zip(windows, arguments, strict=True):
            argument.name_hint = value.name_hint
        self.tile_emitter.set_previous_windows(
            dict(zip(windows, arguments, strict=True))
        )
        body_builder = Builder(InsertPoint.at_end(block))
        results = self.body(body_builder, block.args[1 : 1 + count])
        rolled = [self.tile_emitter.rolled[key] for key in windows]
        body_builder.insert(tile.YieldOp(*results, *rolled))
        is_prefetching = bool(self.tile_emitter.tiling.prefetch_distances)
        loop = tile.WhileOp(
            [0],
            [self.loop.last_start if is_prefetching else self.loop.extent],
            [self.loop.tile],
            carried,
            block,
            tile.LoopKind.SEQUENTIAL,
            stages=self.stages,
        )
        loop_results = builder.insert(loop).results
        if not is_prefetching:
            return loop_results[:count]
        self.tile_emitter.set_previous_windows(
            dict(zip(windows, loop_results[count:], strict=True))
        )
        return self._peel_last_iteration(builder, loop_results[:count], block)

    def _build_initial_windows(
        self, builder: Builder
    ) -> dict[tuple[SSAValue, int], SSAValue]:
        """Build the tiles computed before the loop, and return the initial windows."""
        windows = self.tile_emitter.tiling.windows
        initial_windows = {
            key: self._slice_initial_input_window(builder, key[0], window)
            for key, window in windows.items()
            if key[0] in self.prologue_emitter.inputs
        }
        for each in self.prologue_emitter.tiling.tiles.values():
            self.prologue_emitter.record_result_tile(
                builder,
                each,
                self.prologue_emitter.build_operation_on_fetched_tiles(builder, each),
            )
        initial_windows |= {
            key: self._slice_initial_computed_window(builder, key[0], window)
            for key, window in windows.items()
            if key not in initial_windows
        }
        return initial_windows

    def _peel_last_iteration(
        self, builder: Builder, destinations: Sequence[SSAValue], loop_body: Block
    ) -> Sequence[SSAValue]:
        """
        Build the last iteration after the loop, without producers that run ahead, and
        return the updated destinations.
        """
        self.tile_emitter.indices.behind[self.loop] = AffineSum(self.loop.last_start)
        for slices in self.tile_emitter.cuts.values():
            slices[:] = [
                each for each in slices if each[1].owner.parent is not loop_body
            ]
        self.tile_emitter.is_last = True
        return self.body(builder, destinations)

    def _slice_initial_input_window(
        self, builder: Builder, value: SSAValue, window: RollingWindow
    ) -> SSAValue:
        """
        Build the slice and window of an input that the first iteration starts from.
        """
        tiles, box = self.prologue_emitter, window.initial_tile
        part = tiles.slice_shared_input_tile(
            builder, value, box, LoopLevel.OUTER, window.fill
        )
        return self._extend_subview_to_window(builder, value, part, window)

    def _slice_initial_computed_window(
        self, builder: Builder, value: SSAValue, window: RollingWindow
    ) -> SSAValue:
        """Build the window of a computed value before the first iteration."""
        tiles, owner = self.prologue_emitter, value.owner
        assert isinstance(owner, Operation)
        computed = tiles.tiling.tiles[owner].result
        part = tiles.slice_subview_of_tile(
            builder, tiles.values[value], computed, window.prologue_part
        )
        if window.fill is not None:
            part = tiles.mask_out_of_bounds(
                builder, value, part, window.prologue_part, window.fill
            )
        return self._extend_subview_to_window(builder, value, part, window)

    def _extend_subview_to_window(
        self,
        builder: Builder,
        value: SSAValue,
        subview: SSAValue,
        window: RollingWindow,
    ) -> SSAValue:
        """Extend a subview to a full window whose last slices are the subview."""
        if tensor_type(subview).get_shape() == self._shape_of_window(window):
            return subview
        type_ = self.prologue_emitter.tile_type_of_box(
            tensor_type(value), window.whole_tile
        )
        empty = builder.insert(tile.EmptyOp(type_)).result
        offsets = [0] * len(window.whole_tile)
        size = tensor_type(subview).get_shape()[window.axis]
        offsets[window.axis] = window.whole_tile[window.axis].tile_extent - size
        return builder.insert(tile.DesliceOp(subview, empty, offsets)).result

    @staticmethod
    def _shape_of_window(window: RollingWindow) -> tuple[int, ...]:
        return tuple(interval.tile_extent for interval in window.whole_tile)
