"""
Operation bases of the `mem` dialect: source, destination, box sizes, and border fill.
"""

from xdsl.dialects.builtin import DenseArrayBase, MemRefType, i64
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation, operand_def, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.mem.number_literals import number_of_attribute, verify_number
from tlf.dialects.types import memref_type


class SourceOperation(IRDLOperation):
    """Base of `mem` operations that read the buffer `source`."""

    source = operand_def(MemRefType)

    @property
    def source_type(self) -> MemRefType[Attribute]:
        return memref_type(self.source)


class DestinationOperation(IRDLOperation):
    """Base of `mem` operations that write the buffer `destination`."""

    destination = operand_def(MemRefType)

    @property
    def destination_type(self) -> MemRefType[Attribute]:
        return memref_type(self.destination)


class BoxOperation(IRDLOperation):
    """Base of `mem` operations on a box of elements with static sizes."""

    sizes = prop_def(DenseArrayBase.constr(i64))

    @property
    def box_sizes(self) -> tuple[int, ...]:
        """Number of elements of the box, per dimension."""
        return tuple(self.sizes.get_values())


class OutOfBoundsFillOperation(IRDLOperation):
    """
    Base of operations that may read elements outside of their source, as `fill` if
    given.
    """

    fill = opt_prop_def()

    @property
    def fill_value(self) -> float | None:
        return None if self.fill is None else number_of_attribute(self.fill)

    def verify_fill_number(self, element: Attribute) -> None:
        """Check that the fill value, if given, is a valid element."""
        if self.fill is not None:
            verify_number(self.fill, element)


def verify_same_element_type(
    source: MemRefType[Attribute], destination: MemRefType[Attribute]
) -> None:
    """Raise `VerifyException` unless two buffer types have the same element type."""
    if source.element_type != destination.element_type:
        raise VerifyException(
            f"cannot move elements of type {source.element_type} into a buffer of "
            f"{destination.element_type}"
        )
