"""
Import of ATen operations on sign bits, valid for zeros and NaN, too: converters of FX
calls, which build operations of `graph`.
"""

from __future__ import annotations

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import element_type_of_value
from tlf.dialects.types import is_float
from tlf.frontend.torch.emitter import Emitter, Operand
from tlf.frontend.torch.registry import register_as_converter


@register_as_converter("signbit.default")
def _convert_signbit(emitter: Emitter, x: SSAValue) -> SSAValue:
    """
    Emit `copysign(1, x) < 0` for floats, `x < 0` for integers, false for booleans.
    """
    element = element_type_of_value(x)
    if element == i1:
        return emitter.broadcast(emitter.emit_scalar(False, i1), emitter.result_shape)
    if not is_float(element):
        return emitter.compare(x, 0, "lt", element)
    signs = emitter.emit_elementwise(graph.CopySignOp, 1, x, element=element)
    return emitter.compare(signs, 0, "lt", element)


@register_as_converter("copysign.Tensor", "copysign.Scalar")
def _convert_copysign(emitter: Emitter, x: SSAValue, y: Operand) -> SSAValue:
    return emitter.emit_elementwise(graph.CopySignOp, x, y)
