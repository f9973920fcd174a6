"""Runs of PyTorch computations with cascaded reductions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cascades
import numpy as np
from attention import Tensor
from cascade_cases import CASES, CascadeCase, CascadeSizes, T
from differential import compiled_results
from torch_check import tensors

from tlf.dialects.interfaces import Array

TOLERANCES = {"float32": 2e-5, "bfloat16": 3e-2}
"""Maximum error of results, as a multiple of the largest element or of 1."""


def named(case: CascadeCase, inputs: Sequence[Tensor]) -> dict[str, Array]:
    """Return the inputs of a program as arrays, by the names of its arguments."""
    arguments = [e for index, e in enumerate(inputs) if index not in case.weights]
    weights = {f"w{index}": inputs[index] for index in case.weights}
    arrays = weights | {f"given{index}": each for index, each in enumerate(arguments)}
    return {name: array_of(each) for name, each in arrays.items()}


def array_of(tensor: Any) -> Array:
    if tensor.dtype is not T.bfloat16:
        return tensor.numpy()
    return tensor.float().numpy().astype("bfloat16")


def wide(tensor: Any) -> Any:
    return tensor.double() if tensor.is_floating_point() else tensor


def compare(name: str, sizes: CascadeSizes, target: str, dtype: str) -> None:
    """
    Run a form, and compare it with PyTorch in f64.

    Results that are not floats (indices) are compared with PyTorch in the same type.
    """
    case = CASES[name]
    inputs = case.inputs(sizes, getattr(T, dtype), seed=1)
    text = str(cascades.import_case(case, inputs))

    results = compiled_results(text, named(case, inputs), target)

    exact_results = tensors(case.form(*map(wide, inputs)))
    rounded = tensors(case.form(*inputs))
    for actual, exact, rounded_result in zip(
        results, exact_results, rounded, strict=True
    ):
        expected = (exact if exact.is_floating_point() else rounded_result).numpy()
        error = np.abs(actual.astype(np.float64) - expected).max()
        assert actual.shape == expected.shape
        assert error <= TOLERANCES[dtype] * max(1.0, np.abs(expected).max())
