"""
Pass `graph-verify-types`: check before planning that the NPU lowering supports the
element types.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from tlf.dialects.npu_element_types import unsupported_type_message
from tlf.dialects.target import TargetSpec


@dataclass(frozen=True)
class GraphVerifyTypesPass(ModulePass):
    """
    Check that the NPU supports the element types of all operations.

    ```
    graph.matmul: the npu multiplies bf16, f16, f32, got i8
    ```

    Raises `PassFailedException` for the first operation with another element type, and
    `DiagnosticException` for a target of another backend.
    """

    name = "graph-verify-types"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = TargetSpec.read_from_module(op)
        machine.require_backend("npu")
        for each in op.walk():
            if (text := unsupported_type_message(each, machine)) is not None:
                each.emit_error(text, PassFailedException(text))
