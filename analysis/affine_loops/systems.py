"""Iterations as integers: loops as variables with bounds, boxes as inequalities."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from tlf.analysis.affine_loops.boxes import Access
from tlf.analysis.affine_loops.indices import linear_of, value_of
from tlf.analysis.affine_loops.integers import FAR, Constraint, Domains, solution
from tlf.dialects import tile
from tlf.support.affine.access import Linear


@dataclass(frozen=True)
class Loop:
    """One loop of a nest: its first value, the one it stays below, its step."""

    lower: Linear
    upper: Linear
    step: int

    @property
    def trips(self) -> int | None:
        """Trip count, if it is constant."""
        extent = self.upper - self.lower
        return None if extent.terms else max(0, -(-extent.constant // self.step))


def loops_of(op: tile.WhileOp) -> tuple[Loop, ...]:
    """The loops of a nest, outermost first."""
    bounds = zip(op.mixed_lower, op.mixed_upper, op.step_values, strict=True)
    return tuple(
        Loop(linear_of(lower), linear_of(upper), step) for lower, upper, step in bounds
    )


def loop_of(value: Hashable) -> tuple[tile.WhileOp, int] | None:
    """The nest that an induction variable counts, and the number of the loop."""
    if not isinstance(value, BlockArgument):
        return None
    op = value.block.parent_op()
    if not isinstance(op, tile.WhileOp) or value not in op.induction_variables:
        return None
    return op, op.induction_variables.index(value)


@dataclass
class System:
    """
    Inequalities between executions of operations in nests. Those of one nest are told
    apart by a name, `at`; loops around the nest count the same for all.
    """

    domains: Domains = field(default_factory=dict[Hashable, tuple[int, int]])
    constraints: list[Constraint] = field(default_factory=list[Constraint])

    def placed(self, form: Linear, nest: tile.WhileOp, at: str) -> Linear:
        """A form in terms of how often loops ran before, in an execution of a nest."""
        total = Linear(form.constant)
        for symbol, factor in form.terms:
            total += self._value(symbol, nest, at) * factor
        return total

    def _value(self, symbol: Hashable, nest: tile.WhileOp, at: str) -> Linear:
        if (found := loop_of(symbol)) is None:
            key = (at, symbol) if _is_defined_in(value_of(symbol), nest) else symbol
            self.domains.setdefault(key, (-FAR, FAR))
            return Linear.of(key)
        op, number = found
        inside = nest.is_ancestor(op)
        loop = loops_of(op)[number]
        key = counter(number, at) if op is nest else (at if inside else "", symbol)
        lower = self.placed(loop.lower, nest, at)
        value = lower + Linear.of(key) * loop.step
        if key not in self.domains:
            trips = loop.trips
            self.domains[key] = (0, FAR if trips is None else trips - 1)
            if trips is None:
                upper = self.placed(loop.upper, nest, at)
                self.constraints.append(Constraint(upper - value, 1, FAR))
        return value

    def meet(self, first: Box, second: Box) -> None:
        """Demand that two boxes have an element of their tensor in common."""
        axes = zip(first.starts, second.starts, strict=True)
        for axis, (one, other) in enumerate(axes):
            size, length = first.extents[axis], second.extents[axis]
            self.constraints.append(Constraint(other - one, 1 - length, size - 1))
            for start, extent in ((one, size), (other, length)):
                bound = first.shape[axis]
                self.constraints.append(Constraint(start, 1 - extent, bound - 1))

    def box(self, access: Access, nest: tile.WhileOp, at: str) -> Box:
        """The box of an access in an execution of a nest."""
        starts = tuple(self.placed(start, nest, at) for start in access.starts)
        return Box(starts, access.extents, access.shape)

    def substitute(self, variable: Hashable, form: Linear) -> None:
        """Put a form in the place of a variable that keeps its bounds."""
        low, high = self.domains.pop(variable)
        self.constraints = [
            Constraint(each.form.substitute({variable: form}), each.low, each.high)
            for each in (*self.constraints, Constraint(Linear.of(variable), low, high))
        ]

    def solution(self) -> dict[Hashable, int] | None:
        """Values for all variables, or None; raises `UndecidedError`."""
        return solution(self.domains, self.constraints)


@dataclass(frozen=True)
class Box:
    """A box of a tensor, by its first index and extent per axis."""

    starts: tuple[Linear, ...]
    extents: Sequence[int]
    shape: Sequence[int]


def counter(number: int, at: str) -> Hashable:
    """
    Return the symbol for the number of earlier iterations of a loop of a nest in the
    execution `at`.
    """
    return at, number


def _is_defined_in(value: SSAValue, nest: Operation) -> bool:
    owner = value.owner
    inside = owner.parent_op() if isinstance(owner, Block) else owner
    return inside is not None and nest.is_ancestor(inside)
