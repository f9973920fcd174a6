"""Operation `graph.within`: range assertion on index values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.builder import Builder
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.graph.identity_operation import IdentityOperation
from tlf.dialects.graph.tensor_types import INTEGERS
from tlf.dialects.value_check_interface import (
    ValueCheck,
    ValueCheckInterface,
    make_index_check,
)


@irdl_op_definition
class WithinOp(IdentityOperation, ValueCheckInterface):
    """
    Assertion that the indices of its operand, which it returns, are from `low` to
    `high`. Only value checks use it.

    ```mlir
    %y = graph.within %x low -5 high 4 : tensor<4xi64>
    ```
    """

    name = "graph.within"
    ACCEPTED_ELEMENT_TYPES: ClassVar = INTEGERS

    low = prop_def(IntegerAttr.constr(i64))
    high = prop_def(IntegerAttr.constr(i64))

    def __init__(self, operand: SSAValue | Operation, low: int, high: int):
        range_: dict[str, Attribute] = {
            "low": IntegerAttr(low, i64),
            "high": IntegerAttr(high, i64),
        }
        super().__init__(operand, range_)

    @classmethod
    def parse_options(cls, parser: Parser) -> dict[str, Attribute]:
        options: dict[str, Attribute] = {}
        for name in ("low", "high"):
            parser.parse_keyword(name)
            options[name] = IntegerAttr(parser.parse_integer(), i64)
        return options

    def print_options(self, printer: Printer) -> None:
        printer.print_string(f" low {self.low.value.data} high {self.high.value.data}")

    def verify_(self) -> None:
        low, high = self.low.value.data, self.high.value.data
        if low > high:
            raise VerifyException(f"expected low to be at most {high}, got {low}")
        super().verify_()

    def build_value_checks(self, builder: Builder) -> Sequence[ValueCheck]:
        low, high = self.low.value.data, self.high.value.data
        return (make_index_check(self.operand, low, high),)
