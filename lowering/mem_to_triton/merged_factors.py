"""
Analysis in the lowering of contractions to Triton: adjacent axes of a loaded factor
that become one axis of its matrix.
"""

from xdsl.ir import Operation, SSAValue

from tlf.dialects import mem
from tlf.lowering.mem_to_triton.access_writer import AccessWriter
from tlf.lowering.mem_to_triton.contraction_roles import ContractionRoles
from tlf.lowering.mem_to_triton.dot_shapes import is_lowered_to_dot
from tlf.lowering.mem_to_triton.element_types import shape_of
from tlf.lowering.mem_to_triton.tile_broadcasting import domain_dims_of


def find_merged_axis(access: AccessWriter, op: mem.LoadOp) -> int | None:
    """
    Return the first of two adjacent axes that a load can read as one, because they are
    contiguous, and because all users are matrix products in which they are one axis.
    None if there are none, or more than two such axes.
    """
    users = [use.operation for use in op.value.uses]
    axes = [
        axis
        for axis in range(len(shape_of(op.value)) - 1)
        if users
        and all(_is_one_axis_of_matrix(user, op.value, axis) for user in users)
        and access.can_merge_loaded_axes(op, axis)
    ]
    return axes[0] if len(axes) == 1 else None


def _is_one_axis_of_matrix(op: Operation, value: SSAValue, axis: int) -> bool:
    """
    Return `True` if the axes `axis` and `axis + 1` of an input are one axis of the
    factor of a `tl.dot`, in this order.
    """
    if not isinstance(op, mem.ContractOp) or not is_lowered_to_dot(op):
        return False
    roles = ContractionRoles.classify_dims(op)
    if list(op.input_operands).count(value) != 1 or roles.one_sided:
        return False
    position = list(op.input_operands).index(value)
    dims = domain_dims_of(op.input_maps[position], op.domain_extents)
    first, second = dims[axis], dims[axis + 1]
    return any(
        first in group
        and second in group
        and group.index(second) == group.index(first) + 1
        for group in (roles.rows, roles.columns, roles.depth)
    )
