"""
IR utility of the dialects: query for the entry point of a module, the function that a
caller runs, with its arguments and results.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import cast

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from tlf.dialects.function_calls import callee_name, calls_in
from tlf.dialects.physical_axes_attribute import get_argument_axes, logical_type_of
from tlf.dialects.types import AnyTensor
from tlf.dialects.weight_preparation_attributes import (
    RESULTS,
    is_preparation_function,
    prepared_argument_count,
)


def find_entry_point(module: ModuleOp, name: str | None = None) -> func.FuncOp:
    """
    Return the function called `name`; without a name, the only function with a body
    that is neither called by another function nor a preparation function.

    Raises `DiagnosticException` unless there is exactly one such function.
    """
    functions = [
        op for op in module.ops if isinstance(op, func.FuncOp) and op.body.blocks
    ]
    callees = _callee_names(functions)
    candidates = [
        op
        for op in functions
        if (
            not is_preparation_function(op) and op.sym_name.data not in callees
            if name is None
            else op.sym_name.data == name
        )
    ]
    if len(candidates) == 1:
        return candidates[0]
    available = ", ".join(op.sym_name.data for op in functions) or "none"
    expected = "one function" if name is None else f"a function `{name}`"
    hint = ": `--entry` says which" if name is None and len(functions) > 1 else ""
    raise DiagnosticException(f"expected {expected}, got {available}{hint}")


def _callee_names(functions: Sequence[func.FuncOp]) -> set[str]:
    """Return the names of all called functions; none for a single function."""
    if len(functions) < 2:
        return set()
    return {callee_name(call) for function in functions for call in calls_in(function)}


def result_argument_count(function: func.FuncOp) -> int:
    """
    Return the number of trailing arguments that hold results; 0 before bufferization.

    Raises `DiagnosticException` unless the number is an integer from 0 to the number of
    arguments.
    """
    if (count := function.attributes.get(RESULTS)) is None:
        return 0
    arguments = len(function.function_type.inputs)
    if isinstance(count, IntegerAttr) and 0 <= count.value.data <= arguments:
        return count.value.data
    message = (
        f"expected `{RESULTS}` to be a number of the {arguments} arguments, got {count}"
    )
    return function.emit_error(message, DiagnosticException(message))


def argument_names(function: func.FuncOp) -> tuple[str, ...]:
    """
    Return unique names of the arguments that a caller passes, in order. Results and
    prepared arguments are excluded.
    """
    arguments = function.body.block.args
    excluded = result_argument_count(function) + prepared_argument_count(function)
    inputs = arguments[: len(arguments) - excluded]
    return _make_unique_names(
        [each.name_hint or f"arg{position}" for position, each in enumerate(inputs)]
    )


def result_names(function: func.FuncOp) -> tuple[str, ...]:
    """Return unique names of the results, in order, from the returned values."""
    if count := result_argument_count(function):
        values: Sequence[SSAValue] = function.body.block.args[-count:]
    else:
        last = function.body.block.last_op
        values = tuple(last.operands) if last is not None else ()
    return _make_unique_names([value.name_hint or "result" for value in values])


def _make_unique_names(hints: Sequence[str]) -> tuple[str, ...]:
    """
    Return a unique name for each hint: the hint itself, or the hint with a number from
    1 if it occurs several times, since the parser strips such a number off every name.
    """
    names: list[str] = []
    for hint in hints:
        suffix, name = 0, hint
        while hints.count(hint) > 1 and name in (hint, *names):
            suffix += 1
            name = f"{hint}_{suffix}"
        names.append(name)
    return tuple(names)


def argument_types(function: func.FuncOp) -> tuple[AnyTensor, ...]:
    """
    Return the types of the arguments that a caller passes: static shape and element
    type. Arguments with `tlf.physical_axes` have the shape before the permutation.

    Raises `DiagnosticException` for arguments of other types.
    """
    count = len(argument_names(function))
    arguments = zip(function.body.block.args, get_argument_axes(function), strict=True)
    return tuple(
        logical_type_of(_to_static_tensor_type(argument.type), axes)
        for argument, axes in islice(arguments, count)
    )


def _to_static_tensor_type(type_: Attribute) -> AnyTensor:
    """
    Return `type_`; raise `DiagnosticException` unless it is a static tensor or memref.
    """
    if not isinstance(type_, TensorType | MemRefType):
        raise DiagnosticException(f"expected arguments that are tensors, got {type_}")
    tensor = cast(AnyTensor, type_)
    if any(extent < 0 for extent in tensor.get_shape()):
        raise DiagnosticException(f"expected arguments of static shapes, got {type_}")
    return tensor
