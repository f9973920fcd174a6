"""Runs of computations in PyTorch whose reductions depend on each other."""

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
"""By how much results may be off, in multiples of the largest number, or of 1."""


def named(case: CascadeCase, inputs: Sequence[Tensor]) -> dict[str, Array]:
    """The inputs of a program as arrays, by the names of its arguments."""
    given = [e for place, e in enumerate(inputs) if place not in case.weights]
    known = {f"w{place}": inputs[place] for place in case.weights}
    every = known | {f"given{place}": each for place, each in enumerate(given)}
    return {name: array_of(each) for name, each in every.items()}


def array_of(tensor: Any) -> Array:
    if tensor.dtype is not T.bfloat16:
        return tensor.numpy()
    return tensor.float().numpy().astype("bfloat16")


def wide(tensor: Any) -> Any:
    return tensor.double() if tensor.is_floating_point() else tensor


def compare(name: str, sizes: CascadeSizes, target: str, dtype: str) -> None:
    """
    Run a form, and compare with PyTorch in f64; places of what is rounded, with PyTorch
    in the same type.
    """
    case = CASES[name]
    inputs = case.inputs(sizes, getattr(T, dtype), seed=1)
    text = str(cascades.import_case(case, inputs))

    found = compiled_results(text, named(case, inputs), target)

    wanted = tensors(case.form(*map(wide, inputs)))
    rounded = tensors(case.form(*inputs))
    for mine, theirs, same in zip(found, wanted, rounded, strict=True):
        right = (theirs if theirs.is_floating_point() else same).numpy()
        error = np.abs(mine.astype(np.float64) - right).max()
        assert mine.shape == right.shape
        assert error <= TOLERANCES[dtype] * max(1.0, np.abs(right).max())
