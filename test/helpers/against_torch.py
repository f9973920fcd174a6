"""Comparison of compiled programs with torch in f64."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from differential import compiled_results, parsed
from example_variants import Reference, Variant

from tlf.dialects.entry_point import find_entry_point
from tlf.tools.run_inputs import make_inputs

TOLERANCES: Mapping[str, float] = {"f32": 1e-5, "f16": 2e-3, "bf16": 1e-2}
"""Largest relative error for each element type."""


def compare(variant: Variant, target: str, pipeline: str | None = None) -> None:
    """Run a variant on a target, and compare it with its reference."""
    compare_text(variant.program.text(), variant.reference, target, pipeline)


def compare_text(
    text: str, reference: Reference, target: str, pipeline: str | None = None
) -> None:
    """
    Run a program of one result on a target, and compare it on the same rounded inputs.

    The error is limited in the norm, and in each element relative to the largest
    element.
    """
    inputs = make_inputs(find_entry_point(parsed(text)[1]), (), seed=7)
    arguments = {
        name: torch.as_tensor(array.astype(np.float64))
        for name, array in inputs.items()
    }
    expected = reference(arguments).numpy()
    (result,) = compiled_results(text, inputs, target, pipeline)
    kinds = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}
    tolerance = TOLERANCES[kinds[result.dtype.name]]
    error = np.abs(result.astype(np.float64) - expected)
    assert result.shape == expected.shape
    assert np.linalg.norm(error) <= tolerance * np.linalg.norm(expected)
    assert error.max() <= 2 * tolerance * np.abs(expected).max()
