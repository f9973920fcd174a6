"""
Analysis of masks that are computed from positions alone, so that they bound the loops
of masked reductions.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import Operation, SSAValue

from tlf.analysis.tiling.tile_conditions import (
    RANGE_RULES,
    affine_arguments_of,
    is_plain_movement,
)
from tlf.dialects import graph
from tlf.dialects.graph.affine_tensors import KnownTensors, affine_tensor_of
from tlf.dialects.graph.splat_tensors import splat_scalar_of
from tlf.dialects.graph.tensor_types import INTEGERS, element_type_of_value
from tlf.dialects.target import TargetSpec

MAX_DEPTH = 32
"""Maximum number of operations between a mask and its positions."""


def mask_filter_for(target: TargetSpec | None) -> Callable[[SSAValue], bool]:
    """Return the test for the masks that bound the loops of a target."""
    if target is None or not target.has_variable_trips:
        return lambda _: False
    return is_position_mask


def is_position_mask(value: SSAValue) -> bool:
    """
    Return `True` if a tensor of booleans is computed by comparisons of positions, or if
    such a mask selects one of two constants.
    """
    return isinstance(value.type, TensorType) and _is_mask(value, {}, MAX_DEPTH)


def key_of_positions(operations: Sequence[Operation]) -> Hashable:
    """
    Return a key that is equal for groups of equal operations whose masks compare equal
    positions.
    """
    if not any(isinstance(op, graph.CompareOp) for op in operations):
        return None
    members, known = set(operations), affine_arguments_of(operations[0])
    return tuple(
        affine_tensor_of(value, known)
        for op in operations
        if isinstance(op, graph.CompareOp) or type(op) in RANGE_RULES
        for value in op.operands
        if value.owner not in members and element_type_of_value(value) in INTEGERS
    )


def _is_mask(value: SSAValue, known: KnownTensors, depth: int) -> bool:
    op = value.owner
    if not isinstance(op, Operation) or not depth:
        return False
    match op:
        case graph.SelectOp():
            splats = [splat_scalar_of(each) for each in (op.lhs, op.rhs)]
            return None not in splats and _is_mask(op.condition, known, depth - 1)
        case graph.CompareOp():
            return all(_is_position(each, known, depth - 1) for each in op.operands)
        case graph.NotOp() | graph.AndOp() | graph.OrOp() if _is_boolean(value):
            return all(_is_mask(each, known, depth - 1) for each in op.operands)
        case _ if is_plain_movement(op):
            return _is_mask(op.operands[0], known, depth - 1)
        case _:
            return False


def _is_boolean(value: SSAValue) -> bool:
    return element_type_of_value(value) == i1


def _is_position(value: SSAValue, known: KnownTensors, depth: int) -> bool:
    """Return `True` if integers are computed from positions and constants alone."""
    if affine_tensor_of(value, known) is not None:
        return True
    op = value.owner
    if not isinstance(op, Operation) or not depth:
        return False
    if type(op) not in RANGE_RULES and not is_plain_movement(op):
        return False
    return all(_is_position(each, known, depth - 1) for each in op.operands)
