"""Insertion of value checks: minima and maxima as extra results of a function."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import DiagnosticException

from tlf.dialects import graph
from tlf.dialects.graph.reduction import ReduceKind
from tlf.dialects.types import tensor_type
from tlf.dialects.value_check_interface import ValueCheck, ValueCheckInterface

EXTREME_KINDS = (ReduceKind.MIN, ReduceKind.MAX)


@dataclass(frozen=True)
class InsertedCheck:
    """A check whose extremes a function returns."""

    op: Operation
    """The operation that was checked."""
    check: ValueCheck
    first: int
    """The result that is the least number; the greatest one follows."""


def add_value_checks(function: func.FuncOp) -> list[InsertedCheck]:
    """
    Return the extremes of checked operands behind the other results of a function. What
    is known to hold is not checked. Raises `DiagnosticException` for operations inside
    of others.
    """
    last = function.body.block.last_op
    if not isinstance(last, func.ReturnOp):
        return []
    values = list(last.operands)
    found: list[InsertedCheck] = []
    for op in list(function.walk()):
        for check in _build_checks(op, last):
            if not _is_statically_satisfied(check):
                found.append(InsertedCheck(op, check, len(values)))
                values += _reduce_extremes(check.values, last)
    last.operands = values
    inputs = function.function_type.inputs.data
    types = [value.type for value in values]
    function.function_type = FunctionType.from_lists(inputs, types)
    return found


def _build_checks(op: Operation, last: func.ReturnOp) -> Iterator[ValueCheck]:
    """Yield the value checks of an operation, built before the end of the function."""
    if not isinstance(op, ValueCheckInterface):
        return
    if op.parent is not last.parent:
        message = f"{op.name}: cannot check values inside of another operation"
        op.emit_error(message, DiagnosticException(message))
    yield from op.build_value_checks(Builder(InsertPoint.before(last)))


def _is_statically_satisfied(check: ValueCheck) -> bool:
    """Return `True` if constants are known to pass a check."""
    owner = check.values.owner
    if not isinstance(owner, graph.ConstantOp | graph.IotaOp):
        return False
    (array,) = owner.compute_reference()
    return check.low <= int(array.min()) and int(array.max()) <= check.high


def _reduce_extremes(values: SSAValue, last: func.ReturnOp) -> list[SSAValue]:
    """The least and the greatest of some numbers."""
    builder = Builder(InsertPoint.before(last))
    if not (rank := tensor_type(values).get_num_dims()):
        values = builder.insert(graph.ReshapeOp(values, (1,))).result
        rank = 1
    found = [
        builder.insert(graph.ReduceOp(values, kind, list(range(rank)))).result
        for kind in EXTREME_KINDS
    ]
    for value in found:
        value.name_hint = "checked"
    return list(found)
