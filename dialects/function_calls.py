"""
IR utility of the dialects: query for the functions of a module, and the calls between
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

Functions: TypeAlias = Mapping[str, func.FuncOp]
"""Functions by name."""


def functions_of(module: ModuleOp) -> Functions:
    """Return the functions of a module by name."""
    return {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}


def defined_functions_of(module: ModuleOp) -> Iterator[func.FuncOp]:
    """Iterate over the functions of a module that have a body."""
    for op in module.ops:
        if isinstance(op, func.FuncOp) and not op.is_declaration:
            yield op


def calls_in(op: Operation) -> Iterator[func.CallOp]:
    """Iterate over the calls nested in an operation."""
    return (each for each in op.walk() if isinstance(each, func.CallOp))


def callee_name(call: func.CallOp) -> str:
    """Return the name of the called function."""
    return call.callee.string_value()


def called_names_in(op: Operation) -> Iterable[str]:
    """Return the names of the functions that operations in an operation call."""
    return dict.fromkeys(map(callee_name, calls_in(op)))


def reachable_functions_of(
    function: func.FuncOp, functions: Functions
) -> Iterable[func.FuncOp]:
    """Return a function and all that it calls, directly or through others."""
    reached, pending = dict[func.FuncOp, None](), [function]
    while pending:
        if (each := pending.pop()) in reached:
            continue
        reached[each] = None
        names = called_names_in(each)
        pending += [functions[name] for name in names if name in functions]
    return reached
