"""API: run-time checks of indices and divisors as extra results of a function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from tlf.compiler.backends.executables import Buffer
from tlf.compiler.driver.diagnostics import Diagnostic, Position, locate_errors
from tlf.compiler.driver.entry_function import isolate_entry_function
from tlf.dialects.module_paths import module_path_of
from tlf.dialects.value_checks import InsertedCheck, add_value_checks


class CheckedValueError(ValueError):
    """
    Error of a run: an index out of range or a divisor of 0, with the source location.
    """

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(str(diagnostic))
        self.diagnostic = diagnostic


@dataclass(frozen=True)
class OperandCheck:
    """
    Check of operand values of an operation by their extremes, which are results of the
    function; `minimum_index` is the index of the result with the minimum.
    """

    position: Position | None
    message_prefix: str
    minimum_allowed: int
    maximum_allowed: int
    minimum_index: int

    def check_extremes(self, minimum: Buffer, maximum: Buffer) -> None:
        """
        Raise `CheckedValueError` if `minimum` or `maximum`, an array of one element
        each, is out of the allowed range.
        """
        for value in (int(minimum.item()), int(maximum.item())):
            if not self.minimum_allowed <= value <= self.maximum_allowed:
                message = f"{self.message_prefix}, got {value}"
                raise CheckedValueError(Diagnostic(self.position, message))


def _make_operand_check(inserted_check: InsertedCheck) -> OperandCheck:
    """
    Return a check whose message names the operation, its module path and the limits.
    """
    op, check = inserted_check.op, inserted_check.check
    part = module_path_of(op)
    where = f" (in `{part}`)" if part else ""
    text = f"{op.name}{where}: expected {check.expected}"
    return OperandCheck(
        Position.from_operation(op),
        text,
        check.low,
        check.high,
        inserted_check.minimum_result_index,
    )


@dataclass(frozen=True)
class RuntimeChecks:
    """
    Run-time checks of a function, whose operand extremes it returns after its own
    results.
    """

    own_result_count: int
    """Number of results that are not checks."""
    checks: Sequence[OperandCheck]

    @staticmethod
    def insert_into(function: func.FuncOp) -> RuntimeChecks:
        """
        Append the extremes of checked operands to the results of `function`, in place,
        and return the checks; unused functions of its module are erased.
        """
        count = len(function.function_type.outputs)
        if isinstance(module := function.parent_op(), ModuleOp):
            isolate_entry_function(module, function)
        with locate_errors(function, "the checks of values"):
            inserted = add_value_checks(function)
        checks = [_make_operand_check(each) for each in inserted]
        return RuntimeChecks(count, checks)

    def verify_and_strip(self, results: Mapping[str, Buffer]) -> dict[str, Buffer]:
        """
        Return the results that are not checks, by name. Raises `CheckedValueError` for
        violated checks.
        """
        values = list(results.values())
        for each in self.checks:
            each.check_extremes(*values[each.minimum_index : each.minimum_index + 2])
        return dict(list(results.items())[: self.own_result_count])
