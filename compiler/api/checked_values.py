"""Programs that tell whether operands are as their operations expect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from tlf.compiler.backends.executables import Buffer
from tlf.compiler.driver.diagnostics import Diagnostic, Position, errors_located
from tlf.compiler.driver.entry import isolate
from tlf.dialects.parts import part_of
from tlf.dialects.value_checks import AddedCheck, add_value_checks


class CheckedValueError(ValueError):
    """An index out of range, or a divisor that is 0, with where it was met."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(str(diagnostic))
        self.diagnostic = diagnostic


@dataclass(frozen=True)
class CheckedValues:
    """Check of the operands of an operation against the last results of a function."""

    position: Position | None
    text: str
    low: int
    high: int
    first: int

    def check(self, least: Buffer, most: Buffer) -> None:
        """Raise `CheckedValueError` for extremes that are out of range."""
        for found in (int(least.item()), int(most.item())):
            if not self.low <= found <= self.high:
                message = f"{self.text}, got {found}"
                raise CheckedValueError(Diagnostic(self.position, message))


def _described(added: AddedCheck) -> CheckedValues:
    op, check = added.op, added.check
    part = part_of(op)
    where = f" (in `{part}`)" if part else ""
    text = f"{op.name}{where}: expected {check.expected}"
    return CheckedValues(Position.of(op), text, check.low, check.high, added.first)


@dataclass(frozen=True)
class CheckedResults:
    """The results of a function of which the last are checks."""

    count: int
    """Number of results that are not checks."""
    checks: Sequence[CheckedValues]

    @staticmethod
    def added(function: func.FuncOp) -> CheckedResults:
        """Those of a function, which returns them from now on."""
        count = len(function.function_type.outputs)
        if isinstance(module := function.parent_op(), ModuleOp):
            isolate(module, function)
        with errors_located(function, "the checks of values"):
            found = add_value_checks(function)
        checks = [_described(each) for each in found]
        return CheckedResults(count, checks)

    def without_checks(self, results: Mapping[str, Buffer]) -> dict[str, Buffer]:
        """
        The results that are no checks, by their names. Raises `CheckedValueError` for
        what does not hold.
        """
        values = list(results.values())
        for each in self.checks:
            each.check(*values[each.first : each.first + 2])
        return dict(list(results.items())[: self.count])
