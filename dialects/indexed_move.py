"""
Base and checks of gathers and scatters: moves along an indexed axis of a table.

Along one axis of the source, the place of an element is the value that indices hold for
it; along all others it is an offset plus a linear function of the element.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    IntegerAttr,
    UnitAttr,
    f32,
    i32,
    i64,
)
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineMap
from xdsl.irdl import IRDLOperation, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.types import Shaped
from tlf.support.affine.linear_access import access_functions, verify_access
from tlf.support.affine.mixed_offsets import Index

INDEX_TYPES = (i32, i64)
"""The element types of indices."""

ACCUMULABLE_TYPES = (f32, i32, i64)
"""The element types that moves can add to what is there."""


class OperandRoles(NamedTuple):
    """Names for the table and for what is moved from or to it, in messages."""

    table: str
    moved: str


GATHER_ROLES = OperandRoles("source", "result")
SCATTER_ROLES = OperandRoles("destination", "source")


class IndexedOperation(IRDLOperation):
    """
    An operation that moves a box of elements, along one axis of a table to or from
    where indices say.
    """

    axis = prop_def(IntegerAttr.constr(i64))
    maps = prop_def(ArrayAttr[AffineMapAttr])

    @property
    def indexed_axis(self) -> int:
        """The axis of the table along which indices name places."""
        return self.axis.value.data

    @property
    def table_map(self) -> AffineMap:
        """From an element of the box to that of the table, without the offsets."""
        return self.maps.data[0].data

    @property
    def index_map(self) -> AffineMap:
        """From an element of the box to its index."""
        return self.maps.data[1].data

    def verify_indexing(
        self,
        table: Shaped,
        indices: Shaped,
        moved: Shaped,
        offsets: Sequence[Index],
        roles: OperandRoles = GATHER_ROLES,
    ) -> None:
        """Check that every element of what is moved has an index, and a place."""
        IndexedMoveShapes(
            table.get_shape(),
            indices.get_shape(),
            moved.get_shape(),
            self.indexed_axis,
            offsets,
            [each.data for each in self.maps],
            roles,
        ).verify(indices.element_type)


class ScatteringOperation(IndexedOperation):
    """An operation that moves elements to where indices say, or adds them there."""

    accumulate = opt_prop_def(UnitAttr)

    @property
    def is_scatter_add(self) -> bool:
        """True if elements are added to those at their destination."""
        return self.accumulate is not None


def verify_accumulable(element: Attribute, adds: bool) -> None:
    """Check that moves can add elements, if they are to."""
    if adds and element not in ACCUMULABLE_TYPES:
        raise VerifyException(
            f"expected elements of f32, i32 or i64 to accumulate, got {element}"
        )


def indexed_properties(
    static_offsets: Attribute, axis: int, maps: tuple[AffineMap, AffineMap]
) -> dict[str, Attribute | None]:
    """
    The properties of an operation by its static offsets, its axis, and the maps from an
    element to its place in the table and to its index.
    """
    return {
        "static_offsets": static_offsets,
        "axis": IntegerAttr(axis, i64),
        "maps": ArrayAttr([AffineMapAttr(each) for each in maps]),
    }


@dataclass(frozen=True)
class IndexedMoveShapes:
    """The shapes of a table, of indices, and of what is moved, and their relation."""

    table: Sequence[int]
    indices: Sequence[int]
    moved: Sequence[int]
    axis: int
    offsets: Sequence[Index]
    maps: Sequence[AffineMap]
    roles: OperandRoles

    def verify(self, index_type: Attribute) -> None:
        """Check that every element has an index, and a place."""
        if index_type not in INDEX_TYPES:
            raise VerifyException(f"expected indices of i32 or i64, got {index_type}")
        if not 0 <= self.axis < len(self.table):
            raise VerifyException(
                f"expected an axis of the {len(self.table)} of the {self.roles.table}, "
                f"got {self.axis}"
            )
        if len(self.maps) != 2:
            raise VerifyException(
                f"expected 2 maps, of the {self.roles.table} and of the indices, "
                f"got {len(self.maps)}"
            )
        table, indices = self.maps
        self._verify_table_map(table)
        verify_access(indices, self.moved, self.indices, "indices")

    def _verify_table_map(self, map_: AffineMap) -> None:
        ranks = (len(self.moved), len(self.table))
        if (map_.num_dims, len(map_.results)) != ranks or map_.num_symbols:
            raise VerifyException(
                f"expected a map from {ranks[0]} dimensions of the {self.roles.moved} "
                f"to {ranks[1]} of the {self.roles.table}, got {map_}"
            )
        if (
            not access_functions(map_)[self.axis].is_zero
            or self.offsets[self.axis] != 0
        ):
            raise VerifyException(
                f"expected axis {self.axis} at 0, for indices name the places along it"
            )
