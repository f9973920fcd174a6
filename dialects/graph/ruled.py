"""Operations whose rewrite rules stand apart from them, in `rewrites`."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable
from typing import ClassVar

from xdsl.interfaces import HasCanonicalizationPatternsInterface
from xdsl.ir import Operation
from xdsl.pattern_rewriter import RewritePattern

from tlf.dialects.interfaces import Simplification, SimplificationInterface


class RuledOperation(HasCanonicalizationPatternsInterface, abc.ABC):
    """
    An operation to whose class `rewrites` gives canonicalization patterns when the
    dialect is imported.
    """

    PATTERNS: ClassVar[tuple[RewritePattern, ...]] = ()

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        return cls.PATTERNS


class SimplifiableOperation(RuledOperation, SimplificationInterface, abc.ABC):
    """
    An operation whose simpler forms are rules of `rewrites`. Those that change no bit
    are its canonicalization.
    """

    PATTERNS: ClassVar[tuple[RewritePattern, ...]] = ()

    SIMPLER: ClassVar[Callable[[Operation], Iterable[Simplification]]]
    """Yields the simpler forms of an operation."""

    def simplifications(self) -> Iterable[Simplification]:
        return type(self).SIMPLER(self)
