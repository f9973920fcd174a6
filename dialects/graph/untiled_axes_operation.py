"""
Operation base of the `graph` dialect: composites that are tiled along some axes only.
"""

from __future__ import annotations

import abc
from collections.abc import Iterable

from xdsl.irdl import IRDLOperation, traits_def
from xdsl.traits import Pure

from tlf.dialects.graph.tensor_types import shape_of
from tlf.dialects.interfaces import (
    DecompositionInterface,
    LoopDim,
    TilingInterface,
    parallel_dim,
)
from tlf.support.affine.index_access import Accesses, IndexAccess


class UntiledAxesOperation(
    IRDLOperation, TilingInterface, DecompositionInterface, abc.ABC
):
    """Base of composites that are not tiled along some axes of the first operand."""

    traits = traits_def(Pure())

    @property
    @abc.abstractmethod
    def untiled_axes(self) -> tuple[int, ...]:
        """Axes of the first operand that are not tiled; iterations read all of them."""

    def iterators_of_tiled_axes(self) -> dict[int, int]:
        """Return the iterator of each tiled axis."""
        rank = len(shape_of(self.operands[0]))
        others = (axis for axis in range(rank) if axis not in self.untiled_axes)
        return {axis: iterator for iterator, axis in enumerate(others)}

    def iteration_domain(self) -> tuple[LoopDim, ...]:
        shape = shape_of(self.operands[0])
        return tuple(
            parallel_dim(shape[axis]) for axis in self.iterators_of_tiled_axes()
        )

    def accesses_to_axes(self, axes: Iterable[int]) -> Accesses:
        """Return accesses to a tensor whose axes are `axes` of the first operand."""
        shape, tiled = shape_of(self.operands[0]), self.iterators_of_tiled_axes()
        return tuple(
            IndexAccess.of_iterator(tiled[axis])
            if axis in tiled
            else IndexAccess(width=shape[axis])
            for axis in axes
        )

    def result_indexing_maps(self) -> tuple[Accesses, ...]:
        return (self.accesses_to_axes(range(len(shape_of(self.operands[0])))),)
