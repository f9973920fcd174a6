"""Lowering of a group's reductions, including cascaded ones, to a loop over tiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from xdsl.builder import Builder
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.analysis.recurrence.formula import After, Before
from tlf.analysis.tiling.cascade_tiles import (
    is_corrected_after_loop,
    is_loop_carried,
    limits_in_loop,
)
from tlf.analysis.tiling.group_tiling import LoopLevel, TiledOperation
from tlf.dialects import tile
from tlf.dialects.graph.tensor_builder import TensorBuilder
from tlf.dialects.interfaces import AccumulatingInterface
from tlf.dialects.reduction_combiner import build_combination
from tlf.dialects.types import max_finite, tensor_type
from tlf.lowering.graph_to_tile.offset_builder import OffsetBuilder
from tlf.lowering.graph_to_tile.tile_emitter import TileEmitter
from tlf.passes.graph.correction_builder import (
    CorrectionBuilder,
    clamp_value,
    restart_total,
)


@dataclass
class ReductionLoop:
    """
    Builder of the reduction loop of an anchor.

    Loop-carried values are the total of the anchor, the totals of the other reductions
    of its cascade, and values computed from totals that correct other totals.

    A maximum starts at minus infinity, and minus infinity minus itself is NaN.
    Therefore other operations read a maximum clamped to the least finite number; the
    sum of a row that only contains minus infinity so far is then 0. After the loop,
    sums are corrected from the clamped to the exact maximum like for any other update.
    """

    tiles: TileEmitter
    indices: OffsetBuilder
    stages: int | None
    compute: Callable[[Builder, TiledOperation], None]
    """Callback that builds operations that are not reductions of the cascade."""
    carried_operations: list[TiledOperation] = field(init=False)
    """Loop-carried operations, in program order."""

    def build(self, builder: Builder, anchor: TiledOperation) -> SSAValue:
        """Build the loop at the builder's insertion point and return its total."""
        tiling = self.tiles.tiling
        self.carried_operations = [
            each for each in tiling.tiles.values() if is_loop_carried(tiling, each.op)
        ]
        initial_values = self._initial_values(builder)
        loops = list(tiling.inner_loops.values())
        body = Block(
            arg_types=[IndexType()] * len(loops) + [s.type for s in initial_values]
        )
        for loop, variable in zip(loops, body.args, strict=False):
            variable.name_hint = "k"
            self.indices.variables[loop] = variable
        body_builder = Builder(InsertPoint.at_end(body))
        totals = dict[SSAValue, SSAValue](
            zip(self._carried_values, body.args[len(loops) :], strict=True)
        )
        self._build_body(body_builder, totals)
        body_builder.insert(
            tile.YieldOp(*[totals[each] for each in self._carried_values])
        )
        nest = tile.WhileOp(
            [0] * len(loops),
            [loop.extent for loop in loops],
            [loop.tile for loop in loops],
            initial_values,
            body,
            tile.LoopKind.SEQUENTIAL,
            stages=self.stages,
        )
        results = builder.insert(nest).results
        self._finalize_totals(
            builder, dict(zip(self._carried_values, results, strict=True))
        )
        return self.tiles.values[anchor.op.results[0]]

    @property
    def _carried_values(self) -> list[SSAValue]:
        return [each.op.results[0] for each in self.carried_operations]

    def _initial_values(self, builder: Builder) -> list[SSAValue]:
        """Build the initial values of the loop-carried values."""
        initial = dict[SSAValue, SSAValue]()
        values = self.tiles.values
        for each in filter(self._is_accumulating, self.carried_operations):
            result = each.op.results[0]
            initial[result] = self._initial_value(builder, each)
            values[result] = self._limit_total(builder, each, initial[result])
        for each in self._required_rows():
            self.compute(builder, each)
            result = each.op.results[0]
            values[result] = self._limit_total(builder, each, values[result])
        return [initial.get(value, values[value]) for value in self._carried_values]

    def _required_rows(self) -> list[TiledOperation]:
        """
        Return the operations that depend only on totals and that carried values use,
        in program order.
        """
        rows = list[TiledOperation]()
        required = set(self._carried_values)
        for each in reversed(self.tiles.tiling.tiles.values()):
            op = each.op
            if self.tiles.tiling.is_row(op) and not required.isdisjoint(op.results):
                required.update(op.operands)
                rows.insert(0, each)
        return rows

    def _initial_value(self, builder: Builder, tiled: TiledOperation) -> SSAValue:
        """Build the initial value of a reduction."""
        op = _accumulating_op(tiled)
        if op.init_value is not None:
            position = len(op.operands) - 1
            box = tiled.result
            return self.tiles.fetch(builder, op, position, box, LoopLevel.OUTER)
        type_ = self.tiles.tile_type(tensor_type(op.results[0]), tiled.result)
        return builder.insert(tile.FillOp(op.neutral_element(), type_)).result

    def _build_body(self, inside: Builder, totals: dict[SSAValue, SSAValue]) -> None:
        """Build one iteration; update `totals` from carried to yielded values."""
        before = self._previous_values(inside, totals)
        for each in self.tiles.tiling.tiles.values():
            result = each.op.results[0]
            if self._is_accumulating(each):
                totals[result] = self._update_total(
                    inside, each, totals[result], before
                )
                limited = self._limit_total(inside, each, totals[result])
                self.tiles.values[result] = limited
            elif each.loop_level is LoopLevel.INNER:
                self.compute(inside, each)
                if each in self.carried_operations:
                    totals[result] = self.tiles.values[result]
                    limited = self._limit_total(inside, each, totals[result])
                    self.tiles.values[result] = limited

    def _previous_values(
        self, builder: Builder, totals: Mapping[SSAValue, SSAValue]
    ) -> dict[SSAValue, SSAValue]:
        """
        Return the carried values as other operations read them, before the update.
        """
        return {
            each.op.results[0]: self._limit_total(
                builder, each, totals[each.op.results[0]]
            )
            for each in self.carried_operations
        }

    def _update_total(
        self,
        inside: Builder,
        tiled: TiledOperation,
        total: SSAValue,
        before: Mapping[SSAValue, SSAValue],
    ) -> SSAValue:
        """
        Correct a total and accumulate one more reduction tile on it.

        If tiles are tiled again for an inner level, the reduction tile is reduced
        separately and then combined: a reduction whose initial value depends on
        another reduction cannot share a loop with that reduction.
        """
        tiling = self.tiles.tiling
        corrected = self._apply_correction(inside, tiled, total, before)
        if not tiling.rules.is_retiled or corrected is total:
            return self._accumulate_tile(inside, tiled, corrected)
        partial = self._accumulate_tile(inside, tiled)
        return inside.insert(
            build_combination(_accumulating_op(tiled), corrected, partial)
        ).result

    def _accumulate_tile(
        self, inside: Builder, tiled: TiledOperation, *start: SSAValue
    ) -> SSAValue:
        """
        Reduce the current reduction tile, accumulated on an initial value if given.
        """
        op = _accumulating_op(tiled)
        operands = [
            self.tiles.fetch(
                inside,
                op,
                position,
                self.tiles.operand_box(tiled, position),
                LoopLevel.INNER,
            )
            for position, accesses in enumerate(op.indexing_maps()[: len(op.inputs)])
            if accesses is not None
        ]
        return self.tiles.build_operation(inside, tiled, [*operands, *start])

    def _finalize_totals(
        self, builder: Builder, totals: Mapping[SSAValue, SSAValue]
    ) -> None:
        """Correct totals after the loop and bind them for operations after the loop."""
        tiling = self.tiles.tiling
        before = self._previous_values(builder, totals)
        for each in tiling.tiles.values():
            result = each.op.results[0]
            if self._is_accumulating(each):
                total = totals[result]
                if is_corrected_after_loop(tiling, each.op):
                    total = self._apply_correction(builder, each, total, before, True)
                self.tiles.values[result] = total
            elif each.is_recomputed:
                self.compute(builder, each)

    def _is_accumulating(self, tiled: TiledOperation) -> bool:
        """Return `True` if an operation accumulates a loop-carried value."""
        return tiled in self.carried_operations and not self.tiles.tiling.is_row(
            tiled.op
        )

    def _apply_correction(
        self,
        builder: Builder,
        tiled: TiledOperation,
        total: SSAValue,
        before: Mapping[SSAValue, SSAValue],
        is_last: bool = False,
    ) -> SSAValue:
        """
        Correct a total for the current, or if `is_last` the final, values of the
        reductions that its terms depend on.
        """
        correction = self.tiles.tiling.correction_of(tiled.op)
        if correction is None:
            return self._apply_restart(builder, tiled, total, before)
        program = TensorBuilder(builder, tensor_type(total).element_type)
        values = self.tiles.values
        formulae = CorrectionBuilder(program, correction.axis_matches, before, values)
        factor = formulae.build(correction.formula)
        if not correction.is_bounded and not is_last:
            # An empty total is 0 and must stay 0: an infinite factor would give NaN.
            factor = clamp_value(factor, [max_finite(program.element)], builder)
        return program.mul(total, factor)

    def _apply_restart(
        self,
        builder: Builder,
        tiled: TiledOperation,
        total: SSAValue,
        before: Mapping[SSAValue, SSAValue],
    ) -> SSAValue:
        """Return a total, reset to its neutral element where the reduction restarts."""
        restart = self.tiles.tiling.restart_of(tiled.op)
        if restart is None:
            return total
        extreme = restart.extreme
        program = TensorBuilder(builder, tensor_type(extreme).element_type)
        values = self.tiles.values
        formulae = CorrectionBuilder(program, restart.axis_matches, before, values)
        old, new = formulae.build(Before(extreme)), formulae.build(After(extreme))
        neutral = _accumulating_op(tiled).neutral_element()
        return restart_total(total, old, new, neutral, builder)

    def _limit_total(
        self, builder: Builder, tiled: TiledOperation, total: SSAValue
    ) -> SSAValue:
        """Return the total that other operations read, clamped to its limits."""
        return clamp_value(total, limits_in_loop(self.tiles.tiling, tiled.op), builder)


def _accumulating_op(tiled: TiledOperation) -> AccumulatingInterface:
    op = tiled.op
    assert isinstance(op, AccumulatingInterface)
    return op
