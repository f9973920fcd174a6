"""
IR utility of the dialects: query for the functions of a module, and the calls between
them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
