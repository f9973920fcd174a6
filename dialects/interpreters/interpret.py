"""
Reference interpretation of all dialects: entry points that run a function of a module
on numpy arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn, TypeAlias, cast

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.interpreter import Interpreter, InterpreterFunctions
from xdsl.utils.exceptions import InterpretationError

from tlf.dialects.entry_point import (
    argument_names,
    find_entry_point,
    result_argument_count,
    result_names,
)
from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.interpretation_progress import progress_listeners_of
from tlf.dialects.interpreters.poison_values import UNWRITTEN, Origin, PoisonTracker
from tlf.dialects.physical_axes_attribute import get_argument_axes, get_result_axes
from tlf.dialects.types import AnyTensor
from tlf.dialects.weight_preparation_attributes import (
    argument_indices_of_preparation,
    preparation_function_of,
)
from tlf.support.affine.axis_orders import inverse_order
from tlf.support.progress import report_step

_ElementIndex: TypeAlias = tuple[int, list[int]]
"""Index of a result, and the indices of an element in it."""


def interpret(
    module: ModuleOp, inputs: Mapping[str, Array], entry: str | None = None
) -> tuple[Array, ...]:
    """
    Interpret an entry function of a module on inputs by argument name, after its
    preparation function if any, and return its results.

    Arrays have the shapes and dtypes of the arguments; results have the declared ones.
    Those with `tlf.physical_axes` have the shapes before the permutation. Undefined
    elements of results are poison.
    """
    return _run_entry_function(module, inputs, entry, PoisonTracker())


def interpret_poison_free(
    module: ModuleOp, inputs: Mapping[str, Array], entry: str | None = None
) -> tuple[Array, ...]:
    """
    Run like `interpret`, and raise `InterpretationError` if a result depends on poison.
    """
    poison, arguments = PoisonTracker(), _copy_inputs(module, inputs, entry)
    results = _run_entry_function(module, inputs, entry, poison)
    origins = tuple(poison.origins)
    if not origins or not any(map(_can_hold_poison, results)):
        return results

    def find_changed_element(candidates: Sequence[Origin]) -> _ElementIndex | None:
        rerun = PoisonTracker(frozenset(candidates))
        return _find_differing_element(
            results,
            _run_entry_function(
                module, _copy_inputs(module, arguments, entry), entry, rerun
            ),
        )

    if (element := find_changed_element(origins)) is not None:
        # A product of undefined elements stays undefined until all factors change.
        candidates = (origins[: count + 1] for count in range(len(origins) - 1))
        last = next(
            (each[-1] for each in candidates if find_changed_element(each)), origins[-1]
        )
        _raise_poison_error(
            last, element, result_names(find_entry_point(module, entry))
        )
    return results


def _copy_inputs(
    module: ModuleOp, inputs: Mapping[str, Array], entry: str | None
) -> Mapping[str, Array]:
    """Return the inputs, as copies if the program may write to buffers among them."""
    arguments = find_entry_point(module, entry).body.block.args
    if not any(isinstance(each.type, MemRefType) for each in arguments):
        return inputs
    return {name: array.copy() for name, array in inputs.items()}


def _can_hold_poison(array: Array) -> bool:
    """Return `True` if an array has elements that may be undefined."""
    return array.dtype.kind in "bi" or bool(np.isnan(array.astype(np.float64)).any())


def _find_differing_element(
    results: Sequence[Array], rerun_results: Sequence[Array]
) -> _ElementIndex | None:
    """Return the first element in which two runs differ; NaN equals NaN."""
    for result, pair in enumerate(zip(results, rerun_results, strict=True)):
        lhs, rhs = (
            each if each.dtype.kind in "bi" else each.astype(np.float64)
            for each in pair
        )
        same = (lhs == rhs) | ((lhs != lhs) & (rhs != rhs))
        if not same.all():
            index = np.unravel_index(int(np.argmin(same)), same.shape)
            return result, [int(each) for each in index]
    return None


def _raise_poison_error(
    origin: Origin, element: _ElementIndex, names_of_results: Sequence[str]
) -> NoReturn:
    """
    Raise `InterpretationError` at the operation that left elements undefined, naming
    the element of a result that depends on them.
    """
    (op, which), (number, index) = origin, element
    message = (
        f"{op.name}: expected results that are defined, got "
        f"{names_of_results[number]}{index}, "
        f"which depends on {which}"
    )
    op.emit_error(message, InterpretationError(message))


def _run_entry_function(
    module: ModuleOp,
    inputs: Mapping[str, Array],
    entry: str | None,
    poison: PoisonTracker,
) -> tuple[Array, ...]:
    """
    Run the preparation function of the entry point, if it has one, then the entry point
    itself, on numpy arrays.
    """
    function = find_entry_point(module, entry)
    arguments = _order_inputs(function, inputs)
    interpreter = _build_interpreter(module, poison)
    with report_step("interpret"), np.errstate(all="ignore"):
        interpreter.listeners = progress_listeners_of(function)
        if (preparation := preparation_function_of(function)) is not None:
            prepare_arguments = [
                arguments[position]
                for position in argument_indices_of_preparation(preparation)
            ]
            arguments += _call_function(
                interpreter, preparation, prepare_arguments, poison
            )
        results = _call_function(interpreter, function, arguments, poison)
    return _to_logical_results(function, results)


def _order_inputs(function: func.FuncOp, inputs: Mapping[str, Array]) -> list[Array]:
    """Return the inputs in order, with the physical shapes of the arguments."""
    names, axes = argument_names(function), get_argument_axes(function)
    return [
        inputs[name]
        if order is None
        else np.ascontiguousarray(inputs[name].transpose(order))
        for name, order in zip(names, axes, strict=False)
    ]


def _to_logical_results(
    function: func.FuncOp, results: Sequence[Array]
) -> tuple[Array, ...]:
    """Return the results with the shapes that a caller gets."""
    axes = get_result_axes(function)
    if count := result_argument_count(function):
        axes = get_argument_axes(function)[-count:]
    return tuple(
        result if order is None else result.transpose(inverse_order(order))
        for result, order in zip(results, axes, strict=True)
    )


def _call_function(
    interpreter: Interpreter,
    function: func.FuncOp,
    arguments: Sequence[Array],
    poison: PoisonTracker,
) -> tuple[Array, ...]:
    """
    Run `function` on `arguments` and undefined arrays for its result arguments; return
    the filled arrays, or the returned values if there are none.
    """
    result_arguments = function.body.block.args[len(arguments) :]
    outputs = [
        poison.make_undefined_array(function, UNWRITTEN, cast(AnyTensor, argument.type))
        for argument in result_arguments
    ]
    try:
        returned = interpreter.call_op(function, (*arguments, *outputs))
    except RecursionError as error:
        message = "expected calls that come to an end, got a function that calls itself"
        raise InterpretationError(message) from error
    return tuple(outputs) if outputs else cast(tuple[Array, ...], returned)


def _build_interpreter(module: ModuleOp, poison: PoisonTracker) -> Interpreter:
    """Return an xDSL interpreter of `module` with the functions of all dialects."""
    # Imported lazily: the functions of all dialects take a third of a second.
    from xdsl.interpreters.affine import AffineFunctions
    from xdsl.interpreters.func import FuncFunctions

    interpreter = Interpreter(module)
    interpreter.register_implementations(FuncFunctions())
    interpreter.register_implementations(AffineFunctions())
    for functions in _make_interpreter_functions(module, poison):
        interpreter.register_implementations(functions, override=True)
    return interpreter


def _make_interpreter_functions(
    module: ModuleOp, poison: PoisonTracker
) -> Sequence[InterpreterFunctions]:
    """
    Return the functions of the TLF dialects, which record undefined values in `poison`.
    """
    from tlf.dialects.interpreters.graph import GraphFunctions, find_reference_functions
    from tlf.dialects.interpreters.mem import make_mem_interpreter_functions
    from tlf.dialects.interpreters.tile import TileFunctions

    return (
        *find_reference_functions(module),
        GraphFunctions(),
        TileFunctions(poison),
        *make_mem_interpreter_functions(poison),
    )
