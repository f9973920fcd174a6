"""Run a function of a module on numpy arrays, whatever level its program is at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn, TypeAlias, cast

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.interpreter import Interpreter, InterpreterFunctions
from xdsl.utils.exceptions import InterpretationError

from tlf.dialects.entry import argument_names, entry_point, result_names
from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.poison import UNWRITTEN, Origin, Poison
from tlf.dialects.prepared import preparation_of, taken_by
from tlf.dialects.types import AnyTensor

_Element: TypeAlias = tuple[int, list[int]]
"""A result by its number, and the place of an element in it."""


def interpret(
    module: ModuleOp, inputs: Mapping[str, Array], entry: str | None = None
) -> tuple[Array, ...]:
    """
    Run a function on arrays by name, and return its results.

    Arrays have the shapes and dtypes of the arguments; results have those of the
    declared results. Undefined elements of them are poison.
    """
    return _interpret(module, inputs, entry, Poison())


def interpret_defined(
    module: ModuleOp, inputs: Mapping[str, Array], entry: str | None = None
) -> tuple[Array, ...]:
    """
    The same, but raises `InterpretationError` where a result depends on an undefined
    element, for the operation that left it undefined.
    """
    poison, given = Poison(), _kept(module, inputs, entry)
    results = _interpret(module, inputs, entry, poison)
    origins = tuple(poison.origins)
    if not origins or not any(map(_may_be_poison, results)):
        return results

    def changed(some: Sequence[Origin]) -> _Element | None:
        again = Poison(frozenset(some))
        return _differing(
            results, _interpret(module, _kept(module, given, entry), entry, again)
        )

    if (found := changed(origins)) is not None:
        # Products of two of them are undefined until both have other values.
        some = (origins[: number + 1] for number in range(len(origins) - 1))
        last = next((each[-1] for each in some if changed(each)), origins[-1])
        _report(last, found, result_names(entry_point(module, entry)))
    return results


def _kept(
    module: ModuleOp, inputs: Mapping[str, Array], entry: str | None
) -> Mapping[str, Array]:
    """The inputs, whatever a program writes into buffers that are its arguments."""
    arguments = entry_point(module, entry).body.block.args
    if not any(isinstance(each.type, MemRefType) for each in arguments):
        return inputs
    return {name: array.copy() for name, array in inputs.items()}


def _may_be_poison(array: Array) -> bool:
    """Return `True` if an array has elements that may be undefined."""
    return array.dtype.kind in "bi" or bool(np.isnan(array.astype(np.float64)).any())


def _differing(one: Sequence[Array], other: Sequence[Array]) -> _Element | None:
    """The first element in which two runs differ; NaN is like NaN."""
    for number, pair in enumerate(zip(one, other, strict=True)):
        left, right = (
            each if each.dtype.kind in "bi" else each.astype(np.float64)
            for each in pair
        )
        same = (left == right) | ((left != left) & (right != right))
        if not same.all():
            place = np.unravel_index(int(np.argmin(same)), same.shape)
            return number, [int(each) for each in place]
    return None


def _report(origin: Origin, element: _Element, names: Sequence[str]) -> NoReturn:
    (op, which), (number, place) = origin, element
    message = (
        f"{op.name}: expected results that are defined, got {names[number]}{place}, "
        f"which depends on {which}"
    )
    op.emit_error(message, InterpretationError(message))


def _interpret(
    module: ModuleOp, inputs: Mapping[str, Array], entry: str | None, poison: Poison
) -> tuple[Array, ...]:
    function = entry_point(module, entry)
    given = [inputs[name] for name in argument_names(function)]
    interpreter = _interpreter(module, poison)
    with np.errstate(all="ignore"):
        if (preparation := preparation_of(function)) is not None:
            taken = [given[position] for position in taken_by(preparation)]
            given += _call(interpreter, preparation, taken, poison)
        return _call(interpreter, function, given, poison)


def _call(
    interpreter: Interpreter,
    function: func.FuncOp,
    arguments: Sequence[Array],
    poison: Poison,
) -> tuple[Array, ...]:
    places = function.body.block.args[len(arguments) :]
    outputs = [
        poison.array(function, UNWRITTEN, cast(AnyTensor, argument.type))
        for argument in places
    ]
    try:
        returned = interpreter.call_op(function, (*arguments, *outputs))
    except RecursionError as error:
        message = "expected calls that come to an end, got a function that calls itself"
        raise InterpretationError(message) from error
    return tuple(outputs) if outputs else cast(tuple[Array, ...], returned)


def _interpreter(module: ModuleOp, poison: Poison) -> Interpreter:
    # Those of all dialects are imported with them, which takes a third of a second.
    from xdsl.interpreters.affine import AffineFunctions
    from xdsl.interpreters.func import FuncFunctions

    interpreter = Interpreter(module)
    interpreter.register_implementations(FuncFunctions())
    interpreter.register_implementations(AffineFunctions())
    for functions in _functions(module, poison):
        interpreter.register_implementations(functions, override=True)
    return interpreter


def _functions(module: ModuleOp, poison: Poison) -> Sequence[InterpreterFunctions]:
    from tlf.dialects.interpreters.graph import GraphFunctions, functions_of_others
    from tlf.dialects.interpreters.mem import mem_functions
    from tlf.dialects.interpreters.tile import TileFunctions

    return (
        functions_of_others(module),
        GraphFunctions(),
        TileFunctions(poison),
        *mem_functions(poison),
    )
