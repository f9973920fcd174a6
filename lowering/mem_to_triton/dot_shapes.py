"""
Legality check in the lowering of contractions to Triton: shapes and element types of a
`tl.dot`.
"""

from xdsl.dialects.builtin import Float32Type, Float64Type
from xdsl.ir import Operation

from tlf.dialects import mem
from tlf.dialects.product_precision import FACTOR_SPLITS
from tlf.lowering.mem_to_triton.contraction_roles import ContractionRoles
from tlf.lowering.mem_to_triton.element_types import element_type_of, is_float

MIN_DOT_EXTENT = 16
"""Minimum extent of each axis of a matrix product on tensor cores."""

MIN_INT8_DEPTH = 32
"""Minimum depth of a matrix product of 8-bit integers."""


def is_lowered_to_dot(op: mem.ContractOp) -> bool:
    """
    Return `True` if a contraction becomes a `tl.dot`: every axis has at least 16
    elements (depth 32 for 8-bit integers), and tensor cores support the element types.
    """
    roles = ContractionRoles.classify_dims(op)
    if roles.output_only:
        return False
    element, total = element_type_of(op.lhs), element_type_of(op.acc)
    if isinstance(element, Float64Type) or isinstance(total, Float64Type):
        return False
    minimum = MIN_DOT_EXTENT
    if not is_float(element):
        if (str(element), str(total)) != ("i8", "i32") or roles.one_sided:
            return False
        minimum = MIN_INT8_DEPTH
    axes = (roles.rows, roles.columns)
    is_deep = roles.iteration_count_along(roles.depth) >= minimum
    return is_deep and all(
        roles.iteration_count_along(axis) >= MIN_DOT_EXTENT for axis in axes
    )


def is_contraction_lowered_to_dot(op: Operation) -> bool:
    """Return `True` if an operation is a contraction that becomes a `tl.dot`."""
    return isinstance(op, mem.ContractOp) and is_lowered_to_dot(op)


def has_split_factors(op: mem.ContractOp) -> bool:
    """
    Return `True` if threads split the factors of a contraction into parts, and add the
    sum of the products of parts to the accumulator.
    """
    return op.precision in FACTOR_SPLITS and isinstance(
        element_type_of(op.lhs), Float32Type
    )


def is_computed_by_lanes(op: mem.ContractOp) -> bool:
    """
    Return `True` if there are no matrix instructions for the type of a contraction.
    """
    return op.precision == "ieee" and isinstance(element_type_of(op.lhs), Float32Type)
