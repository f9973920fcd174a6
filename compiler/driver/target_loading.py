"""Driver: loading of target descriptions, with errors as diagnostics."""

from __future__ import annotations

from collections.abc import Sequence

from tlf.compiler.driver.diagnostics import CompileError, Diagnostic, Position
from tlf.dialects.target import DescriptionError, TargetSpec, load_target_spec


def load_target(name: str, other_names: Sequence[str] = ()) -> TargetSpec:
    """
    Read a target description by its name or file; `other_names` are further valid
    names. Raises `CompileError` for errors in a file, and `DiagnosticException`
    otherwise.
    """
    try:
        return load_target_spec(name, other_names)
    except DescriptionError as error:
        at = Position(error.file, error.line, error.column)
        raise CompileError(Diagnostic(at, error.message)) from error
