"""Lower bounds of programs given as text."""

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from tlf.analysis.bounds.lower_bounds import LowerBounds, lower_bounds_of
from tlf.compiler.driver.driver import new_context, parse_module
from tlf.compiler.driver.source import Source
from tlf.dialects.target import TargetSpec
from tlf.dialects.weight_preparation_attributes import is_preparation_function


def function_of(module: ModuleOp) -> func.FuncOp:
    """Return the function that runs on every call."""
    (function,) = (
        op
        for op in module.ops
        if isinstance(op, func.FuncOp) and not is_preparation_function(op)
    )
    return function


def read(text: str) -> func.FuncOp:
    """Return the function of a program."""
    return function_of(parse_module(new_context(), Source(text, "program.mlir")))


def bounds_in(text: str, target: TargetSpec) -> LowerBounds:
    """Return the lower bounds of a program, without any passes."""
    return lower_bounds_of(read(text), target)
