"""
Import of ATen matrix products from PyTorch: converters of FX calls, which build
operations of `graph`.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import shape_of
from tlf.dialects.types import is_float
from tlf.frontend.torch.emitter import Emitter
from tlf.frontend.torch.import_errors import Unsupported
from tlf.frontend.torch.registry import register_as_converter


@register_as_converter("mm.default", "bmm.default")
def _convert_matmul(emitter: Emitter, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    return emitter.matmul(lhs, rhs)


@register_as_converter("addmm.default", "baddbmm.default")
def _convert_addmm(
    emitter: Emitter,
    bias: SSAValue,
    lhs: SSAValue,
    rhs: SSAValue,
    *,
    beta: float = 1,
    alpha: float = 1,
) -> SSAValue:
    """Emit a product with bias; 16-bit floats are rounded once, after the bias."""
    wide = emitter.wide_element if is_float(emitter.result_element) else None
    product = emitter.matmul(lhs, rhs, wide)
    element = wide or emitter.result_element
    scaled = product if alpha == 1 else emitter.mul(product, alpha, element)
    if beta == 0:
        return emitter.to_result(scaled)
    addend = bias if beta == 1 else emitter.mul(bias, beta, element)
    return emitter.to_result(emitter.add(scaled, addend, element))


@register_as_converter("_trilinear.default")
def _convert_trilinear(
    emitter: Emitter,
    first: SSAValue,
    second: SSAValue,
    third: SSAValue,
    expand1: Sequence[int],
    expand2: Sequence[int],
    expand3: Sequence[int],
    summed_axes: Sequence[int],
    unroll_dim: int = 1,
) -> SSAValue:
    """
    Emit the sum over the axes `summed_axes` of the product of three tensors, which are
    expanded by unit axes.
    """
    wide = emitter.wide_element
    product: SSAValue | None = None
    for value, expanded in ((first, expand1), (second, expand2), (third, expand3)):
        shape = list(shape_of(value))
        for axis in sorted(expanded):
            shape.insert(axis, 1)
        factor = emitter.reshape(value, shape)
        product = factor if product is None else emitter.mul(product, factor, wide)
    assert product is not None
    return emitter.to_result(
        emitter.reduce(emitter.cast(product, wide), "sum", sorted(summed_axes))
    )


@register_as_converter("_cdist_forward.default")
def _convert_cdist(
    emitter: Emitter, x: SSAValue, y: SSAValue, norm: float, mode: int | None
) -> SSAValue:
    """
    Emit the distances between all rows of `x` and all rows of `y` in the norm of order
    `norm`. Raises `Unsupported` for 0.
    """
    wide, (rows, columns) = emitter.wide_element, (shape_of(x), shape_of(y))
    lhs = emitter.reshape(x, (*rows[:-1], 1, rows[-1]))
    rhs = emitter.reshape(y, (*columns[:-2], 1, *columns[-2:]))
    difference = emitter.emit(graph.AbsOp(emitter.sub(lhs, rhs, wide)))
    last = [len(emitter.result_shape)]
    if norm == float("inf"):
        return emitter.to_result(emitter.reduce(difference, "max", last))
    if norm == 2:
        squares = emitter.mul(difference, difference, wide)
        return emitter.to_result(
            emitter.emit(graph.SqrtOp(emitter.reduce(squares, "sum", last)))
        )
    if norm == 0:
        raise Unsupported("expected a norm above 0, got 0")
    powers = emitter.emit_elementwise(graph.PowOp, difference, norm, element=wide)
    total = emitter.reduce(powers, "sum", last)
    return emitter.to_result(
        emitter.emit_elementwise(graph.PowOp, total, 1 / norm, element=wide)
    )
