"""
Attribute `tile.encoding` of a tensor type: memory level and order of the axes there.
"""

import re
from collections.abc import Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    IntAttr,
    NoneAttr,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

LEVEL_NAME = re.compile(r"L[1-9][0-9]*")


@irdl_attr_definition
class EncodingAttr(ParametrizedAttribute):
    """
    Memory level of a tile, and the order of its axes in memory, outermost first.

    The level defaults to the outermost one, and the order to row-major; a tensor
    without an encoding has both defaults.

    ```mlir
    tensor<4x8x16xf32, #tile.encoding<L2, layout = [0, 2, 1]>>
    ```
    """

    name = "tile.encoding"

    level: StringAttr | NoneAttr
    layout: ArrayAttr[IntAttr]

    def __init__(
        self,
        level: str | StringAttr | NoneAttr | None,
        layout: Sequence[int] | Attribute = (),
    ):
        if level is None:
            level = NoneAttr()
        level = StringAttr(level) if isinstance(level, str) else level
        if not isinstance(layout, Attribute):
            layout = ArrayAttr([IntAttr(axis) for axis in layout])
        super().__init__(level, layout)

    @property
    def axis_order(self) -> tuple[int, ...]:
        """Order of the axes in memory; empty for row-major order."""
        return tuple(axis.data for axis in self.layout)

    @property
    def level_name(self) -> str | None:
        """Memory level, or None for the outermost."""
        return self.level.data if isinstance(self.level, StringAttr) else None

    def verify(self) -> None:
        name = self.level_name
        if name is not None and not LEVEL_NAME.fullmatch(name):
            raise VerifyException(f"expected a memory level such as L1, got {name}")
        if name is None and not self.axis_order:
            raise VerifyException("expected a memory level or a layout, got none")
        if self.axis_order and sorted(self.axis_order) != list(
            range(len(self.axis_order))
        ):
            raise VerifyException(
                "expected a layout that orders every axis once, got "
                f"{list(self.axis_order)}"
            )

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        level: Attribute = NoneAttr()
        axes: list[int] = []
        with parser.in_angle_brackets():
            is_ordered = parser.parse_optional_keyword("layout") is not None
            if not is_ordered:
                level = StringAttr(parser.parse_identifier())
                if parser.parse_optional_punctuation(",") is not None:
                    parser.parse_keyword("layout")
                    is_ordered = True
            if is_ordered:
                parser.parse_punctuation("=")
                axes = parser.parse_comma_separated_list(
                    parser.Delimiter.SQUARE, parser.parse_integer
                )
        return level, ArrayAttr([IntAttr(axis) for axis in axes])

    def print_parameters(self, printer: Printer) -> None:
        parameters = [] if self.level_name is None else [self.level_name]
        if self.axis_order:
            parameters.append(f"layout = {list(self.axis_order)}")
        with printer.in_angle_brackets():
            printer.print_string(", ".join(parameters))


def level_of(type_: Attribute) -> str | None:
    """Return the memory level of a tensor type, or None for the outermost."""
    if not isinstance(type_, TensorType):
        return None
    encoding = type_.encoding
    # Most types have none, which is found out quickly.
    if isinstance(encoding, NoneAttr) or not isinstance(encoding, EncodingAttr):
        return None
    return encoding.level_name


def layout_of(type_: Attribute) -> tuple[int, ...]:
    """Return the order of a tensor's axes in memory; empty for row-major order."""
    if not isinstance(type_, TensorType):
        return ()
    encoding = type_.encoding
    return encoding.axis_order if isinstance(encoding, EncodingAttr) else ()


def with_axis_order(
    type_: TensorType[Attribute], axes: Sequence[int]
) -> TensorType[Attribute]:
    """Return a tensor type in the same level with another order of axes in memory."""
    level = level_of(type_)
    is_row_major = list(axes) == sorted(axes)
    encoding: Attribute = NoneAttr()
    if level is not None or not is_row_major:
        encoding = EncodingAttr(level, () if is_row_major else axes)
    return TensorType(type_.element_type, type_.get_shape(), encoding)


def without_layout(encoding: Attribute) -> Attribute:
    """
    Return a tensor encoding with the same level, but in row-major order; `NoneAttr` if
    it has no level either.
    """
    if not isinstance(encoding, EncodingAttr) or not encoding.axis_order:
        return encoding
    name = encoding.level_name
    return NoneAttr() if name is None else EncodingAttr(name)
