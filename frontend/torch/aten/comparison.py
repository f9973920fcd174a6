"""Import of ATen comparisons and selections as graph operations."""

from __future__ import annotations

from typing import Any

import torch
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import element_of, shape_of
from tlf.dialects.types import is_float
from tlf.frontend.torch.element_types import DTYPES, ELEMENTS
from tlf.frontend.torch.emitter import Emitter, Operand
from tlf.frontend.torch.registry import Converter, converts


def common_element(x: SSAValue, y: Operand) -> Attribute:
    """Return the element type in which two operands are compared."""
    meta_operands: list[Any] = [
        torch.empty(shape_of(each), dtype=DTYPES[element_of(each)], device="meta")
        if isinstance(each, SSAValue)
        else each
        for each in (x, y)
    ]
    return ELEMENTS[torch.result_type(*meta_operands)]


def _make_comparison(relation: str) -> Converter:
    def convert(at: Emitter, x: SSAValue, y: Operand) -> SSAValue:
        return at.compare(x, y, relation, common_element(x, y))

    return convert


for _relation in ("eq", "ne", "lt", "le", "gt", "ge"):
    converts(f"{_relation}.Tensor")(_make_comparison(_relation))
    converts(f"{_relation}.Scalar")(_make_comparison(_relation))


@converts("where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar")
def _where(at: Emitter, condition: SSAValue, x: Operand, y: Operand) -> SSAValue:
    return at.to_result(at.select(condition, x, y, at.element))


@converts("masked_fill.Scalar", "masked_fill.Tensor")
def _masked_fill(at: Emitter, x: SSAValue, mask: SSAValue, value: Operand) -> SSAValue:
    return at.to_result(at.select(mask, value, x, at.element))


@converts("isfinite.default")
def _isfinite(at: Emitter, x: SSAValue) -> SSAValue:
    element = element_of(x)
    if not is_float(element):
        return at.broadcast(at.scalar(True, i1), at.shape)
    magnitude = at.apply(graph.AbsOp, x, element=element)
    return at.compare(magnitude, float("inf"), "lt", element)
