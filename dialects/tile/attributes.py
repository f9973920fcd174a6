"""How a loop nest runs."""

from enum import auto

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.str_enum import StrEnum

from tlf.dialects.words import parse_word


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
        return parse_word(parser, LoopKind)

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
        return parse_word(parser, Mapping)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.data)
