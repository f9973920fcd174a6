"""The function of a program that a tool runs or explains."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from tlf.dialects.entry import entry_point
from tlf.tools.diagnostics import errors_located


def entry_of(module: ModuleOp, name: str | None) -> func.FuncOp:
    """
    The function called `name`, or the only one, see `entry_point`. Raises
    `CompileError`, which names the file, where there is no such function.
    """
    with errors_located(module, "the entry point"):
        return entry_point(module, name)
