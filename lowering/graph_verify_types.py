"""Telling early which element types an NPU does not take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from tlf.dialects.interfaces import ContractionInterface
from tlf.dialects.npu.engine import ELEMENT_TYPES
from tlf.dialects.target import Target
from tlf.dialects.types import tensor_type
from tlf.lowering.npu.scalars import multiplied


@dataclass(frozen=True)
class GraphVerifyTypesPass(ModulePass):
    """
    Checks that the NPU can hold what operations read and compute, and multiply what
    contractions do, before anything is searched for them.

    ```
    graph.matmul: the npu multiplies bf16, f16, f32, got i8
    ```

    Raises `PassFailedException` for the first operation with another element type.
    """

    name = "graph-verify-types"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        products = multiplied(Target.of(op))
        for each in op.walk():
            _verify(each, products)


def _verify(op: Operation, products: Sequence[str]) -> None:
    elements = _elements(op)
    if (other := _other(elements, ELEMENT_TYPES)) is not None:
        known = ", ".join(ELEMENT_TYPES)
        raise PassFailedException(f"{op.name}: the npu holds {known}, got {other}")
    if not isinstance(op, ContractionInterface):
        return
    if (other := _other(elements[:1], products)) is not None:
        known = ", ".join(products) or "nothing"
        raise PassFailedException(f"{op.name}: the npu multiplies {known}, got {other}")


def _elements(op: Operation) -> list[Attribute]:
    """The element types of an operation's tensors."""
    values = (*op.operands, *op.results)
    tensors = (value for value in values if isinstance(value.type, TensorType))
    return [tensor_type(value).element_type for value in tensors]


def _other(elements: Sequence[Attribute], known: Sequence[str]) -> Attribute | None:
    """The first type that is none of the known ones."""
    return next((each for each in elements if str(each) not in known), None)
