"""What passes did to a function, and what they left alone, told in the program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.parts import part_of
from tlf.dialects.places import own_place_of

Kind: TypeAlias = Literal["passed", "missed"]
"""Whether something was done, or was not where it might have been, as LLVM's
optimization remarks name it."""

KINDS: Sequence[Kind] = ("passed", "missed")

ATTRIBUTE = "tlf.remarks"
"""The attribute of a function that lists its remarks."""


@irdl_attr_definition
class RemarkAttr(ParametrizedAttribute):
    """
    What a pass did, or why it did not, and at which places: parts of a module that was
    imported, operations of its graph, names of values, or lines and columns.

    ```mlir
    #graph.remark<passed "graph-fold-batch-norm" "folded into the weights" at "bn1">
    ```
    """

    name = "graph.remark"

    kind: StringAttr
    source: StringAttr
    text: StringAttr
    places: ArrayAttr[StringAttr]

    def __init__(self, kind: str, source: str, text: str, places: Sequence[str] = ()):
        super().__init__(
            StringAttr(kind),
            StringAttr(source),
            StringAttr(text),
            ArrayAttr([StringAttr(place) for place in places]),
        )

    @property
    def place_names(self) -> tuple[str, ...]:
        """Where, each place once."""
        return tuple(place.data for place in self.places)

    def verify(self) -> None:
        if self.kind.data not in KINDS:
            raise VerifyException(f"expected passed or missed, got {self.kind.data}")

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.kind.data} ")
            printer.print_attribute(self.source)
            printer.print_string(" ")
            printer.print_attribute(self.text)
            if self.place_names:
                printer.print_string(" at ")
                printer.print_list(self.places, printer.print_attribute)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            kind = next((k for k in KINDS if parser.parse_optional_keyword(k)), None)
            if kind is None:
                parser.raise_error("expected passed or missed")
            source = parser.parse_str_literal()
            text = parser.parse_str_literal()
            places: list[str] = []
            if parser.parse_optional_keyword("at") is not None:
                places = parser.parse_comma_separated_list(
                    parser.Delimiter.NONE, parser.parse_str_literal
                )
        return RemarkAttr(kind, source, text, places).parameters

    def __str__(self) -> str:
        words = self.source.data, self.kind.data, self.text.data
        return sentence(*words, self.place_names)


def sentence(source: str, kind: str, text: str, places: Sequence[str]) -> str:
    """What a remark says, on one line."""
    where = f"{', '.join(places)}: " if places else ""
    return f"{source}: {kind}: {where}{text}"


def remarks_of(function: func.FuncOp) -> tuple[RemarkAttr, ...]:
    """The remarks on a function, in the order in which they came."""
    listed = function.attributes.get(ATTRIBUTE)
    if not isinstance(listed, ArrayAttr):
        return ()
    found = cast(ArrayAttr[Attribute], listed)
    return tuple(each for each in found if isinstance(each, RemarkAttr))


def forget_remarks(function: func.FuncOp) -> None:
    """Take all remarks off a function."""
    function.attributes.pop(ATTRIBUTE, None)


def remark(op: Operation, source: str, kind: Kind, text: str) -> None:
    """
    Note on the function around `op` what the pass `source` did there, or why it did
    not. Remarks of the same text become one with several places.
    """
    remark_all([op], source, kind, text)


def remark_all(ops: Sequence[Operation], source: str, kind: Kind, text: str) -> None:
    """Note the same of several operations of one function."""
    function = _function_of(ops[0]) if ops else None
    if function is None:
        return
    known = {
        (each.kind, each.source, each.text): each.place_names
        for each in remarks_of(function)
    }
    added = (StringAttr(kind), StringAttr(source), StringAttr(text))
    places = [*known.get(added, ()), *(name for op in ops for name in _place(op))]
    known[added] = tuple(dict.fromkeys(places))
    function.attributes[ATTRIBUTE] = ArrayAttr(
        [
            RemarkAttr(of.data, by.data, what.data, at)
            for (of, by, what), at in known.items()
        ]
    )


def _function_of(op: Operation) -> func.FuncOp | None:
    parent: Operation | None = op
    while parent is not None and not isinstance(parent, func.FuncOp):
        parent = parent.parent_op()
    return parent


def _place(op: Operation) -> tuple[str, ...]:
    """
    The part of a module that an operation comes from, the name of its result, or else
    the line and column where it was written.
    """
    if (part := part_of(op)) is not None:
        return (part,)
    hints = [each.name_hint for each in op.results if each.name_hint]
    if hints:
        return (f"%{hints[0]}",)
    if (found := own_place_of(op)) is None:
        return ()
    return (f"{found.line.data}:{found.column.data}",)
