"""Runs of the references of graph operations on random data, compared with f64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from numpy.random import Generator
from xdsl.dialects import test
from xdsl.dialects.builtin import TensorType, bf16, f16, f32, f64, i1, i8, i32, i64
from xdsl.ir import Attribute, SSAValue

from tlf.dialects.interfaces import Array, ReferenceInterface
from tlf.dialects.types import dtype_of, tensor_type

FLOATS = (f64, f32, f16, bf16)
INTEGERS = (i64, i32, i8)
NUMBERS = (*FLOATS, *INTEGERS)

ROUNDOFF: dict[Attribute, float] = {f64: 2**-50, f32: 2**-24, f16: 2**-11, bf16: 2**-8}
"""Maximum relative error of one rounding."""

floats = pytest.mark.parametrize("element", FLOATS, ids=str)
numbers = pytest.mark.parametrize("element", NUMBERS, ids=str)


def some(rng: Generator, shape: Sequence[int], element: Attribute) -> Array:
    """Return random numbers of both signs."""
    if element == i1:
        return rng.random(tuple(shape)) < 0.5
    if element in INTEGERS:
        return rng.integers(-9, 10, tuple(shape)).astype(dtype_of(element))
    return rng.standard_normal(tuple(shape)).astype(dtype_of(element))


def values(*arrays: Array, elements: Sequence[Attribute]) -> list[SSAValue]:
    types = [
        TensorType(element, array.shape)
        for array, element in zip(arrays, elements, strict=True)
    ]
    return list(test.TestOp(result_types=types).results)


def run(
    build: Callable[..., ReferenceInterface],
    *arrays: Array,
    of: Attribute,
    **options: Any,
) -> Array:
    """Build an operation on tensors `of` a type, and run its reference on arrays."""
    op = build(*values(*arrays, elements=[of] * len(arrays)), **options)
    op.verify()
    (result,) = op.compute_reference(*arrays)
    assert result.dtype == dtype_of(tensor_type(op.results[0]).element_type)
    assert result.shape == tensor_type(op.results[0]).get_shape()
    return result


def double(array: Array) -> torch.Tensor:
    return torch.tensor(array.astype(np.float64))


def check(
    found: Array, expected: torch.Tensor, element: Attribute, error: float = 0
) -> None:
    """
    Compare with f64; integers wrap.

    `error` is the tolerance in addition to one rounding, relative to the largest
    element.
    """
    if element in (*INTEGERS, i1):
        wrapped = expected.numpy().astype(np.int64).astype(dtype_of(element))
        np.testing.assert_array_equal(found, wrapped)
        return
    exact = expected.numpy()
    finite = exact[np.isfinite(exact)]
    margin = error * np.max(np.abs(finite), initial=0)
    np.testing.assert_allclose(
        found.astype(np.float64), exact, rtol=ROUNDOFF[element] * 1.01, atol=margin
    )
