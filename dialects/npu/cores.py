"""Operation `npu.cores`: a region that all cores run in parallel."""

from xdsl.dialects.builtin import IndexType, IntegerAttr, i64
from xdsl.ir import Block, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    region_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoTerminator
from xdsl.utils.exceptions import VerifyException


@irdl_op_definition
class CoresOp(IRDLOperation):
    """
    Run a body on all cores, each with its core index, from 0.

    The innermost level and its engines are private to a core. In the body, a core
    signals and waits for its own semaphores.

    ```mlir
    npu.cores %c of 4 {
      npu.vector "fill" L1[0](4):f32 from 1.0 shape [64]
    }
    ```
    """

    name = "npu.cores"

    count = prop_def(IntegerAttr.constr(i64))
    body = region_def("single_block")

    traits = traits_def(NoTerminator())

    def __init__(self, count: int, body: Region | Block) -> None:
        super().__init__(
            properties={"count": IntegerAttr(count, i64)},
            regions=[body if isinstance(body, Region) else Region(body)],
        )

    @property
    def core_index(self) -> SSAValue:
        """Index of the core."""
        return self.body.block.args[0]

    @property
    def core_count(self) -> int:
        """Number of cores."""
        return self.count.value.data

    def verify_(self) -> None:
        types = [str(each.type) for each in self.body.block.args]
        if types != ["index"]:
            raise VerifyException(
                f"expected the number of the core, an index, got {', '.join(types)}"
            )
        if self.core_count < 1:
            raise VerifyException(f"expected at least 1 core, got {self.core_count}")
        parent = self.parent_op()
        while parent is not None:
            if isinstance(parent, CoresOp):
                raise VerifyException("expected no `npu.cores` in another")
            parent = parent.parent_op()

    @classmethod
    def parse(cls, parser: Parser) -> "CoresOp":
        core = parser.parse_argument(expect_type=False).resolve(IndexType())
        parser.parse_characters("of")
        count = parser.parse_integer(allow_negative=False)
        return CoresOp(count, parser.parse_region([core]))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.core_index)
        printer.print_string(f" of {self.core_count} ")
        printer.print_region(self.body, print_entry_block_args=False)
