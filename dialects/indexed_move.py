"""
Moves that find elements by indices: what their operands must look like.

Along one axis of the source, the place of an element is the value that indices hold for
it; along all others it is an offset plus a linear function of the element.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, IntegerAttr, i32, i64
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineMap
from xdsl.irdl import IRDLOperation, prop_def
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.linear_map import accesses, verify_access
from tlf.dialects.mixed_index import Index
from tlf.dialects.types import Shaped

INDICES = (i32, i64)
"""The element types of indices."""


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
    def place_map(self) -> AffineMap:
        """From an element of the box to that of the table, without the offsets."""
        return self.maps.data[0].data

    @property
    def index_map(self) -> AffineMap:
        """From an element of the box to its index."""
        return self.maps.data[1].data

    def verify_places(
        self,
        table: Shaped,
        indices: Shaped,
        moved: Shaped,
        offsets: Sequence[Index],
    ) -> None:
        """Check that every element of what is moved has an index, and a place."""
        IndexedMove(
            table.get_shape(),
            indices.get_shape(),
            moved.get_shape(),
            self.indexed_axis,
            offsets,
            [each.data for each in self.maps],
        ).verify(indices.element_type)


def maps_attribute(source: AffineMap, indices: AffineMap) -> ArrayAttr[AffineMapAttr]:
    """The maps from an element to its place in the source and to its index."""
    return ArrayAttr([AffineMapAttr(source), AffineMapAttr(indices)])


@dataclass(frozen=True)
class IndexedMove:
    """The shapes of a move's source, indices and result, and how they are related."""

    source: Sequence[int]
    indices: Sequence[int]
    result: Sequence[int]
    axis: int
    offsets: Sequence[Index]
    maps: Sequence[AffineMap]

    def verify(self, index_type: Attribute) -> None:
        """Check that every element of the result has an index, and a place."""
        if index_type not in INDICES:
            raise VerifyException(f"expected indices of i32 or i64, got {index_type}")
        if not 0 <= self.axis < len(self.source):
            raise VerifyException(
                f"expected an axis of the {len(self.source)} of the source, "
                f"got {self.axis}"
            )
        if len(self.maps) != 2:
            raise VerifyException(
                f"expected 2 maps, of the source and of the indices, "
                f"got {len(self.maps)}"
            )
        source, indices = self.maps
        self._verify_source(source)
        verify_access(indices, self.result, self.indices, "indices")

    def _verify_source(self, map_: AffineMap) -> None:
        ranks = (len(self.result), len(self.source))
        if (map_.num_dims, len(map_.results)) != ranks or map_.num_symbols:
            raise VerifyException(
                f"expected a map from {ranks[0]} dimensions of the result to "
                f"{ranks[1]} of the source, got {map_}"
            )
        if not accesses(map_)[self.axis].is_zero or self.offsets[self.axis] != 0:
            raise VerifyException(
                f"expected axis {self.axis} at 0, for indices name the places along it"
            )
