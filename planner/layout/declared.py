"""Permitted layouts of the arguments and results of a function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from xdsl.dialects import func
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from tlf.dialects.encoding import layout_of
from tlf.dialects.invariants import is_entry
from tlf.dialects.layouts import ANY, Declared, declared_arguments, declared_results
from tlf.dialects.parameters import is_parameter
from tlf.dialects.prepared import preparation_of, prepared_count, taken_by
from tlf.planner.layout.tensors import stored_tensors
from tlf.support.affine.orders import Order, row_major

Wanted: TypeAlias = Mapping[SSAValue, Order | None]
"""Of arguments and returned values, the layout they must have; None if any will do."""


def wanted_layouts(function: func.FuncOp) -> Wanted:
    """
    The layouts of arguments and of returned values: as declared, else row-major. Those
    declared as `any` are free. So are weights, which are put in order once; those that
    a preparation takes or makes only where it can do with any order. What another
    function calls has row-major order.
    """
    if not is_entry(function):
        return {value: _plain(value) for value in _outer_values(function)}
    tied = _tied(function)
    wanted: dict[SSAValue, Order | None] = {}
    arguments = list[SSAValue](function.body.block.args)
    for value, declared in zip(arguments, declared_arguments(function), strict=True):
        if declared is None and _is_weight(function, value):
            declared = ANY
        wanted[value] = _order(value, None if value in tied else declared)
    results = zip(_returned(function), declared_results(function), strict=True)
    for value, declared in results:
        wanted[value] = wanted.get(value) or _order(value, declared)
    return wanted


def layouts_around(preparation: func.FuncOp, function: func.FuncOp) -> Wanted:
    """The layouts of what a preparation takes and makes for a function."""
    count = prepared_count(function)
    arguments = list[SSAValue](function.body.block.args)
    prepared = arguments[len(arguments) - count :]
    taken = [arguments[number] for number in taken_by(preparation)]
    return {
        own: layout_of(other.type) or _plain(other)
        for own, other in (
            *zip(preparation.body.block.args, taken, strict=True),
            *zip(_returned(preparation), prepared, strict=True),
        )
    }


def free_values(function: func.FuncOp) -> Iterator[SSAValue]:
    """The arguments and returned values that may lie in any order."""
    if len(function.body.blocks) != 1:
        return
    wanted = wanted_layouts(function)
    for tensor in stored_tensors(function):
        if wanted.get(tensor.value, ()) is None:
            yield tensor.value


def _order(value: SSAValue, declared: Declared) -> Order | None:
    """The order that a value must have, or None if any will do."""
    if declared == ANY:
        return None
    if declared is None:
        return _plain(value)
    return tuple(int(axis) for axis in declared)


def _plain(value: SSAValue) -> Order:
    type_ = value.type
    return row_major(type_.get_num_dims()) if isinstance(type_, TensorType) else ()


def _is_weight(function: func.FuncOp, value: SSAValue) -> bool:
    """Return `True` if an argument is a weight, or depends on weights alone."""
    arguments = list[SSAValue](function.body.block.args)
    prepared = arguments[len(arguments) - prepared_count(function) :]
    return value in prepared or is_parameter(value)


def _outer_values(function: func.FuncOp) -> Iterator[SSAValue]:
    yield from function.body.block.args
    yield from _returned(function)


def _tied(function: func.FuncOp) -> set[SSAValue]:
    """The arguments that a preparation takes or makes in row-major order only."""
    preparation = preparation_of(function)
    if preparation is None:
        return set()
    known = {tensor.value for tensor in stored_tensors(preparation)}
    arguments = list[SSAValue](function.body.block.args)
    prepared = arguments[len(arguments) - prepared_count(function) :]
    taken = [arguments[number] for number in taken_by(preparation)]
    return {
        other
        for own, other in (
            *zip(preparation.body.block.args, taken, strict=True),
            *zip(_returned(preparation), prepared, strict=True),
        )
        if own not in known
    }


def _returned(function: func.FuncOp) -> Sequence[SSAValue]:
    last = function.body.block.last_op
    return last.arguments if isinstance(last, func.ReturnOp) else ()
