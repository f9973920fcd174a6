"""
Operation base of gathers by a linear map over a collapsed domain: properties `map` and
`basis` with their text and verification.
"""

from collections.abc import Sequence

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
            parser.Delimiter.SQUARE, parser.parse_integer
        ),
    )
    return to_basis_attribute(tuple(map(tuple, rows)))


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
        Raise `VerifyException` unless there is a list of positive extents per axis of
        the result, and a linear map from all of them to the axes of the source.
        """
        extents = [list(each.get_values()) for each in self.basis]
        if len(extents) != rank or any(n < 1 for each in extents for n in each):
            raise VerifyException(
                f"expected a basis of {rank} lists of positive extents, got {extents}"
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
