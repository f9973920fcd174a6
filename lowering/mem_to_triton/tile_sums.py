"""Sums of indices over the elements of a tile, in Triton code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tlf.lowering.mem_to_triton.index_expressions import IndexExpr


@dataclass(frozen=True)
class TileSum:
    """Sum for each element of a tile: a scalar, and a vector along some of its dims."""

    scalar: IndexExpr
    vectors: Mapping[int, IndexExpr]

    @staticmethod
    def of_scalar(value: IndexExpr | int) -> TileSum:
        """Return a sum that is equal for all elements."""
        scalar = IndexExpr.of_constant(value) if isinstance(value, int) else value
        return TileSum(scalar, {})

    @staticmethod
    def of_terms(terms: Iterable[tuple[TileSum, int]]) -> TileSum:
        """Return the sum of scaled terms; vectors scaled by 0 are left out."""
        terms = [(each, factor) for each, factor in terms if factor]
        vectors: dict[int, list[tuple[IndexExpr, int]]] = {}
        for each, factor in terms:
            for dim, vector in each.vectors.items():
                vectors.setdefault(dim, []).append((vector, factor))
        return TileSum(
            IndexExpr.of_sum([(each.scalar, factor) for each, factor in terms]),
            {dim: IndexExpr.of_sum(each) for dim, each in sorted(vectors.items())},
        )

    @property
    def magnitude(self) -> int:
        """Greatest magnitude that the sum may have."""
        parts = [self.scalar, *self.vectors.values()]
        return sum(max(abs(each.low), abs(each.high)) for each in parts)

    def add_constant_to_vectors(self) -> TileSum:
        """Return the sum with a constant scalar, if it has a vector, as part of it."""
        if self.scalar.constant is None or not self.vectors:
            return self
        (dim, vector), *others = self.vectors.items()
        start = IndexExpr.of_sum([(vector, 1), (self.scalar, 1)])
        return TileSum(IndexExpr.of_constant(0), {dim: start, **dict(others)})
