"""The loop over the pieces of a reduction, and of others along with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.builder import Builder
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph, tile
from tlf.dialects.graph.decomposition import TensorProgram
from tlf.dialects.interfaces import AccumulatingInterface
from tlf.dialects.types import tensor_type
from tlf.lowering.tiling.corrections import CorrectionBuilder
from tlf.lowering.tiling.indices import Indices
from tlf.lowering.tiling.tiles import Tiles
from tlf.passes.tiling.cascading import limit_of
from tlf.passes.tiling.model import Scope, TiledOperation


@dataclass
class ReductionLoop:
    """
    Builds the loop of an anchor. The steps of a cascade are carried beside its total.

    A maximum starts from minus infinity, and infinities cannot be subtracted from each
    other. So what others compute with is not below the least finite number: then rows
    of which nothing has been seen so far but minus infinity add up to 0. Behind the
    loop, sums are corrected for what maxima really are, as if it was a change like any
    other.
    """

    tiles: Tiles
    indices: Indices
    stages: int | None
    compute: Callable[[Builder, TiledOperation], None]
    """Builds what is neither a step nor the anchor."""
    running: list[TiledOperation] = field(init=False)
    """The steps and the anchor."""

    def build(self, builder: Builder, anchor: TiledOperation) -> SSAValue:
        """Build the loop before the builder's insertion point; return its total."""
        tiling = self.tiles.tiling
        self.running = [
            each
            for each in tiling.tiles.values()
            if each is anchor or tiling.is_step(each.op)
        ]
        results = [each.op.results[0] for each in self.running]
        starts = [self._start(builder, each) for each in self.running]
        loops = list(tiling.inner_loops.values())
        body = Block(arg_types=[IndexType()] * len(loops) + [s.type for s in starts])
        for loop, variable in zip(loops, body.args, strict=False):
            variable.name_hint = "k"
            self.indices.variables[loop] = variable
        inside = Builder(InsertPoint.at_end(body))
        totals = dict[SSAValue, SSAValue](
            zip(results, body.args[len(loops) :], strict=True)
        )
        self._body(inside, totals)
        inside.insert(tile.YieldOp(*[totals[each] for each in results]))
        nest = tile.WhileOp(
            [0] * len(loops),
            [loop.extent for loop in loops],
            [loop.tile for loop in loops],
            starts,
            body,
            tile.LoopKind.SEQUENTIAL,
            stages=self.stages,
        )
        self._finish(builder, builder.insert(nest).results)
        return self.tiles.values[anchor.op.results[0]]

    def _start(self, builder: Builder, tiled: TiledOperation) -> SSAValue:
        """What a reduction starts from."""
        op = _accumulating(tiled)
        if op.init_value is not None:
            position = len(op.operands) - 1
            box = tiled.result
            return self.tiles.fetch(builder, op, position, box, Scope.OUTER)
        type_ = self.tiles.type_of(tensor_type(op.results[0]), tiled.result)
        return builder.insert(tile.FillOp(op.neutral(), type_)).result

    def _body(self, inside: Builder, totals: dict[SSAValue, SSAValue]) -> None:
        """One iteration, from the totals before it to those after it."""
        before = dict[SSAValue, SSAValue]()
        for each in self.running:
            result = each.op.results[0]
            before[result] = self._seen(inside, each, totals[result])
        for each in self.tiles.tiling.tiles.values():
            if each in self.running:
                result = each.op.results[0]
                total = self._corrected(inside, each, totals[result], before)
                totals[result] = self._accumulated(inside, each, total)
                seen = self._seen(inside, each, totals[result])
                self.tiles.values[result] = seen
            elif each.scope is Scope.INNER:
                self.compute(inside, each)

    def _accumulated(
        self, inside: Builder, tiled: TiledOperation, total: SSAValue
    ) -> SSAValue:
        """A total with one piece more."""
        op = _accumulating(tiled)
        operands = [
            self.tiles.fetch(
                inside, op, position, self.tiles.box_of(tiled, position), Scope.INNER
            )
            for position, accesses in enumerate(op.operand_accesses()[: len(op.inputs)])
            if accesses is not None
        ]
        return self.tiles.apply(inside, tiled, [*operands, total])

    def _finish(self, builder: Builder, totals: Sequence[SSAValue]) -> None:
        """Let what follows the loop read totals."""
        before = dict[SSAValue, SSAValue]()
        for each, total in zip(self.running, totals, strict=True):
            result = each.op.results[0]
            before[result] = self._seen(builder, each, total)
            if self._depends_on_limited(each):
                total = self._corrected(builder, each, total, before)
            self.tiles.values[result] = total

    def _corrected(
        self,
        builder: Builder,
        tiled: TiledOperation,
        total: SSAValue,
        before: Mapping[SSAValue, SSAValue],
    ) -> SSAValue:
        """A total for what its terms depend on now."""
        correction = self.tiles.tiling.correction_of(tiled.op)
        if correction is None:
            return total
        program = TensorProgram(builder, tensor_type(total).element_type)
        formulae = CorrectionBuilder(program, before, self.tiles.values)
        return program.mul(total, formulae.build(correction.formula))

    def _depends_on_limited(self, tiled: TiledOperation) -> bool:
        correction = self.tiles.tiling.correction_of(tiled.op)
        values = () if correction is None else correction.values
        limited = [
            each.op.results[0]
            for each in self.running
            if limit_of(self.tiles.tiling, each.op)
        ]
        return any(value in limited for value in values)

    def _seen(
        self, builder: Builder, tiled: TiledOperation, total: SSAValue
    ) -> SSAValue:
        """What others compute with instead of a total."""
        if (limit := limit_of(self.tiles.tiling, tiled.op)) is None:
            return total
        program = TensorProgram(builder, tensor_type(total).element_type)
        kind = graph.MinimumOp if limit > 0 else graph.MaximumOp
        return program.insert(kind(total, program.number(limit)))


def _accumulating(tiled: TiledOperation) -> AccumulatingInterface:
    op = tiled.op
    assert isinstance(op, AccumulatingInterface)
    return op
