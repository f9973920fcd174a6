"""Bases of operations whose canonicalization patterns `rewrites` registers."""

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
    An operation whose canonicalization patterns `rewrites` registers when the dialect
    is imported.
    """

    PATTERNS: ClassVar[tuple[RewritePattern, ...]] = ()

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        return cls.PATTERNS


class SimplifiableOperation(CanonicalizableOperation, SimplificationInterface, abc.ABC):
    """
    An operation whose simplification rules `rewrites` registers. Those that change no
    bit are its canonicalization.
    """

    PATTERNS: ClassVar[tuple[RewritePattern, ...]] = ()

    FIND_SIMPLIFICATIONS: ClassVar[Callable[[Operation], Iterable[Simplification]]]
    """Function that yields the simplifications of an operation."""

    def simplifications(self) -> Iterable[Simplification]:
        return type(self).FIND_SIMPLIFICATIONS(self)
