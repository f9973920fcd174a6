"""
Analysis of the reduction loop of a tiled group: the iterations whose terms can change a
total, and those that no mask hides in part.

The bounds of both ranges are functions of the tile offsets of the loops around it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from math import isinf
from typing import NamedTuple

from xdsl.dialects.builtin import i1
from xdsl.ir import Operation, SSAValue

from tlf.analysis.tiling.cascade_tiles import is_loop_carried
from tlf.analysis.tiling.group_tiling import (
    GroupTiling,
    LoopLevel,
    TiledOperation,
    TileLoop,
)
from tlf.analysis.tiling.tile_conditions import ALWAYS, NEVER
from tlf.analysis.tiling.tile_constants import TileConstants
from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import element_type_of_value
from tlf.dialects.interfaces import AccumulatingInterface
from tlf.support.affine.affine_extrema import (
    Term,
    maximum_of,
    minimum_of,
    negate_term,
    shift_term,
    simplify_term,
    symbols_of_term,
)
from tlf.support.affine.index_access import AffineSum
from tlf.support.affine.solution_range import (
    SolutionRange,
    SteppedSymbol,
    clamp_term,
    range_containing_solutions,
    range_within_solutions,
)


class IterationRange(NamedTuple):
    """
    Part of the iterations of a loop: from offset `first` on, below `end`; none if that
    is not greater.
    """

    first: Term
    end: Term
    conditions: Mapping[SSAValue, bool] = {}
    """Booleans whose tiles are uniform in all of these iterations."""


@dataclass(frozen=True)
class ContributingIterations:
    """Iterations of a reduction loop that can change its totals."""

    loop: TileLoop
    whole: IterationRange
    unmasked: IterationRange | None = None
    """Part of `whole` in which no mask hides anything; None if not known."""

    def split_ranges(self) -> Iterator[IterationRange]:
        """
        Yield ranges that cover `whole`; masks are uniform in the last one.

        Totals do not depend on the order of iterations. If the loop without masks is
        not the last one, `ptxas` serializes its matrix instructions (message C7515).
        """
        first, end = self.whole.first, self.whole.end
        if self.unmasked is None:
            yield self.whole
            return
        if self.unmasked.first != first:
            yield IterationRange(first, self.unmasked.first)
        if self.unmasked.end != end:
            yield IterationRange(self.unmasked.end, end)
        yield self.unmasked


def find_contributing_iterations(
    tiling: GroupTiling,
) -> ContributingIterations | None:
    """
    Return the iterations of the anchor's loop that can change its totals; None if all
    of them may.
    """
    if not tiling.rules.has_variable_trips or len(tiling.inner_loops) != 1:
        return None
    tiles = tiling.tiles.values()
    if not any(map(_is_condition_in_loop, tiles)) or _has_result_in_loop(tiling):
        return None
    (loop,) = tiling.inner_loops.values()
    constants = TileConstants(tiling)
    hidden = _condition_of_hidden_tiles(tiling, constants)
    if not symbols_of_term(hidden) <= {loop, *tiling.loops.values()}:
        return None
    return _bound_iterations(tiling, loop, hidden, constants)


def _bound_iterations(
    tiling: GroupTiling, loop: TileLoop, hidden: Term, constants: TileConstants
) -> ContributingIterations | None:
    """Return the iterations in which tiles are not hidden; None if all may be."""
    symbol = SteppedSymbol(loop, _steps_of_symbols(tiling))
    found = range_containing_solutions(shift_term(negate_term(hidden), -1), symbol)
    if found == SolutionRange():
        return None
    first, end = AffineSum(), AffineSum(0 if found.is_empty else loop.extent)
    if found.first is not None:
        first = simplify_term(maximum_of([found.first, first]), tiling.ranges)
    if found.end is not None:
        end = simplify_term(minimum_of([found.end, end]), tiling.ranges)
    whole = IterationRange(first, end)
    unmasked = _find_unmasked_range(whole, symbol, constants)
    return ContributingIterations(loop, whole, unmasked)


def _steps_of_symbols(tiling: GroupTiling) -> dict[Hashable, int]:
    loops = (*tiling.loops.values(), *tiling.inner_loops.values())
    return {loop: loop.tile for loop in loops}


def _is_condition_in_loop(tiled: TiledOperation) -> bool:
    """Return `True` if an operation in the loop computes booleans."""
    is_inner = tiled.loop_level is LoopLevel.INNER
    return is_inner and element_type_of_value(tiled.op.results[0]) == i1


def _has_result_in_loop(tiling: GroupTiling) -> bool:
    """Return `True` if each iteration computes a part of a result of the group."""
    producers = {value.owner for value in tiling.results}
    return any(
        op in producers
        and tiled.loop_level is LoopLevel.INNER
        and not is_loop_carried(tiling, op)
        for op, tiled in tiling.tiles.items()
    )


def _condition_of_hidden_tiles(tiling: GroupTiling, constants: TileConstants) -> Term:
    """
    Return a term that is at least 0 only if an iteration leaves all totals unchanged.
    """
    carried = [op for op in tiling.tiles if is_loop_carried(tiling, op)]
    reductions = [op for op in carried if not tiling.is_row_operation(op)]
    conditions: list[Term] = []
    for op in reductions:
        if not isinstance(op, AccumulatingInterface):
            return NEVER
        conditions.append(constants.condition_of_neutral_terms(op))
    return minimum_of(conditions)


def _find_unmasked_range(
    whole: IterationRange, symbol: SteppedSymbol, constants: TileConstants
) -> IterationRange | None:
    """
    Return the part of a range in which all masks are uniform and hide nothing; None if
    it is empty, or if masks do not depend on positions.
    """
    conditions, terms = dict[SSAValue, bool](), [ALWAYS]
    for op in constants.tiling.tiles:
        if (shown := _find_shown_branch(op, constants)) is not None:
            assert isinstance(op, graph.SelectOp)
            condition = constants.conditions.condition_of(op.condition)
            conditions[op.condition] = shown
            terms.append(condition.if_true if shown else condition.if_false)
    found = range_within_solutions(minimum_of(terms), symbol)
    if found.is_empty or not conditions:
        return None
    first, end = whole.first, whole.end
    if found.first is not None:
        first = clamp_term(found.first, first, end)
    if found.end is not None:
        end = clamp_term(found.end, first, end)
    ranges = constants.tiling.ranges
    first, end = (simplify_term(each, ranges) for each in (first, end))
    symbols = symbols_of_term(first) | symbols_of_term(end)
    if not symbols <= {*constants.tiling.loops.values()}:
        return None
    return IterationRange(first, end, conditions)


def _find_shown_branch(op: Operation, constants: TileConstants) -> bool | None:
    """
    Return the value of the condition for which a select does not hide elements by a
    constant, an infinity or else 0; None if it is no such select.
    """
    if not isinstance(op, graph.SelectOp):
        return None
    branches = [constants.constants_of(each) for each in (op.lhs, op.rhs)]
    numbers = [[e for e, when in known.items() if when == ALWAYS] for known in branches]
    for is_hiding in (isinf, _is_zero):
        hides = [any(map(is_hiding, each)) for each in numbers]
        if hides[0] is not hides[1]:
            return hides[1]
    return None


def _is_zero(number: float) -> bool:
    return number == 0
