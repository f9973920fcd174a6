"""Lowering of a group's reductions, including cascaded ones, to a loop over tiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.builder import Builder
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.analysis.recurrence.formula import ValueAfterIteration, ValueBeforeIteration
from tlf.analysis.tiling.cascade_tiles import (
    is_corrected_after_loop,
    is_loop_carried,
    running_value_limits_in_loop,
)
from tlf.analysis.tiling.contributing_iterations import (
    IterationRange,
    find_contributing_iterations,
)
from tlf.analysis.tiling.group_tiling import LoopLevel, TiledOperation
from tlf.dialects import tile
from tlf.dialects.graph import add_remark
from tlf.dialects.graph.tensor_builder import TensorBuilder
from tlf.dialects.interfaces import AccumulatingInterface
from tlf.dialects.reduction_combiner import build_combining_operation
from tlf.dialects.types import max_finite_value_of_type, tensor_type
from tlf.lowering.graph_to_tile.loop_bounds import build_loop_bound
from tlf.lowering.graph_to_tile.offset_builder import OffsetBuilder
from tlf.lowering.graph_to_tile.tile_emitter import TileEmitter
from tlf.passes.graph.correction_builder import (
    CorrectionBuilder,
    clamp_value,
    restart_total,
)
from tlf.planner.cost.loop_ranges import describe_trips, select_loop_ranges

PASS_NAME = "convert-graph-to-tile"


@dataclass
class ReductionLoop:
    """
    Builder of the `tile` loop that accumulates the reduction of an anchor operation.

    Iterations that cannot change a total are omitted. The others may become several
    loops in sequence, one of which computes no masks.

    Loop-carried values are the total of the anchor, the totals of the other reductions
    of its cascade, and values computed from totals that correct other totals.

    A maximum starts at minus infinity, and minus infinity minus itself is NaN.
    Therefore other operations read a maximum clamped to the least finite number; the
    sum of a row that only contains minus infinity so far is then 0. After the loop,
    sums are corrected from the clamped to the exact maximum like for any other update.
    """

    tile_emitter: TileEmitter
    offset_builder: OffsetBuilder
    stages: int | None
    build_operation: Callable[[Builder, TiledOperation], None]
    """Callback that builds operations that are not reductions of the cascade."""
    carried_operations: list[TiledOperation] = field(init=False)
    """Loop-carried operations, in program order."""

    def build_reduction_loop(
        self, builder: Builder, anchor: TiledOperation
    ) -> SSAValue:
        """Build the loop at the builder's insertion point and return its total."""
        tiling = self.tile_emitter.tiling
        self.carried_operations = [
            each for each in tiling.tiles.values() if is_loop_carried(tiling, each.op)
        ]
        results: Sequence[SSAValue] = self._build_initial_values(builder)
        values = dict(self.tile_emitter.values)
        for part in self._select_loop_ranges(anchor):
            self.tile_emitter.begin_reduction_loop(values)
            results = self._build_loop_over_range(builder, part, results)
        self._correct_totals_after_loop(
            builder, dict(zip(self._loop_carried_results, results, strict=True))
        )
        return self.tile_emitter.values[anchor.op.results[0]]

    def _select_loop_ranges(
        self, anchor: TiledOperation
    ) -> Sequence[IterationRange | None]:
        """
        Return the ranges of iterations to build a loop for, with a remark if they are
        not all iterations; None for all of them.
        """
        found = find_contributing_iterations(self.tile_emitter.tiling)
        if found is None:
            return [None]
        add_remark(anchor.op, PASS_NAME, "passed", describe_trips(found))
        return select_loop_ranges(found)

    def _build_loop_over_range(
        self,
        builder: Builder,
        part: IterationRange | None,
        initial_values: Sequence[SSAValue],
    ) -> Sequence[SSAValue]:
        """Build the loop over some iterations and return its carried values."""
        loops = list(self.tile_emitter.tiling.inner_loops.values())
        body = Block(
            arg_types=[IndexType()] * len(loops) + [s.type for s in initial_values]
        )
        for loop, variable in zip(loops, body.args, strict=False):
            variable.name_hint = "k"
            self.offset_builder.variables[loop] = variable
        body_builder = Builder(InsertPoint.at_end(body))
        totals = dict[SSAValue, SSAValue](
            zip(self._loop_carried_results, body.args[len(loops) :], strict=True)
        )
        self._build_iteration(body_builder, totals, part)
        body_builder.insert(
            tile.YieldOp(*[totals[each] for each in self._loop_carried_results])
        )
        lower, upper = self._build_bounds(builder, part)
        nest = tile.WhileOp(
            lower,
            upper,
            [loop.tile for loop in loops],
            initial_values,
            body,
            tile.LoopKind.SEQUENTIAL,
            stages=self.stages,
        )
        return builder.insert(nest).results

    def _build_bounds(
        self, builder: Builder, part: IterationRange | None
    ) -> tuple[list[tile.Index], list[tile.Index]]:
        """Build the lower and the upper bounds of the loops over some iterations."""
        loops = self.tile_emitter.tiling.inner_loops.values()
        if part is None:
            return [0] * len(loops), [loop.extent for loop in loops]
        first, end = (
            build_loop_bound(builder, term, self.offset_builder)
            for term in (part.first, part.end)
        )
        return [first], [end]

    @property
    def _loop_carried_results(self) -> list[SSAValue]:
        return [each.op.results[0] for each in self.carried_operations]

    def _build_initial_values(self, builder: Builder) -> list[SSAValue]:
        """
        Build the inits of the reduction loop, in loop-carried order, and bind them for
        the operations before the loop.
        """
        initial = dict[SSAValue, SSAValue]()
        values = self.tile_emitter.values
        for each in filter(
            self._is_accumulating_carried_value, self.carried_operations
        ):
            result = each.op.results[0]
            initial[result] = self._build_initial_total(builder, each)
            values[result] = self._clamp_total_for_reads(builder, each, initial[result])
        for each in self._operations_on_totals_before_loop():
            self.build_operation(builder, each)
            result = each.op.results[0]
            values[result] = self._clamp_total_for_reads(builder, each, values[result])
        return [
            initial.get(value, values[value]) for value in self._loop_carried_results
        ]

    def _operations_on_totals_before_loop(self) -> list[TiledOperation]:
        """
        Return the operations that depend only on totals and that carried values use,
        in program order.
        """
        rows = list[TiledOperation]()
        required = set(self._loop_carried_results)
        for each in reversed(self.tile_emitter.tiling.tiles.values()):
            op = each.op
            if self.tile_emitter.tiling.is_row_operation(
                op
            ) and not required.isdisjoint(op.results):
                required.update(op.operands)
                rows.insert(0, each)
        return rows

    def _build_initial_total(self, builder: Builder, tiled: TiledOperation) -> SSAValue:
        """
        Fetch the tile of a reduction's initial value, or build a fill with the neutral
        element if it has none.
        """
        op = _accumulating_operation_of(tiled)
        if op.init_value is not None:
            position = len(op.operands) - 1
            box = tiled.result
            return self.tile_emitter.fetch_operand_tile(
                builder, op, position, box, LoopLevel.OUTER
            )
        type_ = self.tile_emitter.tile_type_of_box(
            tensor_type(op.results[0]), tiled.result
        )
        return builder.insert(tile.FillOp(op.neutral_element(), type_)).result

    def _build_iteration(
        self,
        body_builder: Builder,
        totals: dict[SSAValue, SSAValue],
        part: IterationRange | None,
    ) -> None:
        """Build one iteration; update `totals` from carried to yielded values."""
        uniform: Mapping[SSAValue, bool] = {} if part is None else part.conditions
        before = self._clamp_previous_totals(body_builder, totals)
        for each in self.tile_emitter.tiling.tiles.values():
            result = each.op.results[0]
            if self._is_accumulating_carried_value(each):
                totals[result] = self._correct_and_accumulate_total(
                    body_builder, each, totals[result], before
                )
                limited = self._clamp_total_for_reads(
                    body_builder, each, totals[result]
                )
                self.tile_emitter.values[result] = limited
            elif each.loop_level is LoopLevel.INNER and result in uniform:
                number = uniform[result]
                self.tile_emitter.build_splat_result(body_builder, each, number)
            elif each.loop_level is LoopLevel.INNER:
                self.build_operation(body_builder, each)
                if each in self.carried_operations:
                    totals[result] = self.tile_emitter.values[result]
                    limited = self._clamp_total_for_reads(
                        body_builder, each, totals[result]
                    )
                    self.tile_emitter.values[result] = limited

    def _clamp_previous_totals(
        self, builder: Builder, totals: Mapping[SSAValue, SSAValue]
    ) -> dict[SSAValue, SSAValue]:
        """
        Return the carried values as other operations read them, before the update.
        """
        return {
            each.op.results[0]: self._clamp_total_for_reads(
                builder, each, totals[each.op.results[0]]
            )
            for each in self.carried_operations
        }

    def _correct_and_accumulate_total(
        self,
        body_builder: Builder,
        tiled: TiledOperation,
        total: SSAValue,
        previous_values: Mapping[SSAValue, SSAValue],
    ) -> SSAValue:
        """
        Build the corrected `total` with one more reduction tile accumulated, and return
        it.

        If tiles are tiled again for an inner level, the reduction tile is reduced
        separately and then combined: a reduction whose initial value depends on
        another reduction cannot share a loop with that reduction.
        """
        tiling = self.tile_emitter.tiling
        corrected = self._correct_total(body_builder, tiled, total, previous_values)
        if not tiling.rules.is_retiled or corrected is total:
            return self._accumulate_reduction_tile(body_builder, tiled, corrected)
        partial = self._accumulate_reduction_tile(body_builder, tiled)
        return body_builder.insert(
            build_combining_operation(
                _accumulating_operation_of(tiled), corrected, partial
            )
        ).result

    def _accumulate_reduction_tile(
        self, body_builder: Builder, tiled: TiledOperation, *start: SSAValue
    ) -> SSAValue:
        """
        Reduce the current reduction tile, accumulated on an initial value if given.
        """
        op = _accumulating_operation_of(tiled)
        operands = [
            self.tile_emitter.fetch_operand_tile(
                body_builder,
                op,
                position,
                self.tile_emitter.operand_box(tiled, position),
                LoopLevel.INNER,
            )
            for position, accesses in enumerate(op.indexing_maps()[: len(op.inputs)])
            if accesses is not None
        ]
        return self.tile_emitter.build_operation_on_tiles(
            body_builder, tiled, [*operands, *start]
        )

    def _correct_totals_after_loop(
        self, builder: Builder, totals: Mapping[SSAValue, SSAValue]
    ) -> None:
        """Correct totals after the loop and bind them for operations after the loop."""
        tiling = self.tile_emitter.tiling
        before = self._clamp_previous_totals(builder, totals)
        for each in tiling.tiles.values():
            result = each.op.results[0]
            if self._is_accumulating_carried_value(each):
                total = totals[result]
                if is_corrected_after_loop(tiling, each.op):
                    total = self._correct_total(builder, each, total, before, True)
                self.tile_emitter.values[result] = total
            elif each.is_recomputed:
                self.build_operation(builder, each)

    def _is_accumulating_carried_value(self, tiled: TiledOperation) -> bool:
        """Return `True` if an operation accumulates a loop-carried value."""
        return (
            tiled in self.carried_operations
            and not self.tile_emitter.tiling.is_row_operation(tiled.op)
        )

    def _correct_total(
        self,
        builder: Builder,
        tiled: TiledOperation,
        total: SSAValue,
        previous_values: Mapping[SSAValue, SSAValue],
        is_after_loop: bool = False,
    ) -> SSAValue:
        """
        Correct a total for the current, or if `is_after_loop` the final, values of the
        reductions that its terms depend on.
        """
        correction = self.tile_emitter.tiling.correction_of(tiled.op)
        if correction is None:
            return self._reset_restarted_total(builder, tiled, total, previous_values)
        program = TensorBuilder(builder, tensor_type(total).element_type)
        values = self.tile_emitter.values
        formulae = CorrectionBuilder(
            program, correction.axis_matches, previous_values, values
        )
        factor = formulae.build_formula_tile(correction.formula)
        if not correction.is_bounded and not is_after_loop:
            # An empty total is 0 and must stay 0: an infinite factor would give NaN.
            factor = clamp_value(
                factor, [max_finite_value_of_type(program.element)], builder
            )
        return program.mul(total, factor)

    def _reset_restarted_total(
        self,
        builder: Builder,
        tiled: TiledOperation,
        total: SSAValue,
        previous_values: Mapping[SSAValue, SSAValue],
    ) -> SSAValue:
        """Return a total, reset to its neutral element where the reduction restarts."""
        restart = self.tile_emitter.tiling.restart_of(tiled.op)
        if restart is None:
            return total
        extreme = restart.extreme
        program = TensorBuilder(builder, tensor_type(extreme).element_type)
        values = self.tile_emitter.values
        formulae = CorrectionBuilder(
            program, restart.axis_matches, previous_values, values
        )
        old, new = (
            formulae.build_formula_tile(ValueBeforeIteration(extreme)),
            formulae.build_formula_tile(ValueAfterIteration(extreme)),
        )
        neutral = _accumulating_operation_of(tiled).neutral_element()
        return restart_total(total, old, new, neutral, builder)

    def _clamp_total_for_reads(
        self, builder: Builder, tiled: TiledOperation, total: SSAValue
    ) -> SSAValue:
        """Return the total that other operations read, clamped to its limits."""
        return clamp_value(
            total,
            running_value_limits_in_loop(self.tile_emitter.tiling, tiled.op),
            builder,
        )


def _accumulating_operation_of(tiled: TiledOperation) -> AccumulatingInterface:
    op = tiled.op
    assert isinstance(op, AccumulatingInterface)
    return op
