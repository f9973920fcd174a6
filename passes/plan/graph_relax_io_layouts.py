"""Pass `graph-relax-io-layouts`: declares layouts of arguments and results as free."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from tlf.dialects.io_layouts import (
    ANY_LAYOUT,
    get_argument_layouts,
    get_result_layouts,
    set_argument_layouts,
    set_result_layouts,
)

ARGUMENTS, RESULTS = "arguments", "results"


@dataclass(frozen=True)
class GraphRelaxIoLayoutsPass(ModulePass):
    """
    Let the arguments and results of functions lie in any order in memory.

    Those that declare no layout get `tlf.layout = "any"`, so that
    `graph-assign-layouts` may choose one. Whoever calls the program then has to ask it
    for the order, as the runtime does.
    """

    name = "graph-relax-io-layouts"

    of: tuple[str, ...] = (ARGUMENTS, RESULTS)
    """`arguments`, `results`, or both."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        known = ARGUMENTS, RESULTS
        if unknown := [each for each in self.of if each not in known]:
            raise PassFailedException(
                f"expected layouts of {' or '.join(known)}, got {unknown[0]}"
            )
        for function in op.walk():
            if isinstance(function, func.FuncOp):
                self._relax_layouts(function)

    def _relax_layouts(self, function: func.FuncOp) -> None:
        if ARGUMENTS in self.of:
            declared = get_argument_layouts(function)
            open_ = (at for at, order in enumerate(declared) if order is None)
            set_argument_layouts(function, dict.fromkeys(open_, ANY_LAYOUT))
        if RESULTS in self.of:
            declared = get_result_layouts(function)
            open_ = (at for at, order in enumerate(declared) if order is None)
            set_result_layouts(function, dict.fromkeys(open_, ANY_LAYOUT))
