"""Import of ATen matrix products as graph operations."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import shape_of
from tlf.dialects.types import is_float
from tlf.frontend.torch.emitter import Emitter
from tlf.frontend.torch.import_errors import Unsupported
from tlf.frontend.torch.registry import converts


@converts("mm.default", "bmm.default")
def _matmul(at: Emitter, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    return at.emit(graph.MatmulOp(lhs, rhs))


@converts("addmm.default", "baddbmm.default")
def _addmm(
    at: Emitter,
    bias: SSAValue,
    lhs: SSAValue,
    rhs: SSAValue,
    *,
    beta: float = 1,
    alpha: float = 1,
) -> SSAValue:
    """Emit a product with bias; 16-bit floats are rounded once, after the bias."""
    wide = at.wide if is_float(at.element) else None
    product = at.emit(graph.MatmulOp(lhs, rhs, element=wide))
    element = wide or at.element
    scaled = product if alpha == 1 else at.mul(product, alpha, element)
    if beta == 0:
        return at.to_result(scaled)
    addend = bias if beta == 1 else at.mul(bias, beta, element)
    return at.to_result(at.add(scaled, addend, element))


@converts("_trilinear.default")
def _trilinear(
    at: Emitter,
    first: SSAValue,
    second: SSAValue,
    third: SSAValue,
    expand1: Sequence[int],
    expand2: Sequence[int],
    expand3: Sequence[int],
    summed: Sequence[int],
    unroll_dim: int = 1,
) -> SSAValue:
    """
    Emit the sum over the axes `summed` of the product of three tensors, which are
    expanded by unit axes.
    """
    wide = at.wide
    product: SSAValue | None = None
    for value, expanded in ((first, expand1), (second, expand2), (third, expand3)):
        shape = list(shape_of(value))
        for axis in sorted(expanded):
            shape.insert(axis, 1)
        factor = at.reshape(value, shape)
        product = factor if product is None else at.mul(product, factor, wide)
    assert product is not None
    return at.to_result(at.reduce(at.cast(product, wide), "sum", sorted(summed)))


@converts("_cdist_forward.default")
def _cdist(
    at: Emitter, x: SSAValue, y: SSAValue, norm: float, mode: int | None
) -> SSAValue:
    """Emit the distances between all rows of x and all rows of y."""
    wide, (rows, columns) = at.wide, (shape_of(x), shape_of(y))
    lhs = at.reshape(x, (*rows[:-1], 1, rows[-1]))
    rhs = at.reshape(y, (*columns[:-2], 1, *columns[-2:]))
    difference = at.emit(graph.AbsOp(at.sub(lhs, rhs, wide)))
    last = [len(at.shape)]
    if norm == float("inf"):
        return at.to_result(at.reduce(difference, "max", last))
    if norm == 2:
        squares = at.mul(difference, difference, wide)
        return at.to_result(at.emit(graph.SqrtOp(at.reduce(squares, "sum", last))))
    if norm == 0:
        raise Unsupported("expected a norm above 0, got 0")
    powers = at.apply(graph.PowOp, difference, norm, element=wide)
    total = at.reduce(powers, "sum", last)
    return at.to_result(at.apply(graph.PowOp, total, 1 / norm, element=wide))
