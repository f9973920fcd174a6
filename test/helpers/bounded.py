"""Programs in text, and their bounds."""

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from tlf.analysis.bounds.lower_bounds import LowerBounds, lower_bounds_of
from tlf.compiler.driver.driver import new_context, parse
from tlf.compiler.driver.source import Source
from tlf.dialects.prepack import is_preparation
from tlf.dialects.target import TargetSpec


def function_of(module: ModuleOp) -> func.FuncOp:
    """The function that runs at every call."""
    (function,) = (
        op
        for op in module.ops
        if isinstance(op, func.FuncOp) and not is_preparation(op)
    )
    return function


def read(text: str) -> func.FuncOp:
    """The function of a program."""
    return function_of(parse(new_context(), Source(text, "program.mlir")))


def bounds_in(text: str, target: TargetSpec) -> LowerBounds:
    """The bounds of a program as it is written."""
    return lower_bounds_of(read(text), target)
