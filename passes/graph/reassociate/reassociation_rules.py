"""
Rewrite rules of the passes `graph-expose-cascaded-reductions` and
`graph-split-k-reductions`: table of rewrites that reassociate sums, to fuse with other
reductions in one loop.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from tlf.passes.graph.reassociate.distribute_sums import (
    can_distribute_sum,
    distribute_sum,
)
from tlf.passes.graph.reassociate.gather_sums import (
    can_rewrite_gather_as_sum,
    rewrite_gather_as_sum,
)
from tlf.passes.graph.reassociate.sum_of_products import (
    is_sum_of_products,
    rewrite_sum_as_product_of_sums,
)


@dataclass(frozen=True)
class ReassociationRule:
    """An in-place rewrite of one graph operation, with its condition and its remark."""

    can_apply: Callable[[Operation], bool]
    apply: Callable[[Operation, Collection[SSAValue]], bool]
    """
    Rewrite an operation, given the call-invariant values. Returns `False` if the
    operation is unchanged.
    """
    remark_text: str
    """Format of the remark, with a placeholder for the operation's mnemonic."""


def _rewrite_gather(op: Operation, _: Collection[SSAValue]) -> bool:
    return rewrite_gather_as_sum(op)


def _rewrite_sum_of_products(op: Operation, _: Collection[SSAValue]) -> bool:
    return rewrite_sum_as_product_of_sums(op)


REASSOCIATION_RULES: Sequence[ReassociationRule] = (
    ReassociationRule(
        is_sum_of_products, _rewrite_sum_of_products, "{} sums the factors of products"
    ),
    ReassociationRule(
        can_distribute_sum, distribute_sum, "the terms of {} are summed one by one"
    ),
    ReassociationRule(
        can_rewrite_gather_as_sum,
        _rewrite_gather,
        "{} becomes a masked sum (of elements where their index is the gathered one, "
        "else 0)",
    ),
)


def reassociation_rule_for(op: Operation) -> ReassociationRule | None:
    """Return the first reassociation rule that matches an operation, or None."""
    return next((rule for rule in REASSOCIATION_RULES if rule.can_apply(op)), None)


@dataclass
class KnownRules:
    """
    Operations of a block with a rule, which is searched once: it takes a walk over all
    terms of a sum, which are many along the residual additions of layers.
    """

    _have_rules: dict[Operation, bool] = field(default_factory=dict[Operation, bool])

    def has_rule(self, op: Operation) -> bool:
        """Return `True` if a reassociation rule matches an operation."""
        if op not in self._have_rules:
            self._have_rules[op] = reassociation_rule_for(op) is not None
        return self._have_rules[op]

    def clear(self) -> None:
        """Forget all rules, as operations of the block have changed."""
        self._have_rules.clear()
