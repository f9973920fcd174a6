"""
Attribute `graph.step`, which records the role of a reduction in a cascaded reduction
loop.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

STEP_ATTRIBUTE = "tlf.step"
"""Name of the attribute of an operation in a group that is its `CascadeStepAttr`."""

TEXT_KEYS = ("initial", "combine", "correction", "finalise")


@irdl_attr_definition
class CascadeStepAttr(ParametrizedAttribute):
    """
    Step of a cascaded reduction loop: the index of a reduction among the loop-carried
    values, its initial value, its combining operation, and the factor that corrects the
    running value before elements are combined, or the condition under which the
    reduction restarts. In these, `r0` and `r0'` are the previous and the current value
    of loop-carried value 0. While the loop runs, other steps may use a value clamped to
    finite limits; `finalise` is the factor that corrects for the exact value after the
    loop.

    ```mlir
    #graph.step<1 initial "0" combine "sum" correction "exp(r0 - r0')">
    #graph.step<1 initial "127" combine "min" correction "restart if r0 != r0'">
    ```

    A loop-carried value that is computed from other ones without a reduction has an
    index only.
    """

    name = "graph.step"

    value_index: IntAttr
    initial: StringAttr
    combine: StringAttr
    correction: StringAttr
    finalise: StringAttr

    def __init__(
        self,
        carried_value_index: int,
        initial: str = "",
        combine: str = "",
        correction: str = "",
        finalise: str = "",
    ):
        texts = map(StringAttr, (initial, combine, correction, finalise))
        super().__init__(IntAttr(carried_value_index), *texts)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(str(self.value_index.data))
            for key in TEXT_KEYS:
                text: StringAttr = getattr(self, key)
                if text.data:
                    printer.print_string(f" {key} ")
                    printer.print_attribute(text)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            number = parser.parse_integer(allow_boolean=False, allow_negative=False)
            texts = {
                key: parser.parse_str_literal()
                for key in TEXT_KEYS
                if parser.parse_optional_keyword(key) is not None
            }
        return CascadeStepAttr(number, **texts).parameters
