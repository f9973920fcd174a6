"""
Attribute `graph.remark` of a function: an optimization remark of a pass (passed,
missed).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
"""Name of the attribute of a function that lists its remarks."""


@irdl_attr_definition
class RemarkAttr(ParametrizedAttribute):
    """
    Optimization remark of a pass: a transformation that was applied, or the reason why
    it was missed, and its locations. A location is a submodule of an imported module,
    an operation of its graph, the name of a value, or a line and column. A topic is
    optional, as is the name of the inner memory level that tiled groups belong to.

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
    """Topic of the remark; empty if absent."""
    level: StringAttr
    """Name of the inner memory level; empty if absent."""

    def __init__(
        self,
        kind: str,
        pass_name: str,
        text: str,
        remark_locations: Sequence[str] = (),
        topic: str = "",
        level: str = "",
    ):
        super().__init__(
            StringAttr(kind),
            StringAttr(pass_name),
            StringAttr(text),
            ArrayAttr([StringAttr(place) for place in remark_locations]),
            StringAttr(topic),
            StringAttr(level),
        )

    @property
    def contents(self) -> tuple[str, ...]:
        """All parameters but the locations."""
        each = self.kind, self.source, self.text, self.topic, self.level
        return tuple([word.data for word in each])

    @property
    def location_names(self) -> tuple[str, ...]:
        """Locations of the remark, without duplicates."""
        return tuple(place.data for place in self.locations)

    def with_locations(self, remark_locations: Sequence[str]) -> RemarkAttr:
        """Return a copy of the remark whose locations are `remark_locations`."""
        words = (self.kind, self.source, self.text)
        kind, source, text = (each.data for each in words)
        return RemarkAttr(
            kind, source, text, remark_locations, self.topic.data, self.level.data
        )

    def verify(self) -> None:
        if self.kind.data not in REMARK_KINDS:
            raise VerifyException(f"expected passed or missed, got {self.kind.data}")

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.kind.data} ")
            printer.print_attribute(self.source)
            printer.print_string(" ")
            printer.print_attribute(self.text)
            for word, value in (("about", self.topic), ("in", self.level)):
                if value.data:
                    printer.print_string(f" {word} ")
                    printer.print_attribute(value)
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
                _parse_optional_keyword_string(parser, word) for word in ("about", "in")
            )
            locations: list[str] = []
            if parser.parse_optional_keyword("at") is not None:
                locations = parser.parse_comma_separated_list(
                    parser.Delimiter.NONE, parser.parse_str_literal
                )
        return RemarkAttr(kind, source, text, locations, topic, level).parameters

    def __str__(self) -> str:
        words = self.source.data, self.kind.data, self.text.data
        return format_remark(*words, self.location_names, self.level.data)


def _parse_optional_keyword_string(parser: AttrParser, keyword: str) -> str:
    """Parse the string after a keyword; empty if the keyword is absent."""
    if parser.parse_optional_keyword(keyword) is None:
        return ""
    return parser.parse_str_literal()


def format_remark(
    pass_name: str,
    kind: str,
    text: str,
    remark_locations: Sequence[str],
    level: str = "",
) -> str:
    """Format a remark on one line."""
    level_prefix = f"in {level}: " if level else ""
    location_prefix = f"{', '.join(remark_locations)}: " if remark_locations else ""
    return f"{level_prefix}{pass_name}: {kind}: {location_prefix}{text}"


def remarks_of(function: func.FuncOp) -> tuple[RemarkAttr, ...]:
    """
    Return the remarks in the attribute of a function, oldest first; empty if none.
    """
    listed = function.attributes.get(REMARKS_ATTRIBUTE)
    if not isinstance(listed, ArrayAttr):
        return ()
    attributes = cast(ArrayAttr[Attribute], listed)
    return tuple(each for each in attributes if isinstance(each, RemarkAttr))


def add_remark(op: Operation, pass_name: str, kind: RemarkKind, text: str) -> None:
    """
    Add a remark of pass `pass_name` on `op` to the enclosing function. Remarks of the
    same text are merged into one with several locations.
    """
    add_shared_remark([op], pass_name, kind, text)


def add_shared_remark(
    ops: Sequence[Operation],
    pass_name: str,
    kind: RemarkKind,
    text: str,
    topic: str = "",
    level: str = "",
) -> None:
    """
    Add a remark on several operations of one function. `topic` and `level`, the inner
    memory level of the groups it is about, are optional.
    """
    function = enclosing_function(ops[0]) if ops else None
    if function is None:
        return
    remark = RemarkAttr(kind, pass_name, text, (), topic, level)
    names = [name for op in ops for name in location_names_of(op)]
    add_remark_locations(function, {remark: names})


def add_remark_locations(
    function: func.FuncOp, names_by_remark: Mapping[RemarkAttr, Sequence[str]]
) -> None:
    """
    Add remarks without locations to the attribute of a function, at the named
    locations. Those of an existing remark that is otherwise equal are extended.
    """
    merged = {each.contents: each for each in remarks_of(function)}
    for remark, names in names_by_remark.items():
        known = merged.get(remark.contents, remark).location_names
        places = tuple(dict.fromkeys((*known, *names)))
        merged[remark.contents] = remark.with_locations(places)
    function.attributes[REMARKS_ATTRIBUTE] = ArrayAttr(merged.values())


def enclosing_function(op: Operation) -> func.FuncOp | None:
    """Return the function around an operation, or the function itself."""
    parent: Operation | None = op
    while parent is not None and not isinstance(parent, func.FuncOp):
        parent = parent.parent_op()
    return parent


def location_names_of(op: Operation) -> tuple[str, ...]:
    """
    Return the location of an operation: its module path, the name of its result, or
    else its line and column.
    """
    if (path := module_path_of(op)) is not None:
        return (path,)
    hints = [each.name_hint for each in op.results if each.name_hint]
    if hints:
        return (f"%{hints[0]}",)
    if (location := own_location_of(op)) is None:
        return ()
    return (f"{location.line.data}:{location.column.data}",)
