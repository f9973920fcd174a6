"""Simplification rules for operations of the graph dialect, best first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from xdsl.ir import Operation

from tlf.dialects.encoding import level_of
from tlf.dialects.graph import (
    activation,
    cast,
    division,
    elementwise,
    logic,
    mean,
    pooling,
    pooling3d,
    reduction,
    within,
)
from tlf.dialects.graph.group import GroupOp
from tlf.dialects.graph.rewrites.cast_chains import of_cast
from tlf.dialects.graph.rewrites.identities import (
    kept,
    of_another,
    of_itself,
    with_numbers,
)
from tlf.dialects.graph.rewrites.repeated_reductions import done_before
from tlf.dialects.graph.rewrites.selections import (
    choice_of_conditions,
    comparison_with_itself,
    known_choice,
    negated_comparison,
)
from tlf.dialects.graph.rewrites.separable import by_axis
from tlf.dialects.graph.rewrites.spread_operands import reads_spread
from tlf.dialects.graph.rewrites.strength import (
    by_products,
    by_reciprocal,
    by_reciprocal_root,
    of_numbers_first,
    without_negation,
)
from tlf.dialects.graph.rewrites.unit_reductions import of_one_element
from tlf.dialects.interfaces import Simplification

Rule: TypeAlias = Callable[[Operation], Iterable[Simplification]]


def nothing_dropped(op: Operation) -> Iterable[Simplification]:
    """Dropout of a model that runs."""
    if op.operands[0].type == op.results[0].type:
        text = "dropout(x) = x outside of training"
        yield Simplification(text, lambda builder: kept(op.operands[0], builder))


def nothing_checked(op: Operation) -> Iterable[Simplification]:
    """A range that no check asks for."""
    if op.operands[0].type == op.results[0].type:
        text = "within(x) = x where values are not checked"
        yield Simplification(text, lambda builder: kept(op.operands[0], builder))


UNARY: Sequence[Rule] = (of_another,)
BINARY: Sequence[Rule] = (with_numbers, of_itself)
ELEMENTWISE: Sequence[Rule] = (reads_spread,)

RULES: Mapping[type[Operation], Sequence[Rule]] = {
    elementwise.AddOp: (without_negation, of_numbers_first),
    elementwise.SubOp: (without_negation,),
    elementwise.MulOp: (of_numbers_first,),
    elementwise.MaximumOp: (of_numbers_first,),
    elementwise.MinimumOp: (of_numbers_first,),
    division.DivOp: (by_reciprocal, by_reciprocal_root),
    elementwise.PowOp: (by_products,),
    logic.AndOp: (of_numbers_first,),
    logic.OrOp: (of_numbers_first,),
    logic.NotOp: (negated_comparison,),
    logic.SelectOp: (known_choice, choice_of_conditions),
    logic.CompareOp: (comparison_with_itself,),
    cast.CastOp: (of_cast,),
    activation.DropoutOp: (nothing_dropped,),
    within.WithinOp: (nothing_checked,),
    reduction.ReduceOp: (of_one_element, done_before),
    mean.MeanOp: (of_one_element,),
    pooling.MaxPool2dOp: (by_axis,),
    pooling3d.MaxPool3dOp: (by_axis,),
}
"""The rules of some operations, before those of families."""


def _rules(op: Operation) -> Iterator[Rule]:
    yield from RULES.get(type(op), ())
    if isinstance(op, elementwise.UnaryOperation):
        yield from UNARY
    if isinstance(op, elementwise.BinaryOperation):
        yield from BINARY
    if isinstance(op, elementwise.ElementwiseOperation):
        yield from ELEMENTWISE


def is_free(op: Operation) -> bool:
    """Return `True` if an operation works on whole tensors and is in no group."""
    values = (*op.operands, *op.results)
    is_whole = all(level_of(each.type) is None for each in values)
    return is_whole and not isinstance(op.parent_op(), GroupOp)


def simplifications_of(op: Operation) -> Iterator[Simplification]:
    """
    The ways to compute an operation more simply. Operations of groups stay, because
    plans count what they iterate over, and tiles stay, because they were whole tensors
    before.
    """
    if is_free(op):
        for rule in _rules(op):
            yield from rule(op)
