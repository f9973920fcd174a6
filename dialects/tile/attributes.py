"""Where a tile lives, and how a loop nest runs."""

import re
from collections.abc import Sequence
from enum import auto

from xdsl.dialects.builtin import ArrayAttr, IntAttr, StringAttr, TensorType
from xdsl.ir import Attribute, Data, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

LEVEL_NAME = re.compile(r"L[1-9][0-9]*")


class LoopKind(StrEnum):
    """How the iterations of a loop nest depend on each other."""

    PARALLEL = auto()
    """Not at all: a carried value is a destination that iterations write apart."""
    SEQUENTIAL = auto()
    """Each starts from the values that the one before it yields."""


class Mapping(StrEnum):
    """What the iterations of a loop nest become."""

    GRID = auto()
    """Programs of one kernel."""
    CORE = auto()
    """Cores of a chip."""
    LOOP = auto()
    """A loop in the program."""
    UNROLL = auto()
    """Copies of the body."""
    HOST = auto()
    """A loop of the host around launches."""


@irdl_attr_definition
class EncodingAttr(ParametrizedAttribute):
    """
    The memory level that a tile lives in and, optionally, the order of its axes in
    memory, outermost first. A tensor without an encoding lives in the outermost level.

    ```mlir
    tensor<4x8x16xf32, #tile.encoding<L2, layout = [0, 2, 1]>>
    ```
    """

    name = "tile.encoding"

    level: StringAttr
    layout: ArrayAttr[IntAttr]

    def __init__(self, level: str | StringAttr, layout: Sequence[int] | Attribute = ()):
        level = StringAttr(level) if isinstance(level, str) else level
        if not isinstance(layout, Attribute):
            layout = ArrayAttr([IntAttr(axis) for axis in layout])
        super().__init__(level, layout)

    @property
    def axes(self) -> tuple[int, ...]:
        """The order of axes in memory; empty for row-major order."""
        return tuple(axis.data for axis in self.layout)

    def verify(self) -> None:
        if not LEVEL_NAME.fullmatch(self.level.data):
            raise VerifyException(
                f"expected a memory level such as L1, got {self.level.data}"
            )
        if self.axes and sorted(self.axes) != list(range(len(self.axes))):
            raise VerifyException(
                f"expected a layout that orders every axis once, got {list(self.axes)}"
            )

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            level = parser.parse_identifier()
            axes: list[int] = []
            if parser.parse_optional_punctuation(",") is not None:
                parser.parse_keyword("layout")
                parser.parse_punctuation("=")
                axes = parser.parse_comma_separated_list(
                    parser.Delimiter.SQUARE, parser.parse_integer
                )
        return StringAttr(level), ArrayAttr([IntAttr(axis) for axis in axes])

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.level.data)
            if self.axes:
                printer.print_string(f", layout = {list(self.axes)}")


@irdl_attr_definition
class LoopKindAttr(Data[LoopKind]):
    """
    How the iterations of a loop nest depend on each other.

    ```mlir
    #tile.kind<parallel>
    ```
    """

    name = "tile.kind"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> LoopKind:
        with parser.in_angle_brackets():
            return parser.parse_str_enum(LoopKind)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.data)


@irdl_attr_definition
class MappingAttr(Data[Mapping]):
    """
    What the iterations of a loop nest become.

    ```mlir
    #tile.mapping<grid>
    ```
    """

    name = "tile.mapping"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Mapping:
        with parser.in_angle_brackets():
            return parser.parse_str_enum(Mapping)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.data)


def level_of(type_: Attribute) -> str | None:
    """The memory level that a tensor type names, or None for the outermost."""
    if not isinstance(type_, TensorType):
        return None
    encoding = type_.encoding
    return encoding.level.data if isinstance(encoding, EncodingAttr) else None
