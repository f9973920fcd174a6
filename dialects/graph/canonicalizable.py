"""
Operation bases of the `graph` dialect: operations whose canonicalization patterns
`rewrites` registers.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable
from typing import ClassVar

from xdsl.interfaces import HasCanonicalizationPatternsInterface
from xdsl.ir import Operation
from xdsl.pattern_rewriter import RewritePattern

from tlf.dialects.interfaces import Simplification, SimplificationInterface


class CanonicalizableOperation(HasCanonicalizationPatternsInterface, abc.ABC):
    """
    Base of operations whose canonicalization patterns `rewrites` registers when the
    dialect is imported.
    """

    PATTERNS: ClassVar[tuple[RewritePattern, ...]] = ()

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        return cls.PATTERNS


class SimplifiableOperation(CanonicalizableOperation, SimplificationInterface, abc.ABC):
    """
    Base of operations whose simplification rules `rewrites` registers. Exact rules are
    applied by canonicalization.
    """

    PATTERNS: ClassVar[tuple[RewritePattern, ...]] = ()

    SIMPLIFICATION_RULES: ClassVar[Callable[[Operation], Iterable[Simplification]]]
    """Function that yields the simplifications of an operation."""

    def simplifications(self) -> Iterable[Simplification]:
        return type(self).SIMPLIFICATION_RULES(self)
