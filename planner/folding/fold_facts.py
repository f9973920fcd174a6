"""
Facts that decisions on folding read: the fills, accumulations and rounding casts of a
function, and the buffers that operations access.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

OpT_co = TypeVar("OpT_co", covariant=True)


@dataclass(frozen=True)
class FillFacts:
    """Fill of a buffer that an accumulation may overwrite."""

    buffer: Hashable
    view: Hashable
    """View of the buffer that is filled."""
    value: Hashable


@dataclass(frozen=True)
class AccumulatedOutput:
    """Buffer that an accumulation adds to."""

    buffer: Hashable
    whole_views: Collection[Hashable]
    """Views of the buffer all of whose elements it has."""
    neutral_element: Hashable
    """Value of fills that do not change the result."""


@dataclass(frozen=True)
class AccumulationFacts:
    """Operation that accumulates onto the contents of buffers."""

    inputs: Collection[Hashable]
    outputs: Sequence[AccumulatedOutput]


@dataclass(frozen=True)
class ProductFacts:
    """Product of 16-bit factors that overwrites a whole buffer."""

    inputs: Collection[Hashable]
    result: Hashable
    factor_type: Hashable


@dataclass(frozen=True)
class RoundingFacts:
    """Rounding of a whole buffer to another one, which the same block allocates."""

    source: Hashable
    result: Hashable
    result_type: Hashable


@dataclass(frozen=True)
class FoldOperation(Generic[OpT_co]):
    """Operation of a block, or a loop with the operations of its body."""

    op: OpT_co
    accessed: Collection[Hashable]
    """Buffers that it accesses, or that a move accesses for which it waits."""
    fill: FillFacts | None = None
    accumulation: AccumulationFacts | None = None
    product: ProductFacts | None = None
    rounding: RoundingFacts | None = None
    body: Sequence[FoldOperation[OpT_co]] | None = None
    """Operations of a loop; None for other operations."""
    has_iterations: bool = False
    """True for a loop that runs at least once."""


def blocks_in(
    operations: Sequence[FoldOperation[OpT_co]],
) -> Iterator[Sequence[FoldOperation[OpT_co]]]:
    """Yield a block and the bodies of its loops, at any depth."""
    yield operations
    for each in operations:
        if each.body is not None:
            yield from blocks_in(each.body)
