"""Attribute `tlf.parameter` of arguments that are weights, constant across calls."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, UnitAttr
from xdsl.ir import BlockArgument, SSAValue

PARAMETER = "tlf.parameter"
"""
Attribute of an argument that holds a weight: values that depend on weights alone may be
computed once, before the first call.
"""


def mark_parameters(function: func.FuncOp, argument_indices: Iterable[int]) -> None:
    """Set the attribute `tlf.parameter` of the arguments at `argument_indices`."""
    attributes = function.arg_attrs
    if attributes is None:
        attributes = ArrayAttr([DictionaryAttr({})] * len(function.body.block.args))
    tables = [dict(each.data) for each in attributes]
    for position in argument_indices:
        tables[position][PARAMETER] = UnitAttr()
    function.arg_attrs = ArrayAttr([DictionaryAttr(each) for each in tables])


def is_parameter(value: SSAValue) -> bool:
    """Return `True` if a value is an argument with the attribute `tlf.parameter`."""
    if not isinstance(value, BlockArgument):
        return False
    function = value.owner.parent_op()
    if not isinstance(function, func.FuncOp) or function.arg_attrs is None:
        return False
    return PARAMETER in function.arg_attrs.data[value.index].data
