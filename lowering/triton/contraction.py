"""
Contractions: `tl.dot` where a matrix product is large enough, else products and a sum.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import Float64Type
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from tlf.dialects import mem
from tlf.lowering.triton.alignment import (
    aligned,
    broadcast,
    dimensions,
    permuted,
    placed,
    reshaped,
)
from tlf.lowering.triton.compute import Compute
from tlf.lowering.triton.types import element_of, is_float, shape_of, triton_name, wide

MINIMUM = 16
"""The least extent of each axis of a matrix product that runs on tensor cores."""

MAX_ELEMENTS = 2**20
"""The most elements of a Triton tile."""

Dims = tuple[int | None, ...]


@dataclass(frozen=True)
class Roles:
    """
    The dimensions of a contraction's domain with more than one iteration: in both
    inputs and the output, in one input and the output, and summed over.
    """

    batch: tuple[int, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    depth: tuple[int, ...]

    @staticmethod
    def of(lhs: Dims, rhs: Dims, acc: Dims, domain: Sequence[int]) -> "Roles":
        """
        Sort the dimensions; within a role they keep the order of the output, or of the
        left input. Raises `DiagnosticException` for a sum over one input alone.
        """
        alone = [
            dim
            for dim, extent in enumerate(domain)
            if extent > 1 and dim not in acc and not (dim in lhs and dim in rhs)
        ]
        if alone:
            raise DiagnosticException(
                f"dimension {alone[0]} is summed but not in both inputs"
            )
        kept = [dim for dim in acc if dim is not None and domain[dim] > 1]
        summed = [d for d in lhs if d is not None and domain[d] > 1 and d not in acc]
        return Roles(
            tuple(dim for dim in kept if dim in lhs and dim in rhs),
            tuple(dim for dim in kept if dim in lhs and dim not in rhs),
            tuple(dim for dim in kept if dim in rhs and dim not in lhs),
            tuple(summed),
        )


def _extent(dims: Sequence[int], domain: Sequence[int]) -> int:
    return math.prod(domain[dim] for dim in dims)


def uses_dot(op: mem.ContractOp) -> bool:
    """
    Whether a contraction becomes a `tl.dot`: every axis has at least 16 elements, and
    the element types are those of a matrix unit.
    """
    lhs, rhs, acc = (dimensions(indexing, op.extents) for indexing in op.maps)
    roles = Roles.of(lhs, rhs, acc, op.extents)
    kept = {dim for dim in acc if dim is not None and op.extents[dim] > 1}
    if kept != {*roles.batch, *roles.rows, *roles.columns}:
        return False
    element, total = element_of(op.lhs), element_of(op.acc)
    if isinstance(element, Float64Type) or isinstance(total, Float64Type):
        return False
    minimum = MINIMUM
    if not is_float(element):
        if (str(element), str(total)) != ("i8", "i32"):
            return False
        minimum = 32
    axes = (roles.rows, roles.columns)
    deep = _extent(roles.depth, op.extents) >= minimum
    return deep and all(_extent(axis, op.extents) >= MINIMUM for axis in axes)


def elements(op: mem.ContractOp) -> int:
    """
    The elements of the largest tile that a contraction makes beside its operands.
    """
    return 1 if uses_dot(op) else math.prod(op.extents)


def contract(compute: Compute, op: mem.ContractOp) -> None:
    """
    Write a contraction and bind its result.
    """
    assert op.value is not None
    if uses_dot(op):
        compute.bind(op.value, _dot(compute, op))
    else:
        compute.bind(op.value, _sum_of_products(compute, op))


def _sum_of_products(compute: Compute, op: mem.ContractOp) -> str:
    total = element_of(op.acc)
    dtype = wide(total) or triton_name(total)
    factors: list[str] = []
    shapes: list[tuple[int, ...]] = []
    for value, indexing in zip(op.input_operands, op.input_maps, strict=True):
        dims = dimensions(indexing, op.extents)
        text, shape = aligned(
            compute.source, compute.names[value], shape_of(value), dims, op.extents
        )
        same = triton_name(element_of(value)) == dtype
        factors.append(text if same else f"{text}.to({dtype})")
        if shape:
            shapes.append(shape)
    product = compute.source.assign("v", f"{factors[0]} * {factors[1]}")
    covered = tuple(max(extents) for extents in zip(*shapes, strict=True))
    text = broadcast(product, covered, op.extents)
    kept = dimensions(op.maps[2], op.extents)
    for dim in reversed(range(len(op.extents))):
        if dim not in kept:
            text = f"tl.sum({text}, axis={dim})"
    text = placed(text, kept)
    start = compute.names[op.acc]
    if wide(total) is None:
        narrow = f".to({dtype})" if not is_float(total) else ""
        return f"{start} + {text}{narrow}"
    return f"({start}.to({dtype}) + {text}).to({triton_name(total)})"


def _dot(compute: Compute, op: mem.ContractOp) -> str:
    operands: tuple[SSAValue, SSAValue] = (op.lhs, op.rhs)
    lhs, rhs, acc = (dimensions(indexing, op.extents) for indexing in op.maps)
    roles = Roles.of(lhs, rhs, acc, op.extents)
    kept = [dim for dim in acc if dim in (*roles.rows, *roles.columns)]
    if kept[0] in roles.columns:
        # The output is the transpose of rows by columns: exchange the factors.
        operands, lhs, rhs = (op.rhs, op.lhs), rhs, lhs
        roles = Roles(roles.batch, roles.columns, roles.rows, roles.depth)
    left = _factor(compute, op, operands[0], lhs, (roles.rows, roles.depth), roles)
    right = _factor(compute, op, operands[1], rhs, (roles.depth, roles.columns), roles)
    axes = (roles.rows, roles.columns)
    total = element_of(op.acc)
    start = _folded(op, compute.names[op.acc], shape_of(op.acc), acc, axes, roles)
    dtype = wide(total)
    if dtype is not None:
        start = f"{start}.to({dtype})"
    precision = ""
    if str(element_of(op.lhs)) == "f32":
        precision = f', input_precision="{op.precision}"'
    elif is_float(element_of(op.lhs)):
        precision = ', input_precision="ieee"'
    text = f"tl.dot({left}, {right}, acc={start}{precision}{_out(total)})"
    if dtype is not None:
        text = f"{text}.to({triton_name(total)})"
    return _unfolded(compute, op, text, acc, axes, roles)


def _out(total: Attribute) -> str:
    return ", out_dtype=tl.int32" if not is_float(total) else ""


def _factor(
    compute: Compute,
    op: mem.ContractOp,
    value: SSAValue,
    dims: Dims,
    axes: tuple[tuple[int, ...], tuple[int, ...]],
    roles: Roles,
) -> str:
    text = compute.names[value]
    text = _folded(op, text, shape_of(value), dims, axes, roles)
    if text.isidentifier():
        return text
    return compute.source.shared("v", text)


def _folded(
    op: mem.ContractOp,
    text: str,
    shape: Sequence[int],
    dims: Dims,
    axes: tuple[tuple[int, ...], tuple[int, ...]],
    roles: Roles,
) -> str:
    """
    A tile as a matrix of `axes`, or as a batch of them.
    """
    order = [*roles.batch, *axes[0], *axes[1]]
    kept = [axis for axis, dim in enumerate(dims) if dim in order]
    present = [dims[axis] for axis in kept]
    text = reshaped(text, shape, [shape[axis] for axis in kept])
    text = permuted(text, [present.index(dim) for dim in order])
    current = [op.extents[dim] for dim in order]
    return reshaped(text, current, _matrix_shape(op, axes, roles))


def _unfolded(
    compute: Compute,
    op: mem.ContractOp,
    text: str,
    dims: Dims,
    axes: tuple[tuple[int, ...], tuple[int, ...]],
    roles: Roles,
) -> str:
    """
    The reverse of `_folded`, for the result.
    """
    order = [*roles.batch, *axes[0], *axes[1]]
    flat = _matrix_shape(op, axes, roles)
    unfolded = reshaped(text, flat, [op.extents[dim] for dim in order])
    present = [dim for dim in dims if dim in order]
    unfolded = permuted(unfolded, [order.index(dim) for dim in present])
    current = [op.extents[dim] for dim in present]
    return reshaped(unfolded, current, shape_of(op.acc))


def _matrix_shape(
    op: mem.ContractOp,
    axes: tuple[tuple[int, ...], tuple[int, ...]],
    roles: Roles,
) -> list[int]:
    batch = [_extent(roles.batch, op.extents)] if roles.batch else []
    return [*batch, *(_extent(axis, op.extents) for axis in axes)]
