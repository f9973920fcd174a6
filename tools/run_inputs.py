"""Command `tlf-run`: input arrays of a program, from files or random."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import BinaryIO, TypeVar, cast

import numpy as np
from numpy.lib.format import MAGIC_PREFIX, read_array
from xdsl.dialects import func

from tlf.compiler.driver.diagnostics import locate_errors
from tlf.compiler.driver.input_ranges import Range, declared_ranges
from tlf.dialects.entry_point import argument_names, argument_types
from tlf.dialects.interfaces import Array
from tlf.dialects.types import AnyTensor, dtype_of, is_float

ValueT = TypeVar("ValueT")


class InputError(Exception):
    """An input that cannot be used; the message states the input and the reason."""


def make_inputs(
    function: func.FuncOp, input_options: Sequence[str], seed: int
) -> dict[str, Array]:
    """
    Return a numpy array for every argument of a function, by name, from a file or
    random.

    `input_options` has words `name=file.npy`. Other arguments are random, uniform in
    the range of the argument's attribute `tlf.range`; the default is floats in [-1, 1)
    and integers from -8 to 7. Raises `InputError`, and `CompileError` for arguments
    that are not arrays.
    """
    with locate_errors(function, "the arguments"):
        names, ranges = argument_names(function), declared_ranges(function)
    files = collect_by_name(
        map(_parse_input_option, input_options),
        lambda name, one, two: f"expected one input `{name}`, got {one} and {two}",
    )
    if unknown := [name for name in files if name not in names]:
        known = ", ".join(names) or "none"
        raise InputError(f"expected an argument among {known}, got `{unknown[0]}`")
    if seed < 0:
        raise InputError(f"expected a seed of at least 0, got {seed}")
    generator = np.random.default_rng(seed)
    inputs: dict[str, Array] = {}
    types = argument_types(function)
    for name, type_, bounds in zip(names, types, ranges, strict=True):
        random = _random_array(generator, type_, bounds)
        inputs[name] = (
            _load_input(name, files[name], random) if name in files else random
        )
    return inputs


def collect_by_name(
    pairs: Iterable[tuple[str, ValueT]],
    format_repetition: Callable[[str, ValueT, ValueT], str],
) -> dict[str, ValueT]:
    """
    Return pairs of names and values as a dictionary, if no name is repeated.

    Raises `InputError` with the message of `format_repetition` for a name that is given
    twice.
    """
    values: dict[str, ValueT] = {}
    for name, value in pairs:
        if name in values:
            raise InputError(format_repetition(name, values[name], value))
        values[name] = value
    return values


def _parse_input_option(option: str) -> tuple[str, str]:
    """
    Split `NAME=FILE` into both, without reading the file. Raises `InputError` if one is
    empty.
    """
    name, _, file = option.partition("=")
    if not name or not file:
        raise InputError(f"expected an input NAME=FILE.npy, got `{option}`")
    return name, file


def _load_input(name: str, file: str, expected_array: Array) -> Array:
    """
    Return the array in `file`. Raises `InputError` if it cannot be read, or differs in
    dtype or shape from `expected_array`.
    """
    try:
        with open(file, "rb") as stream:
            array = _read_npy(name, file, stream)
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"cannot read input `{name}` from {file}: {reason}") from error
    return _check_dtype_and_shape(name, array, expected_array)


def _read_npy(name: str, file: str, stream: BinaryIO) -> Array:
    """Return the array in a `.npy` stream. Raises `InputError` for other contents."""
    expected = f"expected a .npy file of an array for input `{name}`, got {file}"
    if stream.read(len(MAGIC_PREFIX)) != MAGIC_PREFIX:
        raise InputError(expected)
    stream.seek(0)
    try:
        return cast(Array, read_array(stream, allow_pickle=False))
    except (EOFError, ValueError) as error:
        raise InputError(f"{expected}: {_read_error_reason(error)}") from error


def _read_error_reason(error: Exception) -> str:
    """
    Return numpy's message about a file, without its advice to load objects from it.
    """
    if "allow_pickle" in str(error):
        return "its elements are Python objects"
    return str(error)


def _check_dtype_and_shape(name: str, array: Array, expected_array: Array) -> Array:
    """
    Return the array if its dtype and shape match the model. Files of numpy have no name
    for bf16.
    """
    if (
        array.dtype.kind == "V"
        and array.dtype.itemsize == expected_array.dtype.itemsize
    ):
        array = array.view(expected_array.dtype)
    if array.shape != expected_array.shape or array.dtype != expected_array.dtype:
        raise InputError(
            f"expected input `{name}` of {_describe_array(expected_array)}, got "
            f"{_describe_array(array)}"
        )
    return np.asarray(array, order="C")


def _describe_array(array: Array) -> str:
    return f"{array.dtype} and shape {'x'.join(map(str, array.shape)) or '()'}"


def _random_array(
    generator: np.random.Generator, type_: AnyTensor, bounds: Range
) -> Array:
    """Return uniform values within `bounds`, in the shape and type of `type_`."""
    shape, element = type_.get_shape(), type_.get_element_type()
    if is_float(element):
        values = np.asarray(generator.uniform(*bounds, shape))
    else:
        low, high = map(int, bounds)
        values = generator.integers(low, high, shape, endpoint=True)
    return values.astype(dtype_of(element))
