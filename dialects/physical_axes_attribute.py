"""
Attribute `tlf.physical_axes` of arguments and results whose types have their axes in
memory order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    TensorType,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.argument_attributes import set_attribute_by_index
from tlf.dialects.axis_order_attributes import (
    make_axis_order_attribute,
    parse_axis_order,
    rank_of_type,
)
from tlf.dialects.types import AnyTensor
from tlf.support.affine.axis_orders import Order, inverse_order

PHYSICAL_AXES = "tlf.physical_axes"
"""
Attribute of an argument or result whose type has the physical shape, which is row-major
in memory: dimension `i` of the type is axis `axes[i]` of the tensor that a caller
passes or gets, such as `array<i64: 0, 2, 3, 1>` for channels-last images.
"""


def get_argument_axes(function: func.FuncOp) -> list[Order | None]:
    """
    Return the physical axes of each argument, `None` without the attribute. After
    bufferization, these include the arguments that hold results.
    """
    types = function.function_type.inputs.data
    return _read_axes(function, types, function.arg_attrs, "argument")


def get_result_axes(function: func.FuncOp) -> list[Order | None]:
    """Return the physical axes of each result, `None` without the attribute."""
    types = function.function_type.outputs.data
    return _read_axes(function, types, function.res_attrs, "result")


def set_argument_axes(function: func.FuncOp, axes: Mapping[int, Order]) -> None:
    """Set the physical axes of arguments, by index."""
    count = len(function.function_type.inputs)
    function.arg_attrs = set_attribute_by_index(
        function.arg_attrs, count, PHYSICAL_AXES, _to_attributes(axes)
    )


def set_result_axes(function: func.FuncOp, axes: Mapping[int, Order]) -> None:
    """Set the physical axes of results, by index."""
    count = len(function.function_type.outputs)
    function.res_attrs = set_attribute_by_index(
        function.res_attrs, count, PHYSICAL_AXES, _to_attributes(axes)
    )


def logical_type_of(type_: AnyTensor, axes: Order | None) -> AnyTensor:
    """Return the type of the tensor that a caller passes or gets."""
    if axes is None:
        return type_
    shape = type_.get_shape()
    logical = [shape[position] for position in inverse_order(axes)]
    return TensorType(type_.element_type, logical)


def _to_attributes(axes: Mapping[int, Order]) -> dict[int, Attribute]:
    return {index: make_axis_order_attribute(each) for index, each in axes.items()}


def _read_axes(
    function: func.FuncOp,
    types: Sequence[Attribute],
    attributes: ArrayAttr[DictionaryAttr] | None,
    value_kind: str,
) -> list[Order | None]:
    """
    Return the attribute of each value. Raises `VerifyException` unless it is a
    permutation of the dimensions.
    """
    axes: list[Order | None] = [None] * len(types)
    for index, table in enumerate(attributes or ()):
        if (attribute := table.data.get(PHYSICAL_AXES)) is None:
            continue
        rank = rank_of_type(types[index])
        axes[index] = parse_axis_order(attribute, rank)
        if axes[index] is None:
            message = (
                f"expected `{PHYSICAL_AXES}` of {value_kind} {index} to order {rank} "
                f"axes, each once, as in array<i64: 0, 2, 3, 1>, got {attribute}"
            )
            function.emit_error(message, VerifyException(message))
    return axes
