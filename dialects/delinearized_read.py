"""
Operation base of gathers by a linear map over a collapsed domain: properties `map` and
`basis` with their text and verification.
"""

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, DenseArrayBase, i64
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation, prop_def
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.interfaces import to_affine_map
from tlf.dialects.mixed_offsets import IntArray
from tlf.dialects.shared_attributes import share_integer_array
from tlf.support.affine.delinearized_access import Basis, DelinearizedAccess
from tlf.support.affine.linear_access import linear_accesses_of_map

MAX_EXTENT = 2**63 - 1
"""Greatest extent of an axis, which is an index of 64 bits."""


def to_basis_attribute(basis: Basis) -> ArrayAttr[IntArray]:
    """Return a basis as a property."""
    return ArrayAttr([share_integer_array(extents) for extents in basis])


def build_delinearized_properties(access: DelinearizedAccess) -> dict[str, Attribute]:
    """Return the properties `map` and `basis` of an operation with an access."""
    return {
        "map": to_affine_map(access.accesses, len(access.domain_extents)),
        "basis": to_basis_attribute(access.basis),
    }


def parse_basis(parser: Parser) -> ArrayAttr[IntArray]:
    """Parse nested lists of extents, such as `[[8, 14, 14], [3, 3, 64]]`."""
    rows = parser.parse_comma_separated_list(
        parser.Delimiter.SQUARE,
        lambda: parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: _parse_extent(parser)
        ),
    )
    return to_basis_attribute(tuple(map(tuple, rows)))


def _parse_extent(parser: Parser) -> int:
    """Parse an integer; raise a parse error unless it is a possible extent."""
    position = parser.pos
    extent = parser.parse_integer()
    if not 0 < extent <= MAX_EXTENT:
        parser.raise_error(
            f"expected an extent from 1 to {MAX_EXTENT}, got {extent}",
            position,
            parser.pos,
        )
    return extent


def format_basis(basis: Basis) -> str:
    """Return the text of a basis, which `parse_basis` parses."""
    return str([list(extents) for extents in basis])


@irdl_custom_directive
class BasisList(CustomDirective):
    """Assembly directive for a basis: `[[8, 14, 14], [3, 3, 64]]`."""

    basis: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.basis.set(state, parse_basis(parser))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        assert isinstance(op, DelinearizedReadOperation)
        state.print_whitespace(printer)
        printer.print_string(format_basis(op.delinearized_access.basis))
        state.last_was_punctuation = False
        state.should_emit_space = True


class DelinearizedReadOperation(IRDLOperation):
    """
    Base of operations that read a source at `map(digits)`, where the digits of an index
    along each axis of the result are its delinearization into the `basis`.
    """

    map = prop_def(AffineMapAttr)
    basis = prop_def(ArrayAttr.constr(DenseArrayBase.constr(i64)))

    @property
    def delinearized_access(self) -> DelinearizedAccess:
        """Accesses to the source over the digits of an index of the result."""
        return DelinearizedAccess(
            linear_accesses_of_map(self.map.data),
            tuple(tuple(extents.get_values()) for extents in self.basis),
        )

    def verify_delinearized_map(self, source_rank: int, rank: int) -> None:
        """
        Raise `VerifyException` unless there are positive extents for each axis of the
        result, whose index fits into 64 bits, and a linear map from all of them to the
        axes of the source.
        """
        extents = [list(each.get_values()) for each in self.basis]
        if len(extents) != rank:
            raise VerifyException(
                f"expected a basis of {rank} lists, one for each axis of the result, "
                f"got {extents}"
            )
        if any(not each or min(each) < 1 for each in extents):
            raise VerifyException(
                f"expected lists of one or more positive extents, got {extents}"
            )
        if (size := max(map(prod, extents), default=1)) > MAX_EXTENT:
            raise VerifyException(
                f"expected extents whose product is at most {MAX_EXTENT}, got {size}"
            )
        map_, domain = self.map.data, sum(map(len, extents))
        if map_.num_symbols or (map_.num_dims, len(map_.results)) != (
            domain,
            source_rank,
        ):
            raise VerifyException(
                f"expected a map from {domain} digits to {source_rank} axes, got {map_}"
            )
        linear_accesses_of_map(map_)


def verify_collapsed_shape(basis: Basis, shape: Sequence[int]) -> None:
    """Raise `VerifyException` unless a basis is collapsed to a shape."""
    collapsed = DelinearizedAccess((), basis).shape
    if collapsed != tuple(shape):
        raise VerifyException(
            f"expected a result of shape {list(collapsed)}, the products of the basis, "
            f"got {list(shape)}"
        )
