"""Optimization remarks (passed, missed) as an attribute of a function."""

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

from tlf.dialects.module_paths import module_path_of
from tlf.dialects.source_locations import own_location_of

RemarkKind: TypeAlias = Literal["passed", "missed"]
"""
Kind of a remark: an optimization that was applied, or one that was missed, in the terms
of LLVM's optimization remarks.
"""

REMARK_KINDS: Sequence[RemarkKind] = ("passed", "missed")

REMARKS_ATTRIBUTE = "tlf.remarks"
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
    locations: ArrayAttr[StringAttr]
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
    def location_names(self) -> tuple[str, ...]:
        """Locations of the remark, each once."""
        return tuple(place.data for place in self.locations)

    def with_locations(self, places: Sequence[str]) -> RemarkAttr:
        """Return the remark with other locations."""
        words = (self.kind, self.source, self.text)
        kind, source, text = (each.data for each in words)
        return RemarkAttr(kind, source, text, places, self.topic.data, self.level.data)

    def verify(self) -> None:
        if self.kind.data not in REMARK_KINDS:
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
            if self.location_names:
                printer.print_string(" at ")
                printer.print_list(self.locations, printer.print_attribute)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            kind = next(
                (k for k in REMARK_KINDS if parser.parse_optional_keyword(k)), None
            )
            if kind is None:
                parser.raise_error("expected passed or missed")
            source = parser.parse_str_literal()
            text = parser.parse_str_literal()
            topic, level = (
                _parse_optional_string(parser, word) for word in ("about", "in")
            )
            places: list[str] = []
            if parser.parse_optional_keyword("at") is not None:
                places = parser.parse_comma_separated_list(
                    parser.Delimiter.NONE, parser.parse_str_literal
                )
        return RemarkAttr(kind, source, text, places, topic, level).parameters

    def __str__(self) -> str:
        words = self.source.data, self.kind.data, self.text.data
        return format_remark(*words, self.location_names, self.level.data)


def _parse_optional_string(parser: AttrParser, keyword: str) -> str:
    """Parse the string after a keyword; empty if the keyword is absent."""
    if parser.parse_optional_keyword(keyword) is None:
        return ""
    return parser.parse_str_literal()


def format_remark(
    source: str, kind: str, text: str, places: Sequence[str], level: str = ""
) -> str:
    """Format a remark on one line."""
    near = f"in {level}: " if level else ""
    where = f"{', '.join(places)}: " if places else ""
    return f"{near}{source}: {kind}: {where}{text}"


def remarks_of(function: func.FuncOp) -> tuple[RemarkAttr, ...]:
    """The remarks on a function, in the order in which they came."""
    listed = function.attributes.get(REMARKS_ATTRIBUTE)
    if not isinstance(listed, ArrayAttr):
        return ()
    found = cast(ArrayAttr[Attribute], listed)
    return tuple(each for each in found if isinstance(each, RemarkAttr))


def add_remark(op: Operation, source: str, kind: RemarkKind, text: str) -> None:
    """
    Add a remark of pass `source` on `op` to the enclosing function. Remarks of the same
    text become one with several places.
    """
    add_shared_remark([op], source, kind, text)


def add_shared_remark(
    ops: Sequence[Operation],
    source: str,
    kind: RemarkKind,
    text: str,
    topic: str = "",
    level: str = "",
) -> None:
    """
    Add a remark that several operations of one function share. It may have a topic, and
    the inner level whose groups it is about.
    """
    function = _enclosing_function(ops[0]) if ops else None
    if function is None:
        return
    made = RemarkAttr(kind, source, text, (), topic, level)
    known = {
        each.with_locations(()): each.location_names for each in remarks_of(function)
    }
    places = [*known.get(made, ()), *(name for op in ops for name in _locations_of(op))]
    known[made] = tuple(dict.fromkeys(places))
    function.attributes[REMARKS_ATTRIBUTE] = ArrayAttr(
        [each.with_locations(places) for each, places in known.items()]
    )


def _enclosing_function(op: Operation) -> func.FuncOp | None:
    parent: Operation | None = op
    while parent is not None and not isinstance(parent, func.FuncOp):
        parent = parent.parent_op()
    return parent


def _locations_of(op: Operation) -> tuple[str, ...]:
    """
    Return the location of an operation: its module path, the name of its result, or
    else its line and column.
    """
    if (part := module_path_of(op)) is not None:
        return (part,)
    hints = [each.name_hint for each in op.results if each.name_hint]
    if hints:
        return (f"%{hints[0]}",)
    if (found := own_location_of(op)) is None:
        return ()
    return (f"{found.line.data}:{found.column.data}",)
