"""The loop over the pieces of a contraction inside of the loop of a cascade."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.analysis.tiling.model import Scope, TiledOperation
from tlf.dialects import tile
from tlf.dialects.interfaces import AccumulatingInterface
from tlf.dialects.types import tensor_type
from tlf.lowering.graph_to_tile.indices import Indices
from tlf.lowering.graph_to_tile.tiles import Tiles


@dataclass
class NestedLoop:
    """Builds the loop of a contraction of inputs of a group."""

    tiles: Tiles
    indices: Indices
    stages: int | None

    def build(self, builder: Builder, tiled: TiledOperation) -> SSAValue:
        """Build the loop before the builder's insertion point; return its total."""
        op = tiled.op
        assert isinstance(op, AccumulatingInterface)
        loops = list(self.tiles.tiling.nested[op].values())
        type_ = self.tiles.type_of(tensor_type(op.results[0]), tiled.result)
        start = builder.insert(tile.FillOp(op.neutral(), type_)).result
        body = Block(arg_types=[*[IndexType()] * len(loops), type_])
        for loop, variable in zip(loops, body.args, strict=False):
            variable.name_hint = "l"
            self.indices.variables[loop] = variable
        inside = Builder(InsertPoint.at_end(body))
        pieces = [
            self.tiles.fetch(
                inside, op, place, self.tiles.box_of(tiled, place), Scope.NESTED
            )
            for place in range(len(op.inputs))
        ]
        total = self.tiles.apply(inside, tiled, [*pieces, body.args[-1]])
        inside.insert(tile.YieldOp(total))
        nest = tile.WhileOp(
            [0] * len(loops),
            [loop.extent for loop in loops],
            [loop.tile for loop in loops],
            [start],
            body,
            tile.LoopKind.SEQUENTIAL,
            stages=self.stages,
        )
        return builder.insert(nest).results[0]
