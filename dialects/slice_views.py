"""
IR utility of the dialects: queries for movement operations that are views (strided
slices, merged axes).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import Operation, SSAValue

from tlf.dialects.encoding_attribute import level_of
from tlf.dialects.interfaces import (
    ConstantInterface,
    MovementInterface,
    TilingInterface,
    ViewInterface,
)
from tlf.dialects.types import tensor_type
from tlf.support.affine.index_access import Accesses


def is_strided_slice(op: Operation) -> bool:
    """
    Return `True` if a movement is a strided slice: each axis of its result is a range
    of the same axis of its operand, with a non-negative offset and a positive step, and
    a unit step along the last axis. A strided view of the operand's buffer then
    represents the result. A movement that keeps all elements is a copy, not a slice.
    """
    if not isinstance(op, MovementInterface) or op.padding_value(0) is not None:
        return False
    rank = tensor_type(op.results[0]).get_num_dims()
    if op.operands[0].type == op.results[0].type:
        return False
    accesses = op.indexing_maps()[0] or ()
    written = [access.terms for access in op.result_indexing_maps()[0]]
    read = [access.terms for access in accesses]
    if written != [((axis, 1),) for axis in range(rank)] or len(read) != rank:
        return False
    steps = [dict(terms).get(axis, 0) for axis, terms in enumerate(read)]
    is_plain = all(len(terms) == 1 for terms in read)
    offsets = [access.offset for access in accesses]
    widths = {access.width for access in accesses}
    is_inside = all(step > 0 for step in steps) and all(each >= 0 for each in offsets)
    return rank > 0 and is_plain and is_inside and widths == {1} and steps[-1] == 1


def is_unit_stride_slice(op: Operation) -> bool:
    """
    Return `True` if a movement is a slice with unit steps, so that a tile of its result
    is a tile of its operand.
    """
    return is_strided_slice(op) and all(
        access.terms[0][1] == 1 for access in _operand_accesses(op)
    )


def is_stored_slice(op: Operation) -> bool:
    """
    Return `True` if a movement slices a tensor that is stored regardless of the slice:
    an argument, a constant, or a value with other users. The slice then needs neither a
    move nor a buffer. Strides must also be able to express all views of the slice.
    """
    if not is_strided_slice(op) or _is_in_inner_level(op):
        return False
    (operand,) = op.operands
    if not _is_stored_value(operand):
        return False
    steps = [access.terms[0][1] for access in _operand_accesses(op)]
    strides = [
        step * stride
        for step, stride in zip(steps, _strides_of_stored_value(operand), strict=True)
    ]
    return _can_strides_express_views(op.results[0], strides)


def is_axis_merge(op: Operation) -> bool:
    """
    Return `True` if a view only merges axes of its operand, so that the operand can be
    computed directly in the buffer of the result, with any strides.
    """
    if not isinstance(op, ViewInterface):
        return False
    shapes = (tensor_type(value).get_shape() for value in (*op.results, *op.operands))
    return _can_view_padded_buffer(*shapes)


def is_axis_split(op: Operation) -> bool:
    """
    Return `True` if a view only splits axes of its operand, so that it is a view of the
    operand in any buffer, with any strides.
    """
    if not isinstance(op, ViewInterface):
        return False
    shapes = (tensor_type(value).get_shape() for value in (*op.operands, *op.results))
    return _can_view_padded_buffer(*shapes)


def _can_view_padded_buffer(shape: Sequence[int], view_shape: Sequence[int]) -> bool:
    """Return `True` if strides express a view whatever lies between the elements."""
    padded_strides = row_major_strides([extent + 1 for extent in shape])
    return strides_of_reshaped_view(shape, padded_strides, view_shape) is not None


def _is_stored_value(value: SSAValue) -> bool:
    """
    Return `True` unless a value is an operation's result with a single use, possibly
    through views.
    """
    while isinstance(value.owner, ViewInterface) and value.uses.get_length() == 1:
        value = value.owner.operands[0]
    if isinstance(value.owner, ConstantInterface):
        return True
    return value.uses.get_length() > 1 or not isinstance(value.owner, TilingInterface)


def _is_in_inner_level(op: Operation) -> bool:
    """Return `True` if an operation works on a tile in an inner memory level."""
    return level_of(op.results[0].type) is not None


def _operand_accesses(op: Operation) -> Accesses:
    assert isinstance(op, MovementInterface)
    return op.indexing_maps()[0] or ()


def _strides_of_stored_value(value: SSAValue) -> Sequence[int]:
    """
    Return the stride of each axis of a value in the buffer that stores it, in elements;
    stored slices have strides in the buffer that they slice.
    """
    owner, shape = value.owner, tensor_type(value).get_shape()
    if isinstance(owner, ViewInterface):
        (operand,) = owner.operands
        operand_shape = tensor_type(operand).get_shape()
        reshaped = strides_of_reshaped_view(
            operand_shape, _strides_of_stored_value(operand), shape
        )
        return reshaped or row_major_strides(shape)
    if isinstance(owner, Operation) and is_stored_slice(owner):
        steps = [access.terms[0][1] for access in _operand_accesses(owner)]
        strides = _strides_of_stored_value(owner.operands[0])
        return [step * stride for step, stride in zip(steps, strides, strict=True)]
    return row_major_strides(shape)


def _can_strides_express_views(value: SSAValue, strides: Sequence[int]) -> bool:
    """Return `True` if strides can express all views of a strided value."""
    shape = tensor_type(value).get_shape()
    for use in value.uses:
        if isinstance(view := use.operation, ViewInterface):
            result = view.results[0]
            view_shape = tensor_type(result).get_shape()
            view_strides = strides_of_reshaped_view(shape, strides, view_shape)
            if view_strides is None or not _can_strides_express_views(
                result, view_strides
            ):
                return False
    return True


def row_major_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a contiguous tensor, in elements."""
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


def strides_of_reshaped_view(
    old_shape: Sequence[int], strides: Sequence[int], new_shape: Sequence[int]
) -> tuple[int, ...] | None:
    """
    Return the strides that view elements of shape `old_shape` in shape `new_shape`, in
    row-major order; `None` if strides cannot express the view.
    """
    runs = _merge_contiguous_axes(old_shape, strides)
    result: list[int] = []
    extent, stride = runs.pop() if runs else (1, 1)
    for size in reversed(new_shape):
        if size == 1:
            result.append(stride)
            continue
        if extent == 1 and runs:
            extent, stride = runs.pop()
        if extent % size:
            return None
        result.append(stride)
        extent, stride = extent // size, stride * size
    return tuple(reversed(result))


def _merge_contiguous_axes(
    shape: Sequence[int], strides: Sequence[int]
) -> list[tuple[int, int]]:
    """
    Return the extents and strides of axes, with adjacent axes merged if they are
    contiguous.
    """
    runs: list[tuple[int, int]] = []
    for extent, stride in zip(shape, strides, strict=True):
        if extent == 1:
            continue
        if runs and runs[-1][1] == extent * stride:
            runs[-1] = (runs[-1][0] * extent, stride)
        else:
            runs.append((extent, stride))
    return runs
