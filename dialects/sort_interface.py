"""Interface of sorts: operations that order the elements of an axis."""

from __future__ import annotations

import abc
from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue

from tlf.dialects.types import tensor_type


class SortInterface(Operation, abc.ABC):
    """
    Operation that sorts its operand along an axis, stably and with NaN as the greatest
    number. Its results are the first elements and their indices.
    """

    @property
    @abc.abstractmethod
    def sort_axis(self) -> int:
        """Axis along which elements are sorted."""

    @property
    @abc.abstractmethod
    def is_descending(self) -> bool:
        """True if the greatest elements are first."""

    @abc.abstractmethod
    def build_along_last_axis(self, builder: Builder) -> Sequence[SSAValue]:
        """Build the sort of a transposed operand, and transpose its results."""

    @abc.abstractmethod
    def build_from_chunks(
        self, builder: Builder, chunk_extent: int
    ) -> Sequence[SSAValue]:
        """
        Build the sort along the last axis from sorts of chunks of the axis, and a sort
        of the first elements of all chunks.
        """

    @property
    def sorted_extent(self) -> int:
        """Number of elements that are sorted with each other."""
        return tensor_type(self.operands[0]).get_shape()[self.sort_axis]

    @property
    def result_extent(self) -> int:
        """Extent of the results along the axis."""
        return tensor_type(self.results[0]).get_shape()[self.sort_axis]

    @property
    def is_along_last_axis(self) -> bool:
        """True if elements are sorted along the last axis."""
        return self.sort_axis == tensor_type(self.operands[0]).get_num_dims() - 1
