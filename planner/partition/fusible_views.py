"""Planning of partitions: the views and slices that groups can read in place."""

from __future__ import annotations

from xdsl.ir import Operation, Use

from tlf.analysis.bounds.access_footprint import is_access_in_bounds
from tlf.dialects import graph
from tlf.dialects.interfaces import TilingInterface, ViewInterface
from tlf.dialects.slice_views import is_stored_slice, is_unit_stride_slice
from tlf.dialects.target import Level
from tlf.dialects.types import byte_count, tensor_type
from tlf.planner.settings.search_budgets import PARTITION


def is_fusible_view(op: Operation, level: Level) -> bool:
    """
    Return `True` if an operation is a view of a stored tensor, or a slice of it that
    groups can read in place: element by element, or of a small tensor.
    """
    if isinstance(op, ViewInterface):
        return True
    if not is_view_or_slice(op):
        return False
    return is_small(op, level) or all(map(is_read_in_bounds, op.results[0].uses))


def is_small(op: Operation, level: Level) -> bool:
    """Return `True` if the level has room for several tensors of the operand's size."""
    return (
        byte_count(tensor_type(op.operands[0])) * PARTITION.resident_operands
        <= level.capacity
    )


def is_view_or_slice(op: Operation) -> bool:
    """
    Return `True` if an operation is a view of a stored tensor, or of a slice of it.
    """
    return isinstance(op, ViewInterface) or (
        is_unit_stride_slice(op) and is_stored_slice(op)
    )


def is_read_in_bounds(use: Use) -> bool:
    """
    Return `True` if a group reads no element of an operand twice, and none out of
    bounds.
    """
    group = use.operation
    if not isinstance(group, graph.GroupOp):
        return False
    return all(
        isinstance(inner.operation, TilingInterface)
        and _is_read_elementwise(inner.operation, inner.index)
        for inner in group.body.block.args[use.index].uses
    )


def _is_read_elementwise(op: TilingInterface, operand: int) -> bool:
    """
    Return `True` if `op` reads each axis of an operand in bounds, by one iterator at
    most, so that no windows overlap.
    """
    extents = [iterator.extent for iterator in op.iteration_domain()]
    shape = tensor_type(op.operands[operand]).get_shape()
    return all(
        access.width == 1
        and is_access_in_bounds(access, extents, extent)
        and sum(extents[iterator] > 1 for iterator, _ in access.terms) <= 1
        for access, extent in zip(op.indexing_maps()[operand] or (), shape, strict=True)
    )
