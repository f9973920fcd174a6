"""
The loops around the tiles of a group.

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

from tlf.analysis.tiling.boxes import moves_with
from tlf.analysis.tiling.model import Loop
from tlf.dialects import tile
from tlf.lowering.graph_to_tile.indices import Indices
from tlf.support.affine.access import Box

VARIABLES = "ijmnpq"
"""Names of induction variables of parallel loops; those of reductions are `k`."""

Body = Callable[[Builder, Sequence[SSAValue]], Sequence[SSAValue]]
"""Builds the innermost body on its destinations, and returns what becomes of them."""


@dataclass
class Nest:
    """
    Parallel loops, outermost first, built as one or more `tile.while`s.
    """

    loops: Sequence[Loop]
    mapping: tile.Mapping
    indices: Indices
    names: Mapping[Loop, str]
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

    def home(self, box: Box) -> Builder:
        """
        Return the builder for slicing a tile: outside of all loops that do not move it.
        """
        depth = self._depth(box)
        return next(builder for loops, builder in self.builders if loops >= depth)

    def _depth(self, box: Box) -> int:
        return max(
            (
                number + 1
                for number, loop in enumerate(self.loops)
                if moves_with(box, (loop,))
            ),
            default=0,
        )

    def build(
        self,
        builder: Builder,
        destinations: Sequence[SSAValue],
        boxes: Sequence[Box],
        body: Body,
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
            splits |= {self._depth(box) for box in boxes}
            if count or not self.late:
                self.builders.append((0, builder))
        frames = list(pairwise(sorted(splits))) if count else [(0, 0)]
        return self._frame(builder, destinations, frames, body)

    def _frame(
        self,
        builder: Builder,
        destinations: Sequence[SSAValue],
        frames: Sequence[tuple[int, int]],
        body: Body,
    ) -> Sequence[SSAValue]:
        (first, last), *inner = frames
        loops = self.loops[first:last]
        types = [IndexType()] * len(loops) + [each.type for each in destinations]
        block = Block(arg_types=types)
        self._bind(loops, block)
        inside = Builder(InsertPoint.at_end(block))
        self.builders.append((last, inside))
        written = block.args[len(loops) :]
        if inner:
            results = self._frame(inside, written, inner, body)
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

    def _bind(self, loops: Sequence[Loop], block: Block) -> None:
        for loop, variable in zip(loops, block.args, strict=False):
            variable.name_hint = self.names[loop]
            self.indices.variables[loop] = variable


def named(loops: Sequence[Loop]) -> dict[Loop, str]:
    """A name for the induction variable of each parallel loop."""
    return dict(zip(loops, chain(VARIABLES, repeat("i")), strict=False))
