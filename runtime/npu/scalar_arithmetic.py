"""Simulator: arithmetic of the control processor, on integers and columns of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tlf.runtime.npu.npu_errors import Fault

Numbers: TypeAlias = npt.NDArray[np.int64]
Column: TypeAlias = int | Numbers
"""An integer per row, or one for all rows."""

Columns: TypeAlias = Mapping[str, Column]
"""Columns of registers, by name."""

_LIMIT = 1 << 63

_NUMPY: dict[str, Callable[[Column, Column], Column]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "div": np.floor_divide,
    "rem": np.remainder,
}


def evaluate_scalar_operation(operation: str, values: Sequence[int]) -> int:
    """Return the result of a scalar operation; faults if it does not fit in 64 bits."""
    result = _evaluate_unbounded_integers(operation, values[0], values[-1])
    if not -_LIMIT <= result < _LIMIT:
        raise Fault(f"{result} does not fit in 64 bits")
    return result


def _evaluate_unbounded_integers(operation: str, a: int, b: int) -> int:
    """Return the exact result; `div` rounds down. Faults on a division by zero."""
    match operation:
        case "add":
            return a + b
        case "sub":
            return a - b
        case "mul":
            return a * b
        case "min":
            return min(a, b)
        case "max":
            return max(a, b)
        case "mov":
            return a
        case _:
            if b == 0:
                raise Fault("integer division by zero")
            return a // b if operation == "div" else a % b


def evaluate_scalar_on_columns(operation: str, values: Sequence[Column]) -> Column:
    """
    Evaluate a scalar operation row by row on columns. The caller ensures that results
    fit and divisors are not zero.
    """
    a, b = values[0], values[-1]
    if isinstance(a, int) and isinstance(b, int):
        return _evaluate_unbounded_integers(operation, a, b)
    if operation == "mov":
        return a
    return _NUMPY[operation](a, b)


def elementwise_column_maximum(a: Column, b: Column) -> Column:
    """Return the elementwise maximum of two columns."""
    return evaluate_scalar_on_columns("max", (a, b))


def minimum_of_column(column: Column) -> int:
    """Return the minimum of a column."""
    return column if isinstance(column, int) else int(column.min())


def find_distinct_rows(
    columns: Sequence[Column], row_count: int
) -> tuple[Numbers, Numbers]:
    """
    Return the indices of representatives of all distinct rows, and for each row the
    position of its representative.
    """
    code, size = np.zeros(row_count, np.int64), 1
    for column in columns:
        if isinstance(column, int):
            continue
        low = int(column.min())
        span = int(column.max()) - low + 1
        if size * span >= _LIMIT:
            code, size = _renumber_values(code)
        if size * span >= _LIMIT:
            column, span = _renumber_values(column)
            low = 0
        code = code * span + (column - low)
        size *= span
    if size == 1:
        return np.zeros(1, np.int64), code
    _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
    return first, inverse


def _renumber_values(column: Numbers) -> tuple[Numbers, int]:
    """
    Renumber the distinct values of a column. Return the column and the number of
    values.
    """
    values, inverse = np.unique(column, return_inverse=True)
    return inverse, len(values)
