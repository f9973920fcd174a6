"""
Lowering of a group to a scan loop: a sequential loop that carries the totals of scans.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.analysis.tiling.group_tiling import TileLoop
from tlf.dialects import tile
from tlf.dialects.affine_values import materialize_index
from tlf.dialects.interfaces import ScanInterface
from tlf.dialects.types import tensor_type
from tlf.lowering.graph_to_tile.parallel_nest import BodyBuilder
from tlf.lowering.graph_to_tile.tile_emitter import TileEmitter
from tlf.support.affine.index_access import AffineSum


@dataclass
class ScanLoop:
    """Builder of a sequential loop that carries destinations and totals of scans."""

    tile_emitter: TileEmitter
    loop: TileLoop
    variable_name: str
    body: BodyBuilder

    def build_scan_loop(
        self, builder: Builder, destinations: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """Build the loop; return the updated destinations."""
        scans = self.tile_emitter.tiling.scans_along_loop(self.loop)
        carried = [*destinations, *(self._fill_total(builder, op) for op in scans)]
        block = Block(arg_types=[IndexType(), *(each.type for each in carried)])
        block.args[0].name_hint = self.variable_name
        body_builder = Builder(InsertPoint.at_end(block))
        self.tile_emitter.indices.variables[self.loop] = self._build_tile_start(
            body_builder, block.args[0], scans
        )
        count = len(destinations)
        totals = self.tile_emitter.scan_totals
        totals.update(zip(scans, block.args[1 + count :], strict=True))
        results = self.body(body_builder, block.args[1 : 1 + count])
        body_builder.insert(tile.YieldOp(*results, *(totals[op] for op in scans)))
        loop = tile.WhileOp(
            [0],
            [self.loop.extent],
            [self.loop.tile],
            carried,
            block,
            tile.LoopKind.SEQUENTIAL,
        )
        return builder.insert(loop).results[:count]

    def _build_tile_start(
        self, builder: Builder, variable: SSAValue, scans: Sequence[ScanInterface]
    ) -> SSAValue:
        """
        Return the start of the tile of an iteration; the first one computes the last
        tile if scans are reversed.
        """
        if not any(op.is_reversed for op in scans):
            return variable
        start = AffineSum(self.loop.last_start, ((variable, -1),))
        index = materialize_index(builder, start)
        assert not isinstance(index, int)
        return index

    def _fill_total(self, builder: Builder, op: ScanInterface) -> SSAValue:
        """Build the total of no element, with extent 1 along the axis of the scan."""
        computed = self.tile_emitter.tiling.tiles[op].computed_box
        shape = [interval.tile_extent for interval in computed]
        shape[op.scan_iterator] = 1
        type_ = self.tile_emitter.type_in_tile_level(tensor_type(op.results[0]), shape)
        return builder.insert(tile.FillOp(op.neutral_element(), type_)).result
