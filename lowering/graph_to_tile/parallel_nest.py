"""
Parallel loop nest of a group, split so that invariant slices are hoisted.

A nest is split where tiles are cut that are the same in all loops further inside, so
that they are cut once: weights stay where they are while tiles of images come and go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise, repeat

from xdsl.builder import Builder
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.analysis.tiling.box_covering import is_moved_by
from tlf.analysis.tiling.group_tiling import TileLoop
from tlf.dialects import tile
from tlf.lowering.graph_to_tile.offset_builder import OffsetBuilder
from tlf.support.affine.index_access import Box

VARIABLE_NAMES = "ijmnpq"
"""Names of induction variables of parallel loops; those of reductions are `k`."""

BodyBuilder = Callable[[Builder, Sequence[SSAValue]], Sequence[SSAValue]]
"""Builds the innermost body on its destinations, and returns what becomes of them."""


@dataclass
class ParallelNest:
    """
    Parallel loops, outermost first, built as one or more `tile.while`s.
    """

    loops: Sequence[TileLoop]
    mapping: tile.Mapping
    indices: OffsetBuilder
    names: Mapping[TileLoop, str]
    order: Sequence[int] | None = None
    """The order in which the loops run, where that is not how they are nested."""
    stages: int | None = None
    split: bool = False
    """True to slice tiles in the outermost loop that allows it."""
    late: bool = False
    """True to slice tiles just before their use where there is no loop."""
    bare: bool = False
    """True to build no loop nest where there are no loops."""
    builders: list[tuple[int, Builder]] = field(
        default_factory=list[tuple[int, Builder]]
    )
    """
    Number of enclosing loops and the builder at that depth, outermost first: insertion
    points for values that are invariant in the loops further inside.
    """

    def invariant_builder(self, box: Box) -> Builder:
        """Return the builder outside of all loops in which the tile is invariant."""
        depth = self._variant_depth(box)
        return next(builder for loops, builder in self.builders if loops >= depth)

    def _variant_depth(self, box: Box) -> int:
        return max(
            (
                number + 1
                for number, loop in enumerate(self.loops)
                if is_moved_by(box, (loop,))
            ),
            default=0,
        )

    def build(
        self,
        builder: Builder,
        destinations: Sequence[SSAValue],
        boxes: Sequence[Box],
        body: BodyBuilder,
    ) -> Sequence[SSAValue]:
        """
        Build the loops at the builder's insertion point, split where one of `boxes`
        does not move any further inside. Returns what becomes of the destinations.
        """
        count = len(self.loops)
        splits = {0, count}
        if self.bare and not count:
            self.builders.append((0, builder))
            return body(builder, destinations)
        if self.split:
            splits |= {self._variant_depth(box) for box in boxes}
            if count or not self.late:
                self.builders.append((0, builder))
        frames = list(pairwise(sorted(splits))) if count else [(0, 0)]
        return self._build_frame(builder, destinations, frames, body)

    def _build_frame(
        self,
        builder: Builder,
        destinations: Sequence[SSAValue],
        frames: Sequence[tuple[int, int]],
        body: BodyBuilder,
    ) -> Sequence[SSAValue]:
        (first, last), *inner = frames
        loops = self.loops[first:last]
        types = [IndexType()] * len(loops) + [each.type for each in destinations]
        block = Block(arg_types=types)
        self._bind_variables(loops, block)
        inside = Builder(InsertPoint.at_end(block))
        self.builders.append((last, inside))
        written = block.args[len(loops) :]
        if inner:
            results = self._build_frame(inside, written, inner, body)
        else:
            results = body(inside, written)
        inside.insert(tile.YieldOp(*results))
        nest = tile.WhileOp(
            [0] * len(loops),
            [loop.extent for loop in loops],
            [loop.tile for loop in loops],
            destinations,
            block,
            tile.LoopKind.PARALLEL,
            self.mapping,
            self.order,
            self.stages,
        )
        return builder.insert(nest).results

    def _bind_variables(self, loops: Sequence[TileLoop], block: Block) -> None:
        for loop, variable in zip(loops, block.args, strict=False):
            variable.name_hint = self.names[loop]
            self.indices.variables[loop] = variable


def name_induction_variables(loops: Sequence[TileLoop]) -> dict[TileLoop, str]:
    """Return a name for the induction variable of each parallel loop."""
    return dict(zip(loops, chain(VARIABLE_NAMES, repeat("i")), strict=False))
