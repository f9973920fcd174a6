"""Prepacking functions: preprocess weights once instead of at every call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    SymbolRefAttr,
    i64,
)
from xdsl.ir import Operation

from tlf.support.affine.mixed_offsets import IntArray

PREPARES = "tlf.prepares"
"""The attribute of a function whose results are the last arguments of another one,
which it names."""

PREPARE_ARGS = "tlf.takes"
"""The attribute that says which arguments of the other function it takes."""

RESULTS = "tlf.results"
"""
Attribute of a function with the number of trailing arguments that hold its results,
after bufferisation.
"""


def mark_preparation(
    preparation: func.FuncOp, function: func.FuncOp, takes: Sequence[int]
) -> None:
    """Say that `preparation` computes the last arguments of `function`."""
    preparation.attributes[PREPARES] = SymbolRefAttr(function.sym_name)
    preparation.attributes[PREPARE_ARGS] = DenseArrayBase.from_list(i64, list(takes))


def is_preparation(function: Operation) -> bool:
    """
    Return `True` if a function, lowered or not, computes arguments of another one.
    """
    return PREPARES in function.attributes


def find_preparation(module: Operation, name: str) -> Operation | None:
    """
    Return the function that computes the last arguments of the function `name`, lowered
    or not; `None` if there is none.
    """
    for op in module.regions[0].block.ops:
        named = op.attributes.get(PREPARES)
        if isinstance(named, SymbolRefAttr) and named.string_value() == name:
            return op
    return None


def preparation_of(function: func.FuncOp) -> func.FuncOp | None:
    """The function of the same module that computes the last arguments of another."""
    module = function.parent_op()
    if module is None:
        return None
    found = find_preparation(module, function.sym_name.data)
    return found if isinstance(found, func.FuncOp) else None


def prepare_args_of(preparation: Operation) -> tuple[int, ...]:
    """Return the numbers of the other function's arguments that a preparation takes."""
    return tuple(cast(IntArray, preparation.attributes[PREPARE_ARGS]).get_values())


def prepared_argument_count(function: func.FuncOp) -> int:
    """
    Return the number of arguments of a function that another one computes; they come
    last.
    """
    preparation = preparation_of(function)
    if preparation is None:
        return 0
    count = preparation.attributes.get(RESULTS)
    if isinstance(count, IntegerAttr):
        return count.value.data
    return len(preparation.function_type.outputs)
