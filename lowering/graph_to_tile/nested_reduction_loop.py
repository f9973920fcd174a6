"""
Lowering of a contraction to a reduction loop on tiles, nested in the loop of a cascaded
reduction.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.analysis.tiling.group_tiling import LoopLevel, TiledOperation
from tlf.dialects import tile
from tlf.dialects.interfaces import AccumulatingInterface
from tlf.dialects.types import tensor_type
from tlf.lowering.graph_to_tile.offset_builder import OffsetBuilder
from tlf.lowering.graph_to_tile.tile_emitter import TileEmitter


@dataclass
class NestedReductionLoop:
    """Builder of the reduction loop of a contraction of group inputs."""

    tile_emitter: TileEmitter
    offset_builder: OffsetBuilder
    stages: int | None

    def build_reduction_loop(
        self, builder: Builder, tiled_contraction: TiledOperation
    ) -> SSAValue:
        """Build the loop at the builder's insertion point and return its total."""
        op = tiled_contraction.op
        assert isinstance(op, AccumulatingInterface)
        loops = list(self.tile_emitter.tiling.nested_loops_by_op[op].values())
        type_ = self.tile_emitter.tile_type_of_box(
            tensor_type(op.results[0]), tiled_contraction.result
        )
        initial = builder.insert(tile.FillOp(op.neutral_element(), type_)).result
        body = Block(arg_types=[*[IndexType()] * len(loops), type_])
        for loop, variable in zip(loops, body.args, strict=False):
            variable.name_hint = "l"
            self.offset_builder.variables[loop] = variable
        body_builder = Builder(InsertPoint.at_end(body))
        operand_tiles = [
            self.tile_emitter.fetch_operand_tile(
                body_builder,
                op,
                position,
                self.tile_emitter.operand_box(tiled_contraction, position),
                LoopLevel.NESTED,
            )
            for position in range(len(op.inputs))
        ]
        total = self.tile_emitter.build_operation_on_tiles(
            body_builder, tiled_contraction, [*operand_tiles, body.args[-1]]
        )
        body_builder.insert(tile.YieldOp(total))
        nest = tile.WhileOp(
            [0] * len(loops),
            [loop.extent for loop in loops],
            [loop.tile for loop in loops],
            [initial],
            body,
            tile.LoopKind.SEQUENTIAL,
            stages=self.stages,
        )
        return builder.insert(nest).results[0]
