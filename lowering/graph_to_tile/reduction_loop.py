"""The loop over the pieces of a reduction, and of others along with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from xdsl.builder import Builder
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.analysis.recurrence.factors import CorrectionBuilder, limited, restarted
from tlf.analysis.recurrence.formula import After, Before
from tlf.analysis.tiling.cascading import is_carried, is_corrected_behind, limits_of
from tlf.analysis.tiling.model import Scope, TiledOperation
from tlf.dialects import tile
from tlf.dialects.combining import combined
from tlf.dialects.graph.decomposition import TensorProgram
from tlf.dialects.interfaces import AccumulatingInterface
from tlf.dialects.types import greatest, tensor_type
from tlf.lowering.graph_to_tile.indices import Indices
from tlf.lowering.graph_to_tile.tiles import Tiles


@dataclass
class ReductionLoop:
    """
    Builds the loop of an anchor. The steps of a cascade are carried beside its total,
    and so is what is computed of them and corrects others.

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
    """The loop-carried operations, in program order."""

    def build(self, builder: Builder, anchor: TiledOperation) -> SSAValue:
        """Build the loop before the builder's insertion point; return its total."""
        tiling = self.tiles.tiling
        self.running = [
            each for each in tiling.tiles.values() if is_carried(tiling, each.op)
        ]
        starts = self._starts(builder)
        loops = list(tiling.inner_loops.values())
        body = Block(arg_types=[IndexType()] * len(loops) + [s.type for s in starts])
        for loop, variable in zip(loops, body.args, strict=False):
            variable.name_hint = "k"
            self.indices.variables[loop] = variable
        inside = Builder(InsertPoint.at_end(body))
        totals = dict[SSAValue, SSAValue](
            zip(self._carried, body.args[len(loops) :], strict=True)
        )
        self._body(inside, totals)
        inside.insert(tile.YieldOp(*[totals[each] for each in self._carried]))
        nest = tile.WhileOp(
            [0] * len(loops),
            [loop.extent for loop in loops],
            [loop.tile for loop in loops],
            starts,
            body,
            tile.LoopKind.SEQUENTIAL,
            stages=self.stages,
        )
        results = builder.insert(nest).results
        self._finish(builder, dict(zip(self._carried, results, strict=True)))
        return self.tiles.values[anchor.op.results[0]]

    @property
    def _carried(self) -> list[SSAValue]:
        return [each.op.results[0] for each in self.running]

    def _starts(self, builder: Builder) -> list[SSAValue]:
        """Return the initial values of the loop-carried values."""
        starts = dict[SSAValue, SSAValue]()
        values = self.tiles.values
        for each in filter(self._is_sum, self.running):
            result = each.op.results[0]
            starts[result] = self._start(builder, each)
            values[result] = self._seen(builder, each, starts[result])
        for each in self._rows_before():
            self.compute(builder, each)
            result = each.op.results[0]
            values[result] = self._seen(builder, each, values[result])
        return [starts.get(value, values[value]) for value in self._carried]

    def _rows_before(self) -> list[TiledOperation]:
        """
        Return the operations that are computed from totals alone and that carried
        values need.
        """
        found = list[TiledOperation]()
        wanted = set(self._carried)
        for each in reversed(self.tiles.tiling.tiles.values()):
            op = each.op
            if self.tiles.tiling.is_row(op) and not wanted.isdisjoint(op.results):
                wanted.update(op.operands)
                found.insert(0, each)
        return found

    def _start(self, builder: Builder, tiled: TiledOperation) -> SSAValue:
        """Return the initial value of a reduction."""
        op = _accumulating(tiled)
        if op.init_value is not None:
            position = len(op.operands) - 1
            box = tiled.result
            return self.tiles.fetch(builder, op, position, box, Scope.OUTER)
        type_ = self.tiles.type_of(tensor_type(op.results[0]), tiled.result)
        return builder.insert(tile.FillOp(op.neutral(), type_)).result

    def _body(self, inside: Builder, totals: dict[SSAValue, SSAValue]) -> None:
        """One iteration, from what is carried into it to what is carried on."""
        before = self._before(inside, totals)
        for each in self.tiles.tiling.tiles.values():
            result = each.op.results[0]
            if self._is_sum(each):
                totals[result] = self._more(inside, each, totals[result], before)
                seen = self._seen(inside, each, totals[result])
                self.tiles.values[result] = seen
            elif each.scope is Scope.INNER:
                self.compute(inside, each)
                if each in self.running:
                    totals[result] = self.tiles.values[result]
                    seen = self._seen(inside, each, totals[result])
                    self.tiles.values[result] = seen

    def _before(
        self, builder: Builder, totals: Mapping[SSAValue, SSAValue]
    ) -> dict[SSAValue, SSAValue]:
        """Return the carried values as other operations saw them before this update."""
        return {
            each.op.results[0]: self._seen(builder, each, totals[each.op.results[0]])
            for each in self.running
        }

    def _more(
        self,
        inside: Builder,
        tiled: TiledOperation,
        total: SSAValue,
        before: Mapping[SSAValue, SSAValue],
    ) -> SSAValue:
        """
        A total with one piece more, corrected before. Where tiles are tiled again, the
        piece is summed up by itself: a sum that starts from a value which needs the
        result of another one runs in no loop with that.
        """
        tiling = self.tiles.tiling
        corrected = self._corrected(inside, tiled, total, before)
        if not tiling.rules.again or corrected is total:
            return self._accumulated(inside, tiled, corrected)
        piece = self._accumulated(inside, tiled)
        return inside.insert(combined(_accumulating(tiled), corrected, piece)).result

    def _accumulated(
        self, inside: Builder, tiled: TiledOperation, *start: SSAValue
    ) -> SSAValue:
        """
        Reduce the current piece, and accumulate it on an initial value if there is one.
        """
        op = _accumulating(tiled)
        operands = [
            self.tiles.fetch(
                inside, op, position, self.tiles.box_of(tiled, position), Scope.INNER
            )
            for position, accesses in enumerate(op.operand_accesses()[: len(op.inputs)])
            if accesses is not None
        ]
        return self.tiles.apply(inside, tiled, [*operands, *start])

    def _finish(self, builder: Builder, totals: Mapping[SSAValue, SSAValue]) -> None:
        """Let what follows the loop read totals."""
        tiling = self.tiles.tiling
        before = self._before(builder, totals)
        for each in tiling.tiles.values():
            result = each.op.results[0]
            if self._is_sum(each):
                total = totals[result]
                if is_corrected_behind(tiling, each.op):
                    total = self._corrected(builder, each, total, before, True)
                self.tiles.values[result] = total
            elif each.again:
                self.compute(builder, each)

    def _is_sum(self, tiled: TiledOperation) -> bool:
        """Return `True` if an operation accumulates a loop-carried value."""
        return tiled in self.running and not self.tiles.tiling.is_row(tiled.op)

    def _corrected(
        self,
        builder: Builder,
        tiled: TiledOperation,
        total: SSAValue,
        before: Mapping[SSAValue, SSAValue],
        is_last: bool = False,
    ) -> SSAValue:
        """A total for what its terms depend on now, or depend on at last."""
        correction = self.tiles.tiling.correction_of(tiled.op)
        if correction is None:
            return self._restarted(builder, tiled, total, before)
        program = TensorProgram(builder, tensor_type(total).element_type)
        values = self.tiles.values
        formulae = CorrectionBuilder(program, correction.places, before, values)
        factor = formulae.build(correction.formula)
        if not correction.is_bounded and not is_last:
            # A total that nothing has been added to is 0, and must stay 0.
            factor = limited(factor, [greatest(program.element)], builder)
        return program.mul(total, factor)

    def _restarted(
        self,
        builder: Builder,
        tiled: TiledOperation,
        total: SSAValue,
        before: Mapping[SSAValue, SSAValue],
    ) -> SSAValue:
        """A total, or what it starts from where it does that again."""
        restart = self.tiles.tiling.restart_of(tiled.op)
        if restart is None:
            return total
        extreme = restart.extreme
        program = TensorProgram(builder, tensor_type(extreme).element_type)
        values = self.tiles.values
        formulae = CorrectionBuilder(program, restart.places, before, values)
        old, new = formulae.build(Before(extreme)), formulae.build(After(extreme))
        neutral = _accumulating(tiled).neutral()
        return restarted(total, old, new, neutral, builder)

    def _seen(
        self, builder: Builder, tiled: TiledOperation, total: SSAValue
    ) -> SSAValue:
        """Return the limited total that other operations compute with."""
        return limited(total, limits_of(self.tiles.tiling, tiled.op), builder)


def _accumulating(tiled: TiledOperation) -> AccumulatingInterface:
    op = tiled.op
    assert isinstance(op, AccumulatingInterface)
    return op
