"""
Attributes `tile.kind` and `tile.mapping` of tile loops: dependence kind and mapping of
a loop nest.
"""

from enum import auto

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.str_enum import StrEnum

from tlf.dialects.keyword_params import parse_keyword_param


class LoopKind(StrEnum):
    """
    Dependence between the iterations of a loop nest: none, or each on the previous one.
    """

    PARALLEL = auto()
    """No dependence: iterations write disjoint elements of carried destinations."""
    SEQUENTIAL = auto()
    """Each iteration starts from the values that the previous one yields."""


class Mapping(StrEnum):
    """
    Mapping of the iterations of a loop nest to programs, cores, loops or copies of the
    body.
    """

    GRID = auto()
    """Programs of one kernel."""
    PERSISTENT = auto()
    """
    Loops of the programs of one kernel, as many as run at once: each program runs every
    n-th iteration.
    """
    CORE = auto()
    """Cores of a chip."""
    LOOP = auto()
    """A loop in the program."""
    UNROLL = auto()
    """Copies of the body."""
    HOST = auto()
    """A loop of the host around launches."""

    @property
    def is_grid(self) -> bool:
        """True if the iterations run as programs of one kernel."""
        return self in (Mapping.GRID, Mapping.PERSISTENT)


@irdl_attr_definition
class LoopKindAttr(Data[LoopKind]):
    """
    Dependence between the iterations of a loop nest: `parallel` or `sequential`.

    ```mlir
    #tile.kind<parallel>
    ```
    """

    name = "tile.kind"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> LoopKind:
        return parse_keyword_param(parser, LoopKind)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.data)


@irdl_attr_definition
class MappingAttr(Data[Mapping]):
    """
    Mapping of the iterations of a loop nest: `grid`, `core`, `loop`, `unroll` or
    `host`.

    ```mlir
    #tile.mapping<grid>
    ```
    """

    name = "tile.mapping"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Mapping:
        return parse_keyword_param(parser, Mapping)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.data)
