"""The loop along which tiles roll: what overlaps the next tile is carried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.analysis.tiling.model import Loop, Scope
from tlf.analysis.tiling.window import Window
from tlf.dialects import tile
from tlf.dialects.types import tensor_type
from tlf.lowering.graph_to_tile.nest import Body
from tlf.lowering.graph_to_tile.tiles import Tiles
from tlf.support.affine.access import Linear


@dataclass
class RollingLoop:
    """
    A sequential loop that carries destinations and windows.
    """

    tiles: Tiles
    """Tiles computed in the loop."""
    start: Tiles
    """Tiles computed before the loop."""
    loop: Loop
    name: str
    stages: int | None
    body: Body

    def build(
        self, builder: Builder, destinations: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """Build the loop, and return what becomes of the destinations."""
        windows = self.tiles.tiling.windows
        first = {
            key: self._cut(builder, key[0], window)
            for key, window in windows.items()
            if key[0] in self.start.inputs
        }
        for each in self.start.tiling.tiles.values():
            self.start.keep(builder, each, self.start.compute(builder, each))
        first |= {
            key: self._computed(builder, key[0], window)
            for key, window in windows.items()
            if key not in first
        }
        carried = [*destinations, *(first[key] for key in windows)]
        block = Block(arg_types=[IndexType(), *(each.type for each in carried)])
        block.args[0].name_hint = self.name
        self.tiles.indices.variables[self.loop] = block.args[0]
        count = len(destinations)
        arguments = block.args[1 + count :]
        for (value, _), argument in zip(windows, arguments, strict=True):
            argument.name_hint = value.name_hint
        self.tiles.enter(dict(zip(windows, arguments, strict=True)))
        inside = Builder(InsertPoint.at_end(block))
        results = self.body(inside, block.args[1 : 1 + count])
        rolled = [self.tiles.rolled[key] for key in windows]
        inside.insert(tile.YieldOp(*results, *rolled))
        leads = bool(self.tiles.tiling.ahead)
        loop = tile.WhileOp(
            [0],
            [self.loop.last if leads else self.loop.extent],
            [self.loop.tile],
            carried,
            block,
            tile.LoopKind.SEQUENTIAL,
            stages=self.stages,
        )
        done = builder.insert(loop).results
        if not leads:
            return done[:count]
        self.tiles.enter(dict(zip(windows, done[count:], strict=True)))
        return self._last(builder, done[:count], block)

    def _last(
        self, builder: Builder, destinations: Sequence[SSAValue], block: Block
    ) -> Sequence[SSAValue]:
        """The last iteration, behind the loop, which computes nothing ahead."""
        self.tiles.indices.behind[self.loop] = Linear(self.loop.last)
        for known in self.tiles.cuts.values():
            known[:] = [each for each in known if each[1].owner.parent is not block]
        self.tiles.is_last = True
        return self.body(builder, destinations)

    def _cut(self, builder: Builder, value: SSAValue, window: Window) -> SSAValue:
        """The window of an input before the first iteration, as its readers want it."""
        tiles, box = self.start, window.initial
        part = tiles.slice(builder, value, box, Scope.OUTER, window.fill)
        return self._at_end(builder, value, part, window)

    def _computed(self, builder: Builder, value: SSAValue, window: Window) -> SSAValue:
        """The window of a value that is computed: what is kept, at its end."""
        tiles, owner = self.start, value.owner
        assert isinstance(owner, Operation)
        whole = tiles.tiling.tiles[owner].result
        part = tiles.view(builder, tiles.values[value], whole, window.kept)
        if window.fill is not None:
            part = tiles.masked(builder, value, part, window.kept, window.fill)
        return self._at_end(builder, value, part, window)

    def _at_end(
        self, builder: Builder, value: SSAValue, part: SSAValue, window: Window
    ) -> SSAValue:
        """A window that ends with a part, or is all of it."""
        if tensor_type(part).get_shape() == self._shape(window):
            return part
        type_ = self.start.type_of(tensor_type(value), window.whole)
        empty = builder.insert(tile.EmptyOp(type_)).result
        offsets = [0] * len(window.whole)
        size = tensor_type(part).get_shape()[window.axis]
        offsets[window.axis] = window.whole[window.axis].room - size
        return builder.insert(tile.DesliceOp(part, empty, offsets)).result

    @staticmethod
    def _shape(window: Window) -> tuple[int, ...]:
        return tuple(interval.room for interval in window.whole)
