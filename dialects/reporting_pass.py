"""IR utility of the dialects: passes that know whether they changed a module."""

from __future__ import annotations

import abc

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass


class ReportingPass(ModulePass):
    """Pass that reports whether it changed the module, which saves a comparison."""

    @abc.abstractmethod
    def rewrite(self, ctx: Context, op: ModuleOp) -> bool:
        """Rewrite a module; return `True` if it changed."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.rewrite(ctx, op)
