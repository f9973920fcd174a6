"""Programs that are read and verified."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from tlf.compiler.driver.diagnostics import errors_located
from tlf.compiler.driver.driver import parse
from tlf.compiler.driver.pass_manager import verify
from tlf.compiler.driver.source import Source


def parse_verified(context: Context, source: Source) -> ModuleOp:
    """Read a module and verify it. Raises `CompileError` for a wrong one."""
    with errors_located(None, "the parser"):
        module = parse(context, source)
    with errors_located(module, "the verifier"):
        verify(module)
    return module
