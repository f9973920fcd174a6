"""Driver: parsing and verification of a module in one step."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from tlf.compiler.driver.diagnostics import locate_errors
from tlf.compiler.driver.driver import parse_module
from tlf.compiler.driver.module_verifier import verify_module
from tlf.compiler.driver.source import Source
from tlf.support.progress import report_step


def parse_and_verify(context: Context, source: Source) -> ModuleOp:
    """Parse a module and verify it. Raises `CompileError` if it is invalid."""
    with report_step("parse"), locate_errors(None, "the parser"):
        module = parse_module(context, source)
    with report_step("verify"), locate_errors(module, "the verifier"):
        verify_module(module)
    return module
