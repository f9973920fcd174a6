"""
Operation base of the `mem` and `tile` dialects: gathers and scatters, with verification
of their indexed axis.

Along the indexed axis of the table, the position of an element is an index value. Along
other axes, it is an offset plus a linear function of the element's position in the box.
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

from tlf.dialects.mixed_offsets import Index
from tlf.dialects.types import Shaped
from tlf.support.affine.index_access import IndexAccess
from tlf.support.affine.linear_access import (
    linear_accesses_of_map,
    verify_access_in_bounds,
)

INDEX_TYPES = (i32, i64)
"""Element types of index operands."""

ACCUMULABLE_TYPES = (f32, i32, i64)
"""Element types that moves can accumulate into their destination."""


class OperandNames(NamedTuple):
    """Names of the table and of the moved operand in error messages."""

    table_name: str
    moved_operand_name: str


GATHER_ROLES = OperandNames("source", "result")
SCATTER_ROLES = OperandNames("destination", "source")


class IndexedMoveOperation(IRDLOperation):
    """
    Operation that moves a box of elements to or from a table, at indexed positions
    along one axis of the table.
    """

    axis = prop_def(IntegerAttr.constr(i64))
    maps = prop_def(ArrayAttr[AffineMapAttr])

    @property
    def indexed_axis(self) -> int:
        """Axis of the table along which indices give the positions."""
        return self.axis.value.data

    @property
    def table_map(self) -> AffineMap:
        """
        Map from an element of the box to its position in the table, without the
        offsets.
        """
        return self.maps.data[0].data

    @property
    def index_map(self) -> AffineMap:
        """Map from an element of the box to the position of its index."""
        return self.maps.data[1].data

    def verify_indexed_operands(
        self,
        table: Shaped,
        indices: Shaped,
        moved_operand: Shaped,
        offsets: Sequence[Index],
        operand_names: OperandNames = GATHER_ROLES,
    ) -> None:
        """Check that every moved element has an index and a position in the table."""
        IndexedMoveShapes(
            table.get_shape(),
            indices.get_shape(),
            moved_operand.get_shape(),
            self.indexed_axis,
            offsets,
            [each.data for each in self.maps],
            operand_names,
        ).verify(indices.element_type)


class ScatterMoveOperation(IndexedMoveOperation):
    """
    Base of moves that write a box to indexed positions of a table, or add it there.
    """

    accumulate = opt_prop_def(UnitAttr)

    @property
    def is_scatter_add(self) -> bool:
        """True if elements are added to the elements at their destination."""
        return self.accumulate is not None


def verify_accumulable_element_type(
    element_type: Attribute, is_accumulating: bool
) -> None:
    """Check that moves can accumulate the element type, if `is_accumulating`."""
    if is_accumulating and element_type not in ACCUMULABLE_TYPES:
        raise VerifyException(
            f"expected elements of f32, i32 or i64 to accumulate, got {element_type}"
        )


def build_indexed_properties(
    static_offsets: Attribute, axis: int, maps: tuple[AffineMap, AffineMap]
) -> dict[str, Attribute | None]:
    """
    Build the properties of an indexed operation from its static offsets, its axis, and
    the maps from an element to its position in the table and to its index.
    """
    return {
        "static_offsets": static_offsets,
        "axis": IntegerAttr(axis, i64),
        "maps": ArrayAttr([AffineMapAttr(each) for each in maps]),
    }


@dataclass(frozen=True)
class IndexedMoveShapes:
    """
    Shapes of the table, the indices and the moved operand, and the maps between them.
    """

    table_shape: Sequence[int]
    index_shape: Sequence[int]
    moved_shape: Sequence[int]
    axis: int
    offsets: Sequence[Index]
    maps: Sequence[AffineMap]
    operand_names: OperandNames

    def verify(self, index_type: Attribute) -> None:
        """Check that every element has an index and a position in the table."""
        if index_type not in INDEX_TYPES:
            raise VerifyException(f"expected indices of i32 or i64, got {index_type}")
        if not 0 <= self.axis < len(self.table_shape):
            raise VerifyException(
                f"expected an axis of the {len(self.table_shape)} of the "
                f"{self.operand_names.table_name}, "
                f"got {self.axis}"
            )
        if len(self.maps) != 2:
            raise VerifyException(
                f"expected 2 maps, of the {self.operand_names.table_name} and of "
                "the indices, "
                f"got {len(self.maps)}"
            )
        table, indices = self.maps
        self._verify_table_map(table)
        verify_access_in_bounds(indices, self.moved_shape, self.index_shape, "indices")

    def _verify_table_map(self, map_: AffineMap) -> None:
        """
        Raise `VerifyException` unless the map is linear, has the ranks of box and
        table, and is 0 along the indexed axis, as is the offset.
        """
        ranks = (len(self.moved_shape), len(self.table_shape))
        if (map_.num_dims, len(map_.results)) != ranks or map_.num_symbols:
            raise VerifyException(
                f"expected a map from {ranks[0]} dimensions of the "
                f"{self.operand_names.moved_operand_name} "
                f"to {ranks[1]} of the {self.operand_names.table_name}, got {map_}"
            )
        access = linear_accesses_of_map(map_)[self.axis]
        if access != IndexAccess() or self.offsets[self.axis] != 0:
            raise VerifyException(
                f"expected offset 0 along axis {self.axis}, where the indices select "
                "elements"
            )
