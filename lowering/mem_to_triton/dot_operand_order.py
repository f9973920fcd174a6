"""
Analysis in the lowering of contractions to Triton: operand order of an emitted
`tl.dot`.

By default the order avoids a transposition of the output. These cases override it:
Triton does not support the folded columns, or would recompute the left factor. Products
that lanes compute read the right factor along its columns, and those of split factors
the left one along its rows, where one order allows it.
"""

from xdsl.dialects import scf
from xdsl.ir import BlockArgument, OpResult, SSAValue

from tlf.dialects import mem
from tlf.dialects.types import is_16_bit_float
from tlf.lowering.mem_to_triton.contraction_roles import ContractionRoles
from tlf.lowering.mem_to_triton.dot_shapes import (
    has_split_factors,
    is_computed_by_lanes,
    is_contraction_lowered_to_dot,
)
from tlf.lowering.mem_to_triton.element_types import element_type_of
from tlf.lowering.mem_to_triton.loop_carried_values import (
    carried_argument_and_yielded_value,
)
from tlf.lowering.mem_to_triton.merged_factors import is_loaded_as_matrix
from tlf.lowering.mem_to_triton.tile_broadcasting import domain_dims_of

MIN_FOLDED_COLUMNS = 8
"""
Minimum extent of the last axis if several axes form the columns of the right matrix.
On Hopper, Triton 3.6 keeps these axes separate in shared memory, as rows of the layout
that matrix instructions read, and fails with `Illegal shared layout` below the minimum.
"""

MAX_MMA_ROWS = 64
"""Rows of the widest matrix instruction on Hopper."""


def needs_operand_swap(op: mem.ContractOp, roles: ContractionRoles) -> bool:
    """
    Return `True` if `tl.dot` should take the second input of a contraction as its left
    one.
    """
    output_dims = [
        dim
        for dim in domain_dims_of(op.maps[2], op.domain_extents)
        if dim in (*roles.rows, *roles.columns)
    ]
    is_swapped_by_default = output_dims[0] in roles.columns
    orders = [(roles, 0), (roles.swap_operands(), 1)]
    default, other = orders[is_swapped_by_default], orders[not is_swapped_by_default]
    if (is_illegal := _has_short_column_axis(op, *default)) != _has_short_column_axis(
        op, *other
    ):
        return is_swapped_by_default != is_illegal
    if is_computed_by_lanes(op) or has_split_factors(op):
        (_, left), (_, right) = default, other
        is_slow = _has_depth_last(op, roles, right)
        return is_swapped_by_default != (
            is_slow and not _has_depth_last(op, roles, left)
        )
    if not _is_left_input_recomputed(op, *default) or _is_left_input_recomputed(
        op, *other
    ):
        return is_swapped_by_default
    return is_swapped_by_default != _is_only_use_of_carried_value(op)


def _has_depth_last(
    op: mem.ContractOp, roles: ContractionRoles, input_index: int
) -> bool:
    """
    Return `True` if the reduced axis of an input is its innermost one. Lanes read the
    columns of such a right factor from the same banks of shared memory.
    """
    dims = domain_dims_of(op.input_maps[input_index], op.domain_extents)
    axes = (*roles.rows, *roles.columns, *roles.depth)
    return any(dim in roles.depth for dim in [d for d in dims if d in axes][-1:])


def _has_short_column_axis(
    op: mem.ContractOp, roles: ContractionRoles, left_index: int
) -> bool:
    """
    Return `True` if the columns of the right matrix are several axes and the last one
    is shorter than `MIN_FOLDED_COLUMNS`. A load may yield them as one axis.
    """
    if is_loaded_as_matrix(op.input_operands[1 - left_index]):
        return False
    columns = [
        roles.extents[dim]
        for dim in domain_dims_of(op.input_maps[1 - left_index], op.domain_extents)
        if dim in roles.columns and roles.extents[dim] > 1
    ]
    return len(columns) > 1 and columns[-1] < MIN_FOLDED_COLUMNS


def _is_left_input_recomputed(
    op: mem.ContractOp, roles: ContractionRoles, left_index: int
) -> bool:
    """
    Return `True` if several narrow matrix instructions would read the same rows of an
    input as the left factor, or if it is computed in registers and would be recomputed:
    for other uses, or for another element order. Triton 3.6 then takes up to twice as
    long as with the input as the right factor, in shared memory.
    """
    value = op.input_operands[left_index]
    if roles.batch or not is_16_bit_float(element_type_of(value)):
        return False
    is_computed = _is_computed_from_loads(value)
    if not is_computed and not is_loaded_as_matrix(value):
        return False
    if (
        roles.iteration_count_along(roles.rows)
        < MAX_MMA_ROWS
        <= roles.iteration_count_along(roles.columns)
    ):
        return True
    is_shared = any(
        not is_contraction_lowered_to_dot(use.operation) for use in value.uses
    )
    return is_computed and (
        is_shared or _is_left_input_transposed(op, roles, left_index)
    )


def _is_left_input_transposed(
    op: mem.ContractOp, roles: ContractionRoles, left_index: int
) -> bool:
    """Return `True` if the reduced axis is not the innermost one of the left input."""
    axes = (*roles.rows, *roles.depth)
    dims = domain_dims_of(op.input_maps[left_index], op.domain_extents)
    last = [dim for dim in dims if dim in axes][-1:]
    return any(dim in roles.rows for dim in last)


def _is_computed_from_loads(value: SSAValue) -> bool:
    """
    Return `True` if a tile is computed elementwise from loads and not from a product.
    """
    if not isinstance(value.owner, mem.MapOp):
        return False
    pending, visited = [value], set[SSAValue]()
    while pending:
        each = pending.pop()
        if each in visited:
            continue
        visited.add(each)
        if isinstance(each.owner, mem.ContractOp):
            return False
        if isinstance(each.owner, mem.MapOp):
            pending.extend(each.owner.operands)
        elif isinstance(each, OpResult) and isinstance(each.op, scf.ForOp):
            _, result = carried_argument_and_yielded_value(each.op, each.index)
            pending.append(result)
    return True


def _is_only_use_of_carried_value(op: mem.ContractOp) -> bool:
    """
    Return `True` if a contraction is in no loop, or is the only use of the loop-carried
    value that it updates.
    """
    loop = op.parent_op()
    if not isinstance(loop, scf.ForOp):
        return True
    accumulator, result, block = op.acc, op.value, loop.body.block
    if not isinstance(accumulator, BlockArgument) or accumulator.owner is not block:
        return False
    if accumulator.index == 0 or result is None or len(list(accumulator.uses)) != 1:
        return False
    return [use.operation for use in result.uses] == [block.last_op]
