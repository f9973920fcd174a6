"""Operations that say in which simpler ways they may be computed."""

from __future__ import annotations

import abc
from collections.abc import Iterable

from xdsl.interfaces import HasCanonicalizationPatternsInterface
from xdsl.pattern_rewriter import RewritePattern

from tlf.dialects.interfaces import Simplification, SimplificationInterface


class SimplifiableOperation(
    HasCanonicalizationPatternsInterface, SimplificationInterface, abc.ABC
):
    """
    An operation whose simpler forms are rules of `simplification.py`. Those that change
    no bit are its canonicalization.
    """

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from tlf.dialects.graph.rewrites.canonicalization import SimplifyPattern

        return (SimplifyPattern(),)

    def simplifications(self) -> Iterable[Simplification]:
        from tlf.dialects.graph.rewrites.simplification import simplifications_of

        return simplifications_of(self)
