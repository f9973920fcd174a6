"""
Analysis in the lowering of contractions to Triton: axes of a loaded factor that become
one axis of its matrix.

Triton's pipeliner keeps a factor that is loaded as a matrix in shared memory, from
which matrix instructions read it. Of one that is reshaped to a matrix behind its load,
they read the left one from registers.
"""

from xdsl.ir import Operation, SSAValue

from tlf.dialects import mem
from tlf.lowering.mem_to_triton.access_writer import AccessWriter
from tlf.lowering.mem_to_triton.contraction_roles import ContractionRoles
from tlf.lowering.mem_to_triton.dot_shapes import is_lowered_to_dot
from tlf.lowering.mem_to_triton.element_types import shape_of
from tlf.lowering.mem_to_triton.flat_axes import FlatAxes
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


def find_flat_axes(op: mem.LoadOp | mem.Im2colOp) -> FlatAxes:
    """
    Return the axes with which a load yields a matrix, if all users are matrix products
    whose factor has all dims of an axis next to each other; else one axis per dim.
    """
    users = [use.operation for use in op.value.uses]
    groups = {_matrix_groups(user, op.value) for user in users}
    shape = shape_of(op.value)
    (common,) = groups if len(groups) == 1 else (None,)
    return FlatAxes.of_dims(shape) if common is None else FlatAxes(shape, common)


def is_loaded_as_matrix(value: SSAValue) -> bool:
    """Return `True` if a load yields a value of more than two dims as a matrix."""
    op = value.owner
    if not isinstance(op, mem.LoadOp | mem.Im2colOp):
        return False
    axes = find_flat_axes(op)
    return len(axes.groups) < len(axes.shape)


def _matrix_groups(
    op: Operation, value: SSAValue
) -> tuple[tuple[int, ...], ...] | None:
    """
    Return the dims of an input that form each of the two axes of a factor of a
    `tl.dot`, in order; `None` if dims in between belong to others.
    """
    if not isinstance(op, mem.ContractOp) or not is_lowered_to_dot(op):
        return None
    roles = ContractionRoles.classify_dims(op)
    if roles.one_sided or roles.batch or list(op.input_operands).count(value) != 1:
        return None
    position = list(op.input_operands).index(value)
    free = roles.columns if position else roles.rows
    domain = domain_dims_of(op.input_maps[position], op.domain_extents)
    dims = [dim for dim in domain if dim is not None and op.domain_extents[dim] > 1]
    for first, second in ((free, roles.depth), (roles.depth, free)):
        if dims == [*first, *second]:
            start = domain.index(second[0])
            return tuple(range(start)), tuple(range(start, len(domain)))
    return None


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
