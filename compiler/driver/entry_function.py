"""
Driver: lookup of the entry function of a module, and its isolation from other functions
by inlining.
"""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from tlf.compiler.driver.diagnostics import locate_errors
from tlf.dialects.entry_point import find_entry_point
from tlf.dialects.function_calls import callee_name, calls_in, functions_of
from tlf.dialects.weight_preparation_attributes import preparation_function_of


def entry_function_of(module: ModuleOp, name: str | None) -> func.FuncOp:
    """
    Return the function called `name`, or the only function, see `find_entry_point`.
    Raises `CompileError` with the file if there is no such function.
    """
    with locate_errors(module, "the entry point"):
        return find_entry_point(module, name)


def isolate_entry_function(module: ModuleOp, entry: func.FuncOp) -> None:
    """
    Inline the calls of `entry`, and erase the functions of a module that it does not
    use. Raises `CompileError`.
    """
    # Passes are imported only here: a program of the cache needs no pass.
    from tlf.passes.graph.inline import inline_calls_in_function

    functions = functions_of(module)
    with locate_errors(module, "the calls"):
        inline_calls_in_function(entry, functions)
    needed, pending = set[func.FuncOp](), [entry]
    if (preparation := preparation_function_of(entry)) is not None:
        pending.append(preparation)
    while pending:
        if (function := pending.pop()) not in needed:
            needed.add(function)
            pending += [functions[callee_name(each)] for each in calls_in(function)]
    for function in functions.values():
        if function not in needed:
            function.detach()
            function.erase()
