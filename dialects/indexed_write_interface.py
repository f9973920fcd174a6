"""Interface of scatters: operations that write elements at indices."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects.builtin import IntegerType, i32
from xdsl.ir import Attribute, Operation, SSAValue

from tlf.dialects.combining_kind import CombiningKind
from tlf.dialects.indexed_move_operation import ACCUMULABLE_TYPES
from tlf.dialects.types import accumulator_type_of, tensor_type


@dataclass(frozen=True)
class CombinedWrites:
    """
    Shapes and element type of the scatter that combines updates in any order, into
    which an indexed write can be rewritten.
    """

    table_shape: tuple[int, ...]
    update_shape: tuple[int, ...]
    element_type: Attribute
    scatter_axis: int


class IndexedWriteInterface(Operation, abc.ABC):
    """
    Operation that scatters updates: its operands are the destination, the indices and
    the updates.

    The result equals the destination except at the written positions. Each update is
    written at the position that its index gives along one axis, in row-major order of
    the updates. Updates with an out-of-bounds index are dropped. Along other axes,
    indices of extent 1 are broadcast to the updates.
    """

    @property
    @abc.abstractmethod
    def scatter_axis(self) -> int:
        """Axis along which indices give the positions."""

    @property
    @abc.abstractmethod
    def is_scatter_add(self) -> bool | None:
        """
        True if elements are added to those at their indices, false if they replace
        them; None for any other combination.
        """

    @abc.abstractmethod
    def build_with_element_type(
        self, builder: Builder, element_type: Attribute
    ) -> Sequence[SSAValue]:
        """
        Build the operation on elements of another type, and return the result cast back
        to the original result type.
        """

    @property
    @abc.abstractmethod
    def combining_kind(self) -> CombiningKind | None:
        """
        Kind of the combination if updates are combined in memory, in any order; else
        None.
        """

    @property
    @abc.abstractmethod
    def combined_writes(self) -> CombinedWrites | None:
        """
        Combination in memory from which the operation can be built; None if there is
        none.
        """

    @abc.abstractmethod
    def build_combined_writes(self, builder: Builder) -> Sequence[SSAValue]:
        """
        Build the operation from indexed writes with a `combining_kind`. Requires
        `combined_writes`.
        """

    @property
    def element_type_of_moves(self) -> Attribute | None:
        """Element type in which moves can perform the write, or None if they cannot."""
        element = tensor_type(self.operands[2]).element_type
        if self.is_scatter_add is None:
            return None
        if not self.is_scatter_add or element in ACCUMULABLE_TYPES:
            return element
        wide = i32 if isinstance(element, IntegerType) else accumulator_type_of(element)
        return wide if wide in ACCUMULABLE_TYPES else None
