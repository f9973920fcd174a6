"""Analysis of loop ranges, perfect nests and trip counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias, cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import BlockArgument, Operation, SSAValue

from tlf.dialects.affine_values import constant_value_of
from tlf.dialects.mixed_offsets import IntArray

STAGES = "stages"
"""Attribute of a loop: maximum number of its iterations in flight."""


@dataclass(frozen=True)
class LoopRange:
    """Induction variable, bounds and step of one loop, all as SSA values."""

    variable: SSAValue
    lower: SSAValue
    upper: SSAValue
    step: SSAValue

    @property
    def constant_bounds(self) -> tuple[int, int, int] | None:
        """
        Lower bound, exclusive upper bound and step; None unless all are constant and
        the step is not 0.
        """
        lower, upper, step = map(constant_value_of, (self.lower, self.upper, self.step))
        if lower is None or upper is None or not step:
            return None
        return lower, upper, step

    @property
    def values(self) -> range | None:
        """Values of the induction variable, if bounds and step are constant."""
        bounds = self.constant_bounds
        return None if bounds is None else range(*bounds)

    @property
    def trips(self) -> int | None:
        """Trip count, if it is known."""
        return None if self.values is None else len(self.values)


def loop_ranges_of(op: Operation) -> list[LoopRange]:
    """Return the loops of an operation, outermost first; empty if it is not a loop."""
    match op:
        case scf.ForOp():
            return [LoopRange(op.body.block.args[0], op.lb, op.ub, op.step)]
        case scf.ParallelOp():
            bounds = (op.body.block.args, op.lowerBound, op.upperBound, op.step)
            nest = [LoopRange(*each) for each in zip(*bounds, strict=True)]
            return [
                nest[position]
                for position in _loop_indices_outermost_first(op, len(nest))
            ]
        case _:
            return []


def loop_range_of(value: SSAValue) -> LoopRange | None:
    """Return the loop of an induction variable; None for other values."""
    loop = value.block.parent_op() if isinstance(value, BlockArgument) else None
    nest = [] if loop is None else loop_ranges_of(loop)
    return next((each for each in nest if each.variable is value), None)


def _loop_indices_outermost_first(op: scf.ParallelOp, rank: int) -> Sequence[int]:
    """Return the loop indices of a parallel nest, outermost first."""
    order = cast(IntArray | None, op.attributes.get("order"))
    return range(rank) if order is None else order.get_values()


Nest: TypeAlias = scf.ParallelOp | scf.ForOp


def perfect_nest_of(op: Nest) -> list[Nest]:
    """
    Return a loop and its perfectly nested inner loops, ignoring index arithmetic. All
    loops have the same number of stages.
    """
    nest = [op]
    while (
        isinstance(op, scf.ForOp) and (inner := _find_only_inner_loop(op)) is not None
    ):
        nest.append(inner)
        op = inner
    return nest


def trip_count_of_nest(nest: Sequence[Nest]) -> int | None:
    """Return the trip count of the body of a nest, if it is known."""
    trips = [counter.trips for loop in nest for counter in loop_ranges_of(loop)]
    known = [each for each in trips if each is not None]
    return prod(known) if len(known) == len(trips) else None


def can_body_repeat(nest: Sequence[Nest]) -> bool:
    """
    Return `True` if the body of a nest may run more than once. Loops without a constant
    lower bound are assumed to start from a non-negative value, such as the index of a
    core.
    """
    if (trips := trip_count_of_nest(nest)) is not None:
        return trips > 1
    ranges = [counter for loop in nest for counter in loop_ranges_of(loop)]
    bounds = [
        (constant_value_of(each.upper), constant_value_of(each.step)) for each in ranges
    ]
    return any(end is None or step is None or end > step for end, step in bounds)


def _find_only_inner_loop(op: scf.ForOp) -> scf.ForOp | None:
    """
    Return the loop that is the only operation of a loop's body after index arithmetic;
    None if there is none with constant trip counts and equal stages.
    """
    terminator = op.body.block.last_op
    inner = None if terminator is None else terminator.prev_op
    if not isinstance(inner, scf.ForOp) or inner.iter_args or op.iter_args:
        return None
    if not all(is_index_arithmetic(each) for each in operations_before(inner)):
        return None
    known = trip_count_of_nest([op, inner]) is not None
    return (
        inner
        if known and max_iterations_in_flight(inner) == max_iterations_in_flight(op)
        else None
    )


def operations_before(op: Operation) -> list[Operation]:
    """Return the operations before an operation in its block, in program order."""
    found: list[Operation] = []
    while (previous := op.prev_op) is not None:
        found.append(previous)
        op = previous
    return found[::-1]


def is_index_arithmetic(op: Operation) -> bool:
    """Return `True` if an operation is arithmetic on indices."""
    types = [value.type for value in (*op.operands, *op.results)]
    return not op.regions and all(isinstance(each, IndexType) for each in types)


def max_iterations_in_flight(op: Operation) -> int:
    """Return the maximum number of iterations of a loop in flight."""
    stages = op.attributes.get(STAGES)
    return stages.value.data if isinstance(stages, IntegerAttr) else 1
