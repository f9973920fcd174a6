"""Loading of target descriptions, with errors as diagnostics."""

from __future__ import annotations

from collections.abc import Sequence

from tlf.compiler.driver.diagnostics import CompileError, Diagnostic, Position
from tlf.dialects.target import DescriptionError, TargetSpec, load_target_spec


def load_target(name: str, others: Sequence[str] = ()) -> TargetSpec:
    """
    Read a description by its name or file; `others` are names that are known beside.
    Raises `CompileError` for what is wrong in a file, and `DiagnosticException`.
    """
    try:
        return load_target_spec(name, others)
    except DescriptionError as error:
        at = Position(error.file, error.line, error.column)
        raise CompileError(Diagnostic(at, error.message)) from error
