"""
Attributes such as `tlf.prepares` of preparation functions, which preprocess weights
once, not in every call.
"""

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

from tlf.dialects.mixed_offsets import IntArray

PREPARES = "tlf.prepares"
"""
Attribute of a preparation function, with the name of the function whose last arguments
are its results.
"""

PREPARE_ARGS = "tlf.takes"
"""
Attribute with the indices of the prepared function's arguments that a preparation
takes.
"""

RESULTS = "tlf.results"
"""
Attribute of a function with the number of trailing arguments that hold its results,
after bufferization.
"""


def mark_preparation_function(
    preparation: func.FuncOp, function: func.FuncOp, argument_indices: Sequence[int]
) -> None:
    """
    Set the attributes of a function that computes the last arguments of `function`.
    """
    preparation.attributes[PREPARES] = SymbolRefAttr(function.sym_name)
    preparation.attributes[PREPARE_ARGS] = DenseArrayBase.from_list(
        i64, list(argument_indices)
    )


def is_preparation_function(function: Operation) -> bool:
    """
    Return `True` if a function, lowered or not, computes arguments of another one.
    """
    return PREPARES in function.attributes


def find_preparation_function(module: Operation, name: str) -> Operation | None:
    """
    Return the function, lowered or not, that computes the last arguments of the
    function `name`; `None` if there is none.
    """
    for op in module.regions[0].block.ops:
        symbol = op.attributes.get(PREPARES)
        if isinstance(symbol, SymbolRefAttr) and symbol.string_value() == name:
            return op
    return None


def preparation_function_of(function: func.FuncOp) -> func.FuncOp | None:
    """Return the function that computes the last arguments of a function, or `None`."""
    module = function.parent_op()
    if module is None:
        return None
    preparation = find_preparation_function(module, function.sym_name.data)
    return preparation if isinstance(preparation, func.FuncOp) else None


def argument_indices_of_preparation(preparation: Operation) -> tuple[int, ...]:
    """
    Return the indices of the prepared function's arguments that a preparation takes.
    """
    return tuple(cast(IntArray, preparation.attributes[PREPARE_ARGS]).get_values())


def prepared_argument_count(function: func.FuncOp) -> int:
    """
    Return the number of trailing arguments of a function that its preparation computes.
    """
    preparation = preparation_function_of(function)
    if preparation is None:
        return 0
    count = preparation.attributes.get(RESULTS)
    if isinstance(count, IntegerAttr):
        return count.value.data
    return len(preparation.function_type.outputs)
