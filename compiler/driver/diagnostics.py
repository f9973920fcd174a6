"""
Driver: diagnostics on one line, `file:line:col: error: message`, made from exceptions.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import TracebackType
from typing import NoReturn

from xdsl.ir import Operation
from xdsl.utils.exceptions import DiagnosticException, ParseError, VerifyException

from tlf.dialects.module_paths import module_path_of
from tlf.dialects.source_locations import nearest_location_of

OPEN_ENDED = re.compile(
    r"Operation (\S+) terminates block in single-block region but is not a terminator"
)
TERMINATOR = r"expected a last operation such as func.return in the block, got \1"
"""Replacement for xDSL's message about a block without a terminator."""


@dataclass(frozen=True)
class Position:
    """A position in a source file; lines and columns count from 1."""

    file: str
    line: int
    column: int

    @classmethod
    def from_operation(cls, op: Operation) -> Position | None:
        """
        Return the source location of `op`, or of the closest enclosing operation, if
        known.
        """
        if (location := nearest_location_of(op)) is None:
            return None
        return cls(location.filename.data, location.line.data, location.column.data)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


def _has_location(op: Operation) -> bool:
    """Return `True` if the origin of an operation is known."""
    return Position.from_operation(op) is not None or module_path_of(op) is not None


@dataclass(frozen=True)
class Diagnostic:
    """One error, with its position if known."""

    position: Position | None
    message: str

    def __str__(self) -> str:
        where = "" if self.position is None else f"{self.position}: "
        return f"{where}error: {self.message}"


_OP = "_tlf_op"


@contextmanager
def attach_operations_to_errors() -> Generator[None]:
    """
    Attach the operation to the exception in `Operation.emit_error`, instead of printing
    the module into the message. Verifiers, pattern walkers and passes all report errors
    through it.
    """
    original = Operation.emit_error
    setattr(Operation, "emit_error", _attach_operation)
    try:
        yield
    finally:
        setattr(Operation, "emit_error", original)


def _attach_operation(
    self: Operation, message: str, underlying_error: Exception
) -> NoReturn:
    if not hasattr(underlying_error, _OP):
        setattr(underlying_error, _OP, self)
    raise underlying_error


def diagnose_error(
    error: BaseException, fallback_op: Operation | None = None
) -> Diagnostic:
    """
    Return `error` on one line. Its position is that of the operation it was raised for,
    else of the `op` or `self` of the innermost function, else of `fallback_op`.
    """
    if isinstance(error, ParseError):
        at = error.span.get_location()
        return Diagnostic(Position(at.file, at.line, at.col), _join_lines(error.msg))
    op = getattr(error, _OP, None) or getattr(error, "op", None)
    message = (
        OPEN_ENDED.sub(TERMINATOR, _join_lines(str(error))) or type(error).__name__
    )
    if isinstance(error, VerifyException) and isinstance(op, Operation):
        prefixes = (op.name, f"Operation {op.name}")
        message = message if message.startswith(prefixes) else f"{op.name}: {message}"
    for candidate in (op, _innermost_op_in_traceback(error.__traceback__), fallback_op):
        if isinstance(candidate, Operation) and _has_location(candidate):
            part = module_path_of(candidate)
            where = f" (in `{part}`)" if part and part not in message else ""
            return Diagnostic(Position.from_operation(candidate), f"{message}{where}")
    return Diagnostic(None, message)


def _innermost_op_in_traceback(traceback: TracebackType | None) -> Operation | None:
    """
    Return the `op` or `self` of the innermost function in which that is an operation.
    """
    innermost = None
    while traceback is not None:
        for name in ("op", "self"):
            op = traceback.tb_frame.f_locals.get(name)
            if isinstance(op, Operation) and _has_location(op):
                innermost = op
        traceback = traceback.tb_next
    return innermost


def _join_lines(message: str) -> str:
    return " ".join(message.split())


class CompileError(Exception):
    """A program that cannot be compiled, with the diagnostic."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(str(diagnostic))
        self.diagnostic = diagnostic


@contextmanager
def locate_errors(fallback_op: Operation | None, step: str) -> Generator[None]:
    """
    Convert errors raised inside to a `CompileError`. `fallback_op` is the position of
    an error without an operation, `step` names the step that failed unexpectedly.
    """
    try:
        with attach_operations_to_errors():
            yield
    except (DiagnosticException, ParseError) as error:
        raise CompileError(diagnose_error(error, fallback_op)) from error
    except CompileError:
        raise
    except Exception as error:
        diagnostic = diagnose_error(error, fallback_op)
        message = (
            f"internal error in {step}: {type(error).__name__}: {diagnostic.message}"
        )
        raise CompileError(replace(diagnostic, message=message)) from error
