"""Composites that need some of their axes whole and tile along the others."""

from __future__ import annotations

import abc
from collections.abc import Iterable

from xdsl.irdl import IRDLOperation, traits_def
from xdsl.traits import Pure

from tlf.dialects.graph.tensors import shape_of
from tlf.dialects.interfaces import (
    DecompositionInterface,
    Iterator,
    TilingInterface,
    parallel,
)
from tlf.support.affine.access import Access, Accesses


class WholeAxesOperation(
    IRDLOperation, TilingInterface, DecompositionInterface, abc.ABC
):
    """
    A composite whose first operand is read whole along some axes.
    """

    traits = traits_def(Pure())

    @property
    @abc.abstractmethod
    def whole_axes(self) -> tuple[int, ...]:
        """The axes of the first operand that an iteration reads whole."""

    def tiled_axes(self) -> dict[int, int]:
        """The iterator of each other axis."""
        rank = len(shape_of(self.operands[0]))
        others = (axis for axis in range(rank) if axis not in self.whole_axes)
        return {axis: iterator for iterator, axis in enumerate(others)}

    def iterators(self) -> tuple[Iterator, ...]:
        shape = shape_of(self.operands[0])
        return tuple(parallel(shape[axis]) for axis in self.tiled_axes())

    def accesses_along(self, axes: Iterable[int]) -> Accesses:
        """
        Return the accesses to a tensor whose axes are `axes` of the first operand.
        """
        shape, tiled = shape_of(self.operands[0]), self.tiled_axes()
        return tuple(
            Access.of(tiled[axis]) if axis in tiled else Access(width=shape[axis])
            for axis in axes
        )

    def result_accesses(self) -> tuple[Accesses, ...]:
        return (self.accesses_along(range(len(shape_of(self.operands[0])))),)
