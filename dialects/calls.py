"""Functions of a module, and the calls between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

Functions: TypeAlias = Mapping[str, func.FuncOp]
"""Functions by name."""


def functions_of(module: ModuleOp) -> Functions:
    """The functions of a module by name."""
    return {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}


def calls_in(op: Operation) -> Iterator[func.CallOp]:
    """The calls that an operation has inside."""
    return (each for each in op.walk() if isinstance(each, func.CallOp))


def callee_name(call: func.CallOp) -> str:
    """The name of the function that is called."""
    return call.callee.string_value()
