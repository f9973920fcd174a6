"""Pass `graph-relax-io-layouts`: declares layouts of arguments and results as free."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from tlf.dialects.io_layout_attributes import (
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
    Allow any layout for arguments and results of functions without a declared layout.

    Arguments and results without a declared layout get `tlf.layout = "any"`, so that
    `graph-assign-layouts` may select one. Callers must then query the layout of the
    program, as the runtime does.
    """

    name = "graph-relax-io-layouts"

    of: tuple[str, ...] = (ARGUMENTS, RESULTS)
    """`arguments`, `results`, or both."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        allowed = ARGUMENTS, RESULTS
        if unknown := [each for each in self.of if each not in allowed]:
            raise PassFailedException(
                f"expected layouts of {' or '.join(allowed)}, got {unknown[0]}"
            )
        for function in op.walk():
            if isinstance(function, func.FuncOp):
                self._relax_layouts_of_function(function)

    def _relax_layouts_of_function(self, function: func.FuncOp) -> None:
        """Set undeclared argument and result layouts to `any`, as `of` selects."""
        if ARGUMENTS in self.of:
            declared = get_argument_layouts(function)
            undeclared = (
                index for index, order in enumerate(declared) if order is None
            )
            set_argument_layouts(function, dict.fromkeys(undeclared, ANY_LAYOUT))
        if RESULTS in self.of:
            declared = get_result_layouts(function)
            undeclared = (
                index for index, order in enumerate(declared) if order is None
            )
            set_result_layouts(function, dict.fromkeys(undeclared, ANY_LAYOUT))
