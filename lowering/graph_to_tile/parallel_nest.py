"""
Lowering of a group to its parallel loop nest, split to hoist loop-invariant slices.

The nest is split at each depth where a sliced tile is invariant in all inner loops, so
that the tile is sliced once: weights stay resident while activation tiles change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise, repeat

from xdsl.builder import Builder
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.analysis.tiling.box_covering import innermost_moving_depth
from tlf.analysis.tiling.group_tiling import TileLoop
from tlf.dialects import tile
from tlf.lowering.graph_to_tile.offset_builder import OffsetBuilder
from tlf.support.affine.index_access import Box

VARIABLE_NAMES = "ijmnpq"
"""Induction variable names of parallel loops; reduction loops use `k`."""

BodyBuilder = Callable[[Builder, Sequence[SSAValue]], Sequence[SSAValue]]
"""Callback that builds the innermost body; maps destinations to updated values."""


@dataclass
class ParallelNest:
    """Parallel loops, outermost first, built as one or more `tile.while` operations."""

    loops: Sequence[TileLoop]
    mapping: tile.Mapping
    indices: OffsetBuilder
    names: Mapping[TileLoop, str]
    order: Sequence[int] | None = None
    """Execution order of the loops, if it differs from the nesting order."""
    stages: int | None = None
    warps: int | None = None
    """Number of warps that run an iteration on a GPU, if it is chosen."""
    unroll: Sequence[int] | None = None
    """Number of alternating tiles that a program computes at once, by loop."""
    hoists_slices: bool = False
    """`True` to slice each tile in the outermost possible loop."""
    slices_before_use: bool = False
    """`True` to slice tiles just before their use if there are no loops."""
    omits_empty_loop: bool = False
    """`True` to build the body without a `tile.while` if there are no loops."""
    builders: list[tuple[int, Builder]] = field(
        default_factory=list[tuple[int, Builder]]
    )
    """
    Number of enclosing loops and builder at that depth, outermost first: insertion
    points for values invariant in the inner loops.
    """

    def builder_outside_invariant_loops(self, box: Box) -> Builder:
        """Return the builder outside all loops in which a tile is invariant."""
        depth = innermost_moving_depth(box, self.loops)
        return next(builder for loops, builder in self.builders if loops >= depth)

    def build_nest(
        self,
        builder: Builder,
        destinations: Sequence[SSAValue],
        sliced_boxes: Sequence[Box],
        build_body: BodyBuilder,
    ) -> Sequence[SSAValue]:
        """
        Build the loops at the builder's insertion point, split at each depth where one
        of `sliced_boxes` is invariant in the inner loops. Return the updated
        destinations.
        """
        count = len(self.loops)
        splits = {0, count}
        if self.omits_empty_loop and not count:
            self.builders.append((0, builder))
            return build_body(builder, destinations)
        if self.hoists_slices:
            splits |= {innermost_moving_depth(box, self.loops) for box in sliced_boxes}
            if count or not self.slices_before_use:
                self.builders.append((0, builder))
        frames = list(pairwise(sorted(splits))) if count else [(0, 0)]
        return self._build_split_loops(builder, destinations, frames, build_body)

    def _build_split_loops(
        self,
        builder: Builder,
        destinations: Sequence[SSAValue],
        loop_ranges: Sequence[tuple[int, int]],
        build_body: BodyBuilder,
    ) -> Sequence[SSAValue]:
        """Build nested parallel `tile.while` operations, one per range of loops."""
        (first, last), *inner = loop_ranges
        loops = self.loops[first:last]
        types = [IndexType()] * len(loops) + [each.type for each in destinations]
        block = Block(arg_types=types)
        self._bind_induction_variables(loops, block)
        body_builder = Builder(InsertPoint.at_end(block))
        self.builders.append((last, body_builder))
        written = block.args[len(loops) :]
        if inner:
            results = self._build_split_loops(body_builder, written, inner, build_body)
        else:
            results = build_body(body_builder, written)
        body_builder.insert(tile.YieldOp(*results))
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
            self.warps,
            self.unroll,
        )
        return builder.insert(nest).results

    def _bind_induction_variables(
        self, loops: Sequence[TileLoop], block: Block
    ) -> None:
        for loop, variable in zip(loops, block.args, strict=False):
            variable.name_hint = self.names[loop]
            self.indices.variables[loop] = variable


def name_induction_variables(loops: Sequence[TileLoop]) -> dict[TileLoop, str]:
    """Return a name for the induction variable of each parallel loop."""
    return dict(zip(loops, chain(VARIABLE_NAMES, repeat("i")), strict=False))
