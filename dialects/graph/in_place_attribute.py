"""
Attribute `graph.in_place`, which assigns results to operand buffers that they may
overwrite.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import ArrayAttr, IntAttr
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

IN_PLACE_ATTRIBUTE = "tlf.in_place"
"""Name of the attribute of an operation that is an `InPlaceAttr`."""


@irdl_attr_definition
class InPlaceAttr(ParametrizedAttribute):
    """
    Index of the operand whose buffer each result may overwrite, or none.

    ```mlir
    #graph.in_place<none, 2>
    ```
    """

    name = "graph.in_place"

    operands: ArrayAttr[IntAttr]
    """Operand index of each result; -1 for none."""

    def __init__(self, operands: Iterable[int | None]):
        indices = [IntAttr(-1 if each is None else each) for each in operands]
        super().__init__(ArrayAttr(indices))

    @property
    def operand_indices(self) -> tuple[int | None, ...]:
        """Operand index of each result; `None` for none."""
        return tuple(each.data if each.data >= 0 else None for each in self.operands)

    def verify(self) -> None:
        indices = [index for index in self.operand_indices if index is not None]
        if len(indices) != len(set(indices)):
            raise VerifyException("expected every operand to be overwritten once")

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            texts = (
                "none" if each is None else str(each) for each in self.operand_indices
            )
            printer.print_string(", ".join(texts))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        def parse_one() -> int | None:
            if parser.parse_optional_keyword("none") is not None:
                return None
            return parser.parse_integer(allow_boolean=False, allow_negative=False)

        with parser.in_angle_brackets():
            indices = parser.parse_comma_separated_list(
                parser.Delimiter.NONE, parse_one
            )
        return InPlaceAttr(indices).parameters


def in_place_operands_of(op: Operation) -> tuple[int | None, ...]:
    """Return, for each result, the index of the operand it may overwrite."""
    attribute = op.attributes.get(IN_PLACE_ATTRIBUTE)
    if isinstance(attribute, InPlaceAttr):
        return attribute.operand_indices
    return (None,) * len(op.results)


def verify_in_place_operand_types(op: Operation) -> None:
    """Check that results have the types of the operands that they overwrite."""
    indices = in_place_operands_of(op)
    if len(indices) != len(op.results):
        raise VerifyException(
            f"expected an operand or none for each of {len(op.results)} results, "
            f"got {len(indices)}"
        )
    for index, result in zip(indices, op.results, strict=True):
        if index is None:
            continue
        if index >= len(op.operands):
            raise VerifyException(
                "expected the index of an overwritten operand below "
                f"{len(op.operands)}, got {index}"
            )
        if op.operands[index].type != result.type:
            raise VerifyException(
                f"expected to overwrite an operand of type {result.type}, "
                f"got {op.operands[index].type}"
            )
