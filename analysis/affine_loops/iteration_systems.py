"""
Analysis of nests as constraints on loop counters: iterations that access a common
element.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from tlf.analysis.affine_loops.access_boxes import BoxAccess
from tlf.analysis.affine_loops.integer_solver import (
    UNBOUNDED,
    Constraint,
    Domains,
    find_solution,
)
from tlf.dialects import tile
from tlf.dialects.affine_values import affine_sum_of, value_of_symbol
from tlf.support.affine.index_access import AffineSum


@dataclass(frozen=True)
class LoopBounds:
    """Lower bound, exclusive upper bound and step of one loop of a nest."""

    lower: AffineSum
    upper: AffineSum
    step: int

    @property
    def trips(self) -> int | None:
        """Trip count, if it is constant."""
        extent = self.upper - self.lower
        return None if extent.terms else max(0, -(-extent.constant // self.step))


def loop_bounds_of(op: tile.WhileOp) -> tuple[LoopBounds, ...]:
    """
    Return the bounds and the step of each loop of a tile-level nest, outermost first.
    """
    bounds = zip(
        op.mixed_lower_bounds, op.mixed_upper_bounds, op.step_values, strict=True
    )
    return tuple(
        LoopBounds(affine_sum_of(lower), affine_sum_of(upper), step)
        for lower, upper, step in bounds
    )


def loop_of_variable(value: Hashable) -> tuple[tile.WhileOp, int] | None:
    """
    Return the nest of an induction variable, and the index of its loop; None for other
    values.
    """
    if not isinstance(value, BlockArgument):
        return None
    op = value.block.parent_op()
    if not isinstance(op, tile.WhileOp) or value not in op.induction_variables:
        return None
    return op, op.induction_variables.index(value)


@dataclass
class IterationSystem:
    """
    Linear constraints over the normalized loop counters of nests. A name, `at`,
    distinguishes two executions of a nest; they share the counters of enclosing loops.
    """

    domains: Domains = field(default_factory=dict[Hashable, tuple[int, int]])
    constraints: list[Constraint] = field(default_factory=list[Constraint])

    def express_in_loop_counters(
        self, affine_sum: AffineSum, nest: tile.WhileOp, execution: str
    ) -> AffineSum:
        """Rewrite a form in terms of the normalized loop counters of one execution."""
        total = AffineSum(affine_sum.constant)
        for symbol, factor in affine_sum.terms:
            total += self._express_symbol_in_counters(symbol, nest, execution) * factor
        return total

    def _express_symbol_in_counters(
        self, symbol: Hashable, nest: tile.WhileOp, execution: str
    ) -> AffineSum:
        """
        Return a symbol as a form of normalized loop counters; add their domains and
        non-constant loop bounds to the system.
        """
        if (owner := loop_of_variable(symbol)) is None:
            key = (
                (execution, symbol)
                if _is_defined_in(value_of_symbol(symbol), nest)
                else symbol
            )
            self.domains.setdefault(key, (-UNBOUNDED, UNBOUNDED))
            return AffineSum.of_symbol(key)
        op, index = owner
        inside = nest.is_ancestor(op)
        loop = loop_bounds_of(op)[index]
        key = (
            loop_counter_symbol(index, execution)
            if op is nest
            else (execution if inside else "", symbol)
        )
        lower = self.express_in_loop_counters(loop.lower, nest, execution)
        value = lower + AffineSum.of_symbol(key) * loop.step
        if key not in self.domains:
            trips = loop.trips
            self.domains[key] = (0, UNBOUNDED if trips is None else trips - 1)
            if trips is None:
                upper = self.express_in_loop_counters(loop.upper, nest, execution)
                self.constraints.append(Constraint(upper - value, 1, UNBOUNDED))
        return value

    def require_common_element(self, first: TensorBox, second: TensorBox) -> None:
        """Require that two boxes have an element of their tensor in common."""
        axes = zip(first.starts, second.starts, strict=True)
        for axis, (one, other) in enumerate(axes):
            size, other_size = first.extents[axis], second.extents[axis]
            self.constraints.append(Constraint(other - one, 1 - other_size, size - 1))
            for start, extent in ((one, size), (other, other_size)):
                bound = first.shape[axis]
                self.constraints.append(Constraint(start, 1 - extent, bound - 1))

    def box_of_access(
        self, access: BoxAccess, nest: tile.WhileOp, execution: str
    ) -> TensorBox:
        """
        Return the box of an access in the loop counters of one `execution` of a nest;
        add new counters to the system.
        """
        starts = tuple(
            self.express_in_loop_counters(start, nest, execution)
            for start in access.starts
        )
        return TensorBox(starts, access.extents, access.shape)

    def substitute_variable(self, variable: Hashable, affine_sum: AffineSum) -> None:
        """
        Substitute a form for a variable; the bounds of the variable become a
        constraint.
        """
        low, high = self.domains.pop(variable)
        self.constraints = [
            Constraint(
                each.affine_sum.substitute({variable: affine_sum}), each.low, each.high
            )
            for each in (
                *self.constraints,
                Constraint(AffineSum.of_symbol(variable), low, high),
            )
        ]

    def find_solution(self) -> dict[Hashable, int] | None:
        """
        Return values for all variables; None if there is no solution. Raises
        `UndecidedError`.
        """
        return find_solution(self.domains, self.constraints)


@dataclass(frozen=True)
class TensorBox:
    """
    Box of a tensor: affine start and constant extent per axis, not clipped to `shape`.
    """

    starts: tuple[AffineSum, ...]
    extents: Sequence[int]
    shape: Sequence[int]


def loop_counter_symbol(loop_index: int, execution: str) -> Hashable:
    """
    Return the symbol of the normalized counter of a loop of a nest in execution
    `execution`.
    """
    return execution, loop_index


def _is_defined_in(value: SSAValue, nest: Operation) -> bool:
    owner = value.owner
    inside = owner.parent_op() if isinstance(owner, Block) else owner
    return inside is not None and nest.is_ancestor(inside)
