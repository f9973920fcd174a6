"""
Import of ATen comparisons and selections from PyTorch: converters of FX calls, which
build operations of `graph`.
"""

from __future__ import annotations

from typing import Any

import torch
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import element_type_of_value, shape_of
from tlf.dialects.types import is_float
from tlf.frontend.torch.element_types import DTYPES, ELEMENTS
from tlf.frontend.torch.emitter import Emitter, Operand
from tlf.frontend.torch.registry import Converter, register_as_converter


def comparison_element_of(x: SSAValue, y: Operand) -> Attribute:
    """
    Return the element type to which PyTorch promotes the operands of a comparison.
    """
    meta_operands: list[Any] = [
        torch.empty(
            shape_of(each), dtype=DTYPES[element_type_of_value(each)], device="meta"
        )
        if isinstance(each, SSAValue)
        else each
        for each in (x, y)
    ]
    return ELEMENTS[torch.result_type(*meta_operands)]


def _make_comparison_converter(relation: str) -> Converter:
    """Return a converter to `relation` in PyTorch's common type of both operands."""

    def convert(emitter: Emitter, x: SSAValue, y: Operand) -> SSAValue:
        return emitter.compare(x, y, relation, comparison_element_of(x, y))

    return convert


for _relation in ("eq", "ne", "lt", "le", "gt", "ge"):
    register_as_converter(f"{_relation}.Tensor")(_make_comparison_converter(_relation))
    register_as_converter(f"{_relation}.Scalar")(_make_comparison_converter(_relation))


@register_as_converter(
    "where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar"
)
def _convert_where(
    emitter: Emitter, condition: SSAValue, x: Operand, y: Operand
) -> SSAValue:
    return emitter.to_result(emitter.select(condition, x, y, emitter.result_element))


@register_as_converter("masked_fill.Scalar", "masked_fill.Tensor")
def _convert_masked_fill(
    emitter: Emitter, x: SSAValue, mask: SSAValue, value: Operand
) -> SSAValue:
    return emitter.to_result(emitter.select(mask, value, x, emitter.result_element))


@register_as_converter("isfinite.default")
def _convert_isfinite(emitter: Emitter, x: SSAValue) -> SSAValue:
    """Emit `abs(x) < inf` for floats, and true for all other types."""
    element = element_type_of_value(x)
    if not is_float(element):
        return emitter.broadcast(emitter.emit_scalar(True, i1), emitter.result_shape)
    magnitude = emitter.emit_elementwise(graph.AbsOp, x, element=element)
    return emitter.compare(magnitude, float("inf"), "lt", element)
