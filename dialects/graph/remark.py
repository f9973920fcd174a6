"""
Optimization remarks of a function: what passes did and what they left alone, recorded
in the IR.
"""

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
"""
Kind of a remark: an optimization that was applied, or one that was missed, in the terms
of LLVM's optimization remarks.
"""

KINDS: Sequence[Kind] = ("passed", "missed")

ATTRIBUTE = "tlf.remarks"
"""The attribute of a function that lists its remarks."""


@irdl_attr_definition
class RemarkAttr(ParametrizedAttribute):
    """
    Optimization remark: what a pass did, or why it did not, and at which locations:
    parts of a module that was imported, operations of its graph, names of values, or
    lines and columns. It may have a topic and, for groups of tiles in an inner memory
    level, the name of that level.

    ```mlir
    #graph.remark<passed "graph-fold-batch-norm" "folded into the weights" at "bn1">
    #graph.remark<missed "graph-group" "no loop: ..." about "loops" in "L1" at "%y">
    ```
    """

    name = "graph.remark"

    kind: StringAttr
    source: StringAttr
    text: StringAttr
    places: ArrayAttr[StringAttr]
    topic: StringAttr
    """Empty unless it is told."""
    level: StringAttr
    """Empty unless it is told."""

    def __init__(
        self,
        kind: str,
        source: str,
        text: str,
        places: Sequence[str] = (),
        topic: str = "",
        level: str = "",
    ):
        super().__init__(
            StringAttr(kind),
            StringAttr(source),
            StringAttr(text),
            ArrayAttr([StringAttr(place) for place in places]),
            StringAttr(topic),
            StringAttr(level),
        )

    @property
    def place_names(self) -> tuple[str, ...]:
        """Locations of the remark, each once."""
        return tuple(place.data for place in self.places)

    def at(self, places: Sequence[str]) -> RemarkAttr:
        """The same of other places."""
        words = (self.kind, self.source, self.text)
        kind, source, text = (each.data for each in words)
        return RemarkAttr(kind, source, text, places, self.topic.data, self.level.data)

    def verify(self) -> None:
        if self.kind.data not in KINDS:
            raise VerifyException(f"expected passed or missed, got {self.kind.data}")

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.kind.data} ")
            printer.print_attribute(self.source)
            printer.print_string(" ")
            printer.print_attribute(self.text)
            for word, said in (("about", self.topic), ("in", self.level)):
                if said.data:
                    printer.print_string(f" {word} ")
                    printer.print_attribute(said)
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
            topic, level = (_optional(parser, word) for word in ("about", "in"))
            places: list[str] = []
            if parser.parse_optional_keyword("at") is not None:
                places = parser.parse_comma_separated_list(
                    parser.Delimiter.NONE, parser.parse_str_literal
                )
        return RemarkAttr(kind, source, text, places, topic, level).parameters

    def __str__(self) -> str:
        words = self.source.data, self.kind.data, self.text.data
        return sentence(*words, self.place_names, self.level.data)


def _optional(parser: AttrParser, keyword: str) -> str:
    """The string behind a keyword, empty where it is not there."""
    if parser.parse_optional_keyword(keyword) is None:
        return ""
    return parser.parse_str_literal()


def sentence(
    source: str, kind: str, text: str, places: Sequence[str], level: str = ""
) -> str:
    """Return the text of a remark on one line."""
    near = f"in {level}: " if level else ""
    where = f"{', '.join(places)}: " if places else ""
    return f"{near}{source}: {kind}: {where}{text}"


def remarks_of(function: func.FuncOp) -> tuple[RemarkAttr, ...]:
    """The remarks on a function, in the order in which they came."""
    listed = function.attributes.get(ATTRIBUTE)
    if not isinstance(listed, ArrayAttr):
        return ()
    found = cast(ArrayAttr[Attribute], listed)
    return tuple(each for each in found if isinstance(each, RemarkAttr))


def remark(op: Operation, source: str, kind: Kind, text: str) -> None:
    """
    Note on the function around `op` what the pass `source` did there, or why it did
    not. Remarks of the same text become one with several places.
    """
    remark_all([op], source, kind, text)


def remark_all(
    ops: Sequence[Operation],
    source: str,
    kind: Kind,
    text: str,
    topic: str = "",
    level: str = "",
) -> None:
    """
    Note the same of several operations of one function, with what it is about, and the
    nearer level whose groups it is about, if there is one.
    """
    function = _function_of(ops[0]) if ops else None
    if function is None:
        return
    made = RemarkAttr(kind, source, text, (), topic, level)
    known = {each.at(()): each.place_names for each in remarks_of(function)}
    places = [*known.get(made, ()), *(name for op in ops for name in _place(op))]
    known[made] = tuple(dict.fromkeys(places))
    function.attributes[ATTRIBUTE] = ArrayAttr(
        [each.at(places) for each, places in known.items()]
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
