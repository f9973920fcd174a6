"""
Pass `graph-verify-types`: check before planning that the NPU lowering supports the
element types.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from tlf.dialects.interfaces import ContractionInterface
from tlf.dialects.npu.engine_operation import ELEMENT_TYPES
from tlf.dialects.target import TargetSpec
from tlf.dialects.types import tensor_type
from tlf.lowering.mem_to_npu.vector_opcodes import check_matrix_engine_multiplies


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


def unsupported_type_message(op: Operation, machine: TargetSpec) -> str | None:
    """
    Return the error message for an operation with element types that the NPU does not
    support, otherwise `None`.
    """
    elements = _element_types_of(op)
    for element in elements:
        if str(element) not in ELEMENT_TYPES:
            supported = ", ".join(ELEMENT_TYPES)
            return f"{op.name}: the npu supports {supported}, got {element}"
    if isinstance(op, ContractionInterface):
        try:
            check_matrix_engine_multiplies(op, elements[0], machine)
        except PassFailedException as error:
            return str(error)
    return None


def _element_types_of(op: Operation) -> list[Attribute]:
    """Return the element types of an operation's tensors."""
    values = (*op.operands, *op.results)
    tensors = (value for value in values if isinstance(value.type, TensorType))
    return [tensor_type(value).element_type for value in tensors]
