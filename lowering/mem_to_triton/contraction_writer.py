"""
Emission of Triton code for contractions: `tl.dot` if large enough, otherwise a sum of
products.
"""

import math

from tlf.dialects import mem
from tlf.lowering.mem_to_triton.compute_writer import ComputeWriter
from tlf.lowering.mem_to_triton.contraction_roles import ContractionRoles
from tlf.lowering.mem_to_triton.dot_expressions import DotOperand, dot_expression
from tlf.lowering.mem_to_triton.dot_shapes import is_lowered_to_dot
from tlf.lowering.mem_to_triton.element_types import (
    element_type_of,
    is_float,
    promoted_arithmetic_type,
    triton_type_name,
)
from tlf.lowering.mem_to_triton.tile_broadcasting import (
    align_tile_to_domain,
    broadcast_tile_to_domain,
    domain_dims_of,
    transpose_and_insert_unit_dims,
)

MAX_ELEMENTS = 2**20
"""Maximum number of elements of a Triton tile."""


def largest_intermediate_element_count(op: mem.ContractOp) -> int:
    """Return the element count of the largest intermediate tile of a contraction."""
    if is_lowered_to_dot(op):
        return 1
    roles = ContractionRoles.classify_dims(op)
    return math.prod(op.domain_extents) // roles.iteration_count_along(roles.one_sided)


def write_contraction(compute: ComputeWriter, op: mem.ContractOp) -> None:
    """
    Write a `mem.contract` to the kernel, as `tl.dot` or as a sum of products, and bind
    its result to a variable.
    """
    assert op.value is not None
    if is_lowered_to_dot(op):
        compute.bind_result_variable(op.value, dot_expression(compute, op))
    else:
        compute.bind_result_variable(op.value, _sum_of_products_expression(compute, op))


def _sum_of_products_expression(compute: ComputeWriter, op: mem.ContractOp) -> str:
    """Return a contraction as summed broadcast products, added to its accumulator."""
    total, one_sided = (
        element_type_of(op.acc),
        ContractionRoles.classify_dims(op).one_sided,
    )
    dtype = promoted_arithmetic_type(total) or triton_type_name(total)
    domain = [
        1 if dim in one_sided else extent
        for dim, extent in enumerate(op.domain_extents)
    ]
    texts: list[str] = []
    shapes: list[tuple[int, ...]] = []
    for position in range(2):
        factor = DotOperand.from_contraction_input(compute, op, position, dtype)
        text, shape = align_tile_to_domain(
            compute.source, factor.text, factor.shape, factor.dims, domain
        )
        texts.append(text if factor.dtype == dtype else f"{text}.to({dtype})")
        if shape:
            shapes.append(shape)
    product = compute.source.assign_variable("v", f"{texts[0]} * {texts[1]}")
    covered = tuple(max(extents) for extents in zip(*shapes, strict=True))
    text = broadcast_tile_to_domain(product, covered, domain)
    output_dims = domain_dims_of(op.maps[2], op.domain_extents)
    for dim in reversed(range(len(domain))):
        if dim not in output_dims:
            text = f"tl.sum({text}, axis={dim})"
    text = transpose_and_insert_unit_dims(text, output_dims)
    initial = compute.names[op.acc]
    if promoted_arithmetic_type(total) is None:
        cast = f".to({dtype})" if not is_float(total) else ""
        return f"{initial} + {text}{cast}"
    return f"({initial}.to({dtype}) + {text}).to({triton_type_name(total)})"
