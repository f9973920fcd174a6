"""Ways to write what is summed so that it may run in one loop with other sums."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from tlf.passes.graph.reassociate.distribute import distribute, is_splittable
from tlf.passes.graph.reassociate.gathered import is_summable, sum_gathered
from tlf.passes.graph.reassociate.products import is_of_products, sum_factors


@dataclass(frozen=True)
class Rule:
    """A way to write an operation."""

    matches: Callable[[Operation], bool]
    apply: Callable[[Operation, Collection[SSAValue]], bool]
    """Replaces it, or returns that it does not; with what is known before a call."""
    text: str
    """Remark on an operation, which is given by name."""


def _sum_gathered(op: Operation, _: Collection[SSAValue]) -> bool:
    return sum_gathered(op)


def _sum_factors(op: Operation, _: Collection[SSAValue]) -> bool:
    return sum_factors(op)


RULES: Sequence[Rule] = (
    Rule(is_of_products, _sum_factors, "{} sums the factors of products"),
    Rule(is_splittable, distribute, "the terms of {} are summed one by one"),
    Rule(is_summable, _sum_gathered, "{} sums what it reads, and zeros"),
)


def rule_for(op: Operation) -> Rule | None:
    """The first rule for an operation, if there is one."""
    return next((rule for rule in RULES if rule.matches(op)), None)
