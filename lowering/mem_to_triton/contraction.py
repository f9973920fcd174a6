"""
Contractions: `tl.dot` where a matrix product is large enough, else products and a sum.
"""

import math

from tlf.dialects import mem
from tlf.lowering.mem_to_triton.alignment import aligned, broadcast, dimensions, placed
from tlf.lowering.mem_to_triton.compute import Compute
from tlf.lowering.mem_to_triton.dot import Factor, dot
from tlf.lowering.mem_to_triton.dot_shapes import uses_dot
from tlf.lowering.mem_to_triton.roles import Roles
from tlf.lowering.mem_to_triton.types import element_of, is_float, triton_name, wide

MAX_ELEMENTS = 2**20
"""The most elements of a Triton tile."""


def elements(op: mem.ContractOp) -> int:
    """
    The elements of the largest tile that a contraction makes beside its operands.
    """
    if uses_dot(op):
        return 1
    roles = Roles.of(op)
    return math.prod(op.extents) // roles.extent(roles.alone)


def contract(compute: Compute, op: mem.ContractOp) -> None:
    """
    Write a contraction and bind its result.
    """
    assert op.value is not None
    if uses_dot(op):
        compute.bind(op.value, dot(compute, op))
    else:
        compute.bind(op.value, _sum_of_products(compute, op))


def _sum_of_products(compute: Compute, op: mem.ContractOp) -> str:
    total, alone = element_of(op.acc), Roles.of(op).alone
    dtype = wide(total) or triton_name(total)
    domain = [1 if dim in alone else extent for dim, extent in enumerate(op.extents)]
    texts: list[str] = []
    shapes: list[tuple[int, ...]] = []
    for number in range(2):
        factor = Factor.of(compute, op, number, dtype)
        text, shape = aligned(
            compute.source, factor.text, factor.shape, factor.dims, domain
        )
        texts.append(text if factor.dtype == dtype else f"{text}.to({dtype})")
        if shape:
            shapes.append(shape)
    product = compute.source.assign("v", f"{texts[0]} * {texts[1]}")
    covered = tuple(max(extents) for extents in zip(*shapes, strict=True))
    text = broadcast(product, covered, domain)
    kept = dimensions(op.maps[2], op.extents)
    for dim in reversed(range(len(domain))):
        if dim not in kept:
            text = f"tl.sum({text}, axis={dim})"
    text = placed(text, kept)
    start = compute.names[op.acc]
    if wide(total) is None:
        narrow = f".to({dtype})" if not is_float(total) else ""
        return f"{start} + {text}{narrow}"
    return f"({start}.to({dtype}) + {text}).to({triton_name(total)})"
