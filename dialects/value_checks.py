"""
IR utility of the dialects: insert value checks, which are minima and maxima as extra
function results.
"""

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
    """
    Value check of an operation, with the position of the checked extremes among the
    results of the function.
    """

    op: Operation
    """Checked operation."""
    check: ValueCheck
    minimum_result_index: int
    """Index of the result with the minimum; the maximum follows."""


def add_value_checks(function: func.FuncOp) -> list[InsertedCheck]:
    """
    Append the extremes of checked operands to the results of a function, and return the
    checks. Checks of constants that pass are omitted. Raises `DiagnosticException` for
    operations nested in others.
    """
    last = function.body.block.last_op
    if not isinstance(last, func.ReturnOp):
        return []
    values = list(last.operands)
    checks: list[InsertedCheck] = []
    for op in list(function.walk()):
        for check in _build_value_checks_at_end(op, last):
            if not _is_statically_satisfied_check(check):
                checks.append(InsertedCheck(op, check, len(values)))
                values += _build_minimum_and_maximum(check.values, last)
    last.operands = values
    inputs = function.function_type.inputs.data
    types = [value.type for value in values]
    function.function_type = FunctionType.from_lists(inputs, types)
    return checks


def _build_value_checks_at_end(
    op: Operation, terminator: func.ReturnOp
) -> Iterator[ValueCheck]:
    """Yield the value checks of an operation, built in front of the terminator."""
    if not isinstance(op, ValueCheckInterface):
        return
    if op.parent is not terminator.parent:
        message = f"{op.name}: cannot check values inside of another operation"
        op.emit_error(message, DiagnosticException(message))
    yield from op.build_value_checks(Builder(InsertPoint.before(terminator)))


def _is_statically_satisfied_check(check: ValueCheck) -> bool:
    """
    Return `True` if the checked values are constant and in the range of the check.
    """
    owner = check.values.owner
    if not isinstance(owner, graph.ConstantOp | graph.IotaOp):
        return False
    (array,) = owner.compute_reference()
    return check.low <= int(array.min()) and int(array.max()) <= check.high


def _build_minimum_and_maximum(
    values: SSAValue, terminator: func.ReturnOp
) -> list[SSAValue]:
    """Build the minimum and the maximum of a tensor."""
    builder = Builder(InsertPoint.before(terminator))
    if not (rank := tensor_type(values).get_num_dims()):
        values = builder.insert(graph.ReshapeOp(values, (1,))).result
        rank = 1
    extremes = [
        builder.insert(graph.ReduceOp(values, kind, list(range(rank)))).result
        for kind in EXTREME_KINDS
    ]
    for value in extremes:
        value.name_hint = "checked"
    return list(extremes)
