"""Reference interpretation: the fraction of a function that is done, for a display."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import func
from xdsl.interpreter import Interpreter, PythonValues
from xdsl.ir import Operation

from tlf.support.progress import fraction_reporter


class InterpretationProgress(Interpreter.Listener):
    """
    Listener that reports the fraction of the operations of a function that are done;
    those in their regions do not count.
    """

    def __init__(
        self, function: func.FuncOp, report: Callable[[float], object]
    ) -> None:
        operations = [op for block in function.body.blocks for op in block.ops]
        self._fractions = {op: n / len(operations) for n, op in enumerate(operations)}
        self._report = report

    def will_interpret_op(self, op: Operation, args: PythonValues) -> None:
        fraction = self._fractions.get(op)
        if fraction is not None:
            self._report(fraction)


def progress_listeners_of(function: func.FuncOp) -> tuple[Interpreter.Listener, ...]:
    """Return a listener for a function if someone collects the progress, else none."""
    report = fraction_reporter()
    return () if report is None else (InterpretationProgress(function, report),)
