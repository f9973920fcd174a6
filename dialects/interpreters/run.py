"""Run a function of a module on numpy arrays, whatever level its program is at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.interpreter import Interpreter, InterpreterFunctions
from xdsl.ir import Attribute

from tlf.dialects.entry import argument_names, entry_point
from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.tile import undefined
from tlf.dialects.prepared import preparation_of, taken_by
from tlf.dialects.types import AnyTensor


def interpret(
    module: ModuleOp, inputs: Mapping[str, Array], entry: str | None = None
) -> tuple[Array, ...]:
    """
    Run a function on arrays by name, and return its results.

    Arrays have the shapes and dtypes of the arguments; results have those of the
    declared results.
    """
    function = entry_point(module, entry)
    given = [inputs[name] for name in argument_names(function)]
    interpreter = _interpreter(module)
    with np.errstate(all="ignore"):
        if (preparation := preparation_of(function)) is not None:
            taken = [given[position] for position in taken_by(preparation)]
            given += _call(interpreter, preparation, taken)
        return _call(interpreter, function, given)


def _call(
    interpreter: Interpreter, function: func.FuncOp, arguments: Sequence[Array]
) -> tuple[Array, ...]:
    places = function.body.block.args[len(arguments) :]
    outputs = [_place(argument.type) for argument in places]
    returned = interpreter.call_op(function, (*arguments, *outputs))
    return tuple(outputs) if outputs else cast(tuple[Array, ...], returned)


def _place(type_: Attribute) -> Array:
    return undefined(cast(AnyTensor, type_))


def _interpreter(module: ModuleOp) -> Interpreter:
    # Those of all dialects are imported with them, which takes a third of a second.
    from xdsl.interpreters.affine import AffineFunctions
    from xdsl.interpreters.func import FuncFunctions

    interpreter = Interpreter(module)
    interpreter.register_implementations(FuncFunctions())
    interpreter.register_implementations(AffineFunctions())
    for functions in _functions():
        interpreter.register_implementations(functions, override=True)
    return interpreter


def _functions() -> Sequence[InterpreterFunctions]:
    from tlf.dialects.interpreters.graph import GraphFunctions
    from tlf.dialects.interpreters.mem import mem_functions
    from tlf.dialects.interpreters.tile import TileFunctions

    return (GraphFunctions(), TileFunctions(), *mem_functions())
