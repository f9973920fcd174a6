"""
Rewrite rules of the `graph` dialect: table of the rules that simplify each operation,
best first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TypeAlias

from xdsl.ir import Operation

from tlf.dialects.encoding_attribute import level_of
from tlf.dialects.graph import (
    activation,
    cast,
    division,
    elementwise,
    mean,
    pooling,
    pooling3d,
    range_assertion,
    reduction,
)
from tlf.dialects.graph import comparison_and_logic as logic
from tlf.dialects.graph.group import GroupOp
from tlf.dialects.graph.rewrites.algebraic_simplifications import (
    apply_constant_operand_laws,
    apply_same_operand_laws,
    fold_unary_composition,
    reuse_value,
)
from tlf.dialects.graph.rewrites.cast_chains import fold_cast_chain
from tlf.dialects.graph.rewrites.implicit_broadcasts import fold_operand_broadcast
from tlf.dialects.graph.rewrites.repeated_reductions import (
    reuse_equal_earlier_reduction,
)
from tlf.dialects.graph.rewrites.select_and_compare_folds import (
    fold_negated_comparison,
    fold_select_of_booleans,
    fold_select_of_known_value,
    fold_self_comparison,
)
from tlf.dialects.graph.rewrites.separable_pooling import separate_pooling_axes
from tlf.dialects.graph.rewrites.strength_reduction import (
    expand_power,
    fold_negated_operand,
    reassociate_constants,
    replace_division_by_reciprocal,
    replace_sqrt_division_by_rsqrt,
)
from tlf.dialects.graph.rewrites.unit_reductions import fold_unit_reduction
from tlf.dialects.interfaces import Simplification

SimplificationRule: TypeAlias = Callable[[Operation], Iterable[Simplification]]


def fold_dropout(op: Operation) -> Iterable[Simplification]:
    """Fold dropout, which is the identity in inference."""
    if op.operands[0].type == op.results[0].type:
        text = "dropout(x) = x outside of training"
        yield Simplification(text, lambda builder: reuse_value(op.operands[0], builder))


def fold_range_assertion(op: Operation) -> Iterable[Simplification]:
    """Fold a range assertion if values are not checked."""
    if op.operands[0].type == op.results[0].type:
        text = "within(x) = x where values are not checked"
        yield Simplification(text, lambda builder: reuse_value(op.operands[0], builder))


UNARY_RULES: Sequence[SimplificationRule] = (fold_unary_composition,)
BINARY_RULES: Sequence[SimplificationRule] = (
    apply_constant_operand_laws,
    apply_same_operand_laws,
)
ELEMENTWISE_RULES: Sequence[SimplificationRule] = (fold_operand_broadcast,)

RULES_BY_OPERATION: Mapping[type[Operation], Sequence[SimplificationRule]] = {
    elementwise.AddOp: (fold_negated_operand, reassociate_constants),
    elementwise.SubOp: (fold_negated_operand,),
    elementwise.MulOp: (reassociate_constants,),
    elementwise.MaximumOp: (reassociate_constants,),
    elementwise.MinimumOp: (reassociate_constants,),
    division.DivOp: (replace_division_by_reciprocal, replace_sqrt_division_by_rsqrt),
    elementwise.PowOp: (expand_power,),
    logic.AndOp: (reassociate_constants,),
    logic.OrOp: (reassociate_constants,),
    logic.NotOp: (fold_negated_comparison,),
    logic.SelectOp: (fold_select_of_known_value, fold_select_of_booleans),
    logic.CompareOp: (fold_self_comparison,),
    cast.CastOp: (fold_cast_chain,),
    activation.DropoutOp: (fold_dropout,),
    range_assertion.WithinOp: (fold_range_assertion,),
    reduction.ReduceOp: (fold_unit_reduction, reuse_equal_earlier_reduction),
    mean.MeanOp: (fold_unit_reduction,),
    pooling.MaxPool2dOp: (separate_pooling_axes,),
    pooling3d.MaxPool3dOp: (separate_pooling_axes,),
}
"""Rules by operation, applied before the rules of its base classes."""


@cache
def _simplification_rules_of(kind: type[Operation]) -> Sequence[SimplificationRule]:
    """Return the rules for a class, then those for its elementwise base classes."""
    rules = [*RULES_BY_OPERATION.get(kind, ())]
    if issubclass(kind, elementwise.UnaryOperation):
        rules += UNARY_RULES
    if issubclass(kind, elementwise.BinaryOperation):
        rules += BINARY_RULES
    if issubclass(kind, elementwise.ElementwiseOperation):
        rules += ELEMENTWISE_RULES
    return rules


def is_outside_groups(op: Operation) -> bool:
    """Return `True` if an operation works on whole tensors and is in no group."""
    values = (*op.operands, *op.results)
    is_whole = all(level_of(each.type) is None for each in values)
    return is_whole and not isinstance(op.parent_op(), GroupOp)


def simplifications_of(op: Operation) -> Iterator[Simplification]:
    """
    Yield the simplifications of an ungrouped operation, best first. Operations in
    groups have none, because plans depend on their iteration domains. Operations on
    tiles have none, because they were simplified as operations on whole tensors.
    """
    rules = _simplification_rules_of(type(op))
    if rules and is_outside_groups(op):
        for rule in rules:
            yield from rule(op)
