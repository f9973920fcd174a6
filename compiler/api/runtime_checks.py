"""Run-time checks of indices and divisors as extra results of a function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from tlf.compiler.backends.executables import Buffer
from tlf.compiler.driver.diagnostics import Diagnostic, Position, locate_errors
from tlf.compiler.driver.entry_function import isolate_entry
from tlf.dialects.module_paths import module_path_of
from tlf.dialects.value_checks import InsertedCheck, add_value_checks


class CheckedValueError(ValueError):
    """An index out of range, or a divisor that is 0, with where it was met."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(str(diagnostic))
        self.diagnostic = diagnostic


@dataclass(frozen=True)
class OperandCheck:
    """Check of the operands of an operation against the last results of a function."""

    position: Position | None
    text: str
    low: int
    high: int
    first: int

    def check_extremes(self, least: Buffer, most: Buffer) -> None:
        """Raise `CheckedValueError` for extremes that are out of range."""
        for found in (int(least.item()), int(most.item())):
            if not self.low <= found <= self.high:
                message = f"{self.text}, got {found}"
                raise CheckedValueError(Diagnostic(self.position, message))


def _make_check(added: InsertedCheck) -> OperandCheck:
    op, check = added.op, added.check
    part = module_path_of(op)
    where = f" (in `{part}`)" if part else ""
    text = f"{op.name}{where}: expected {check.expected}"
    return OperandCheck(Position.of(op), text, check.low, check.high, added.first)


@dataclass(frozen=True)
class RuntimeChecks:
    """The checks that a function returns behind its own results."""

    result_count: int
    """Number of results that are not checks."""
    checks: Sequence[OperandCheck]

    @staticmethod
    def insert_into(function: func.FuncOp) -> RuntimeChecks:
        """Insert checks into a function, as further results, and return them."""
        count = len(function.function_type.outputs)
        if isinstance(module := function.parent_op(), ModuleOp):
            isolate_entry(module, function)
        with locate_errors(function, "the checks of values"):
            found = add_value_checks(function)
        checks = [_make_check(each) for each in found]
        return RuntimeChecks(count, checks)

    def verify_and_strip(self, results: Mapping[str, Buffer]) -> dict[str, Buffer]:
        """
        The results that are no checks, by their names. Raises `CheckedValueError` for
        what does not hold.
        """
        values = list(results.values())
        for each in self.checks:
            each.check_extremes(*values[each.first : each.first + 2])
        return dict(list(results.items())[: self.result_count])
