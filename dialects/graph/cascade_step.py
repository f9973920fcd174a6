"""Attribute that records the role of a reduction in a cascaded reduction loop."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

STEP_ATTRIBUTE = "tlf.step"
"""The attribute of an operation in a group that holds its `StepAttr`."""

TEXT_KEYS = ("initial", "combine", "correction", "finalise")


@irdl_attr_definition
class StepAttr(ParametrizedAttribute):
    """
    A reduction as a step of a cascaded reduction loop: its index among the loop-carried
    values, its initial value, how elements are combined, the factor that corrects the
    running value before, and once more after the loop, or the condition under which the
    reduction restarts. There `r0` is value 0 as it was used so far, and `r0'` as it is
    now. What others see of a value may be kept within limits while the loop runs:
    `finalise` is the factor where that is undone behind it.

    ```mlir
    #graph.step<1 initial "0" combine "sum" correction "exp(r0 - r0')">
    #graph.step<1 initial "127" combine "min" correction "restart if r0 != r0'">
    ```

    What is computed of such values, and not along the axis, has a number alone.
    """

    name = "graph.step"

    value_index: IntAttr
    initial: StringAttr
    combine: StringAttr
    correction: StringAttr
    finalise: StringAttr

    def __init__(
        self,
        number: int,
        initial: str = "",
        combine: str = "",
        correction: str = "",
        finalise: str = "",
    ):
        texts = map(StringAttr, (initial, combine, correction, finalise))
        super().__init__(IntAttr(number), *texts)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(str(self.value_index.data))
            for part in TEXT_KEYS:
                text: StringAttr = getattr(self, part)
                if text.data:
                    printer.print_string(f" {part} ")
                    printer.print_attribute(text)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            number = parser.parse_integer(allow_boolean=False, allow_negative=False)
            texts = {
                part: parser.parse_str_literal()
                for part in TEXT_KEYS
                if parser.parse_optional_keyword(part) is not None
            }
        return StepAttr(number, **texts).parameters
