"""Import of ATen sign-bit operations, valid for zeros and NaN, too."""

from __future__ import annotations

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import element_of
from tlf.dialects.types import is_float
from tlf.frontend.torch.emitter import Emitter, Operand
from tlf.frontend.torch.registry import converts


@converts("signbit.default")
def _signbit(at: Emitter, x: SSAValue) -> SSAValue:
    element = element_of(x)
    if element == i1:
        return at.broadcast(at.scalar(False, i1), at.shape)
    if not is_float(element):
        return at.compare(x, 0, "lt", element)
    signs = at.apply(graph.CopySignOp, 1, x, element=element)
    return at.compare(signs, 0, "lt", element)


@converts("copysign.Tensor", "copysign.Scalar")
def _copysign(at: Emitter, x: SSAValue, y: Operand) -> SSAValue:
    return at.apply(graph.CopySignOp, x, y)
