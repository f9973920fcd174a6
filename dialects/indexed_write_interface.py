"""Interface of scatters: operations that write elements at indices."""

from __future__ import annotations

import abc
from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.dialects.builtin import IntegerType, i32
from xdsl.ir import Attribute, Operation, SSAValue

from tlf.dialects.indexed_move import ACCUMULABLE_TYPES
from tlf.dialects.types import accumulator_of, tensor_type


class IndexedWriteInterface(Operation, abc.ABC):
    """
    An operation whose result is its first operand, but for what its third one holds:
    each element of that is written, along one axis at the place that an element of the
    second one names, in the order of the third one's axes. Places that are not there
    are not written. Along other axes of the second operand with an extent of 1, its
    elements name places for all elements of the third.
    """

    @property
    @abc.abstractmethod
    def written_axis(self) -> int:
        """The axis along which places are named."""

    @property
    @abc.abstractmethod
    def is_scatter_add(self) -> bool | None:
        """
        True if elements are added to those at their indices, false if they replace
        them; None if they are combined in another way.
        """

    @abc.abstractmethod
    def build_with_element_type(
        self, builder: Builder, element: Attribute
    ) -> Sequence[SSAValue]:
        """Build the same on elements of another type, and return the result in its."""

    @property
    def move_element_type(self) -> Attribute | None:
        """The type of elements in which moves can write what it does, if any."""
        element = tensor_type(self.operands[2]).element_type
        if self.is_scatter_add is None:
            return None
        if not self.is_scatter_add or element in ACCUMULABLE_TYPES:
            return element
        wide = i32 if isinstance(element, IntegerType) else accumulator_of(element)
        return wide if wide in ACCUMULABLE_TYPES else None
