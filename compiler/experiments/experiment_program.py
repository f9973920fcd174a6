"""Experiment: input programs, read from files and verified."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from tlf.compiler.driver.diagnostics import locate_errors
from tlf.compiler.driver.driver import new_context
from tlf.compiler.driver.source import read_source
from tlf.compiler.driver.verified_parsing import parse_and_verify
from tlf.passes.plan.graph_relax_io_layouts import GraphRelaxIoLayoutsPass


@dataclass(frozen=True)
class Program:
    """
    File of a program on whole tensors, which `read_module` parses anew at each call.
    """

    file: str
    has_free_layouts: bool = False
    """True if the axis order of arguments and results without a layout is free."""

    @property
    def title(self) -> str:
        """Name of the program in tables."""
        return Path(self.file).stem

    @property
    def folder(self) -> Path:
        """Folder of the weights."""
        return Path(self.file).parent

    def read_module(self) -> ModuleOp:
        """Return the verified program. Raises `CompileError` if it is invalid."""
        context = new_context()
        module = parse_and_verify(context, read_source(self.file))
        if self.has_free_layouts:
            with locate_errors(module, "the layouts"):
                GraphRelaxIoLayoutsPass().apply(context, module)
        return module
