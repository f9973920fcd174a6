"""Element types that the engines of an NPU support, queried per operation."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation

from tlf.dialects.interfaces import ContractionInterface
from tlf.dialects.npu.engine_operation import ELEMENT_TYPES
from tlf.dialects.target import TargetSpec
from tlf.dialects.types import tensor_type


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
        return unsupported_product_message(op, elements[0], machine)
    return None


def unsupported_product_message(
    op: Operation, element: Attribute, machine: TargetSpec
) -> str | None:
    """
    Return the error message for an element type that the matrix engine does not
    multiply, otherwise `None`.
    """
    cycles = machine.engines.get("matrix", {}).get("cycles", {})
    supported = sorted(cycles) if isinstance(cycles, Mapping) else []
    if str(element) in supported:
        return None
    listed = ", ".join(supported) or "nothing"
    return f"{op.name}: the npu multiplies {listed}, got {element}"


def _element_types_of(op: Operation) -> list[Attribute]:
    """Return the element types of an operation's tensors."""
    values = (*op.operands, *op.results)
    tensors = (value for value in values if isinstance(value.type, TensorType))
    return [tensor_type(value).element_type for value in tensors]
