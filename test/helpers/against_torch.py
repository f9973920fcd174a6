"""Compare what the compiler makes of a program with torch in f64."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from differential import compiled_results, parsed
from example_variants import Reference, Variant

from tlf.dialects.entry_point import entry_point
from tlf.tools.run_inputs import make_inputs

TOLERANCES: Mapping[str, float] = {"f32": 1e-5, "f16": 2e-3, "bf16": 1e-2}
"""For each element type the largest relative error."""


def compare(variant: Variant, target: str, pipeline: str | None = None) -> None:
    """Run a variant on a target, and compare."""
    compare_text(variant.program.text(), variant.reference, target, pipeline)


def compare_text(
    text: str, reference: Reference, target: str, pipeline: str | None = None
) -> None:
    """
    Run a program of one result on a target, and compare on the same rounded inputs: in
    the norm, and in each element by the size of the largest one.
    """
    inputs = make_inputs(entry_point(parsed(text)[1]), (), seed=7)
    given = {
        name: torch.as_tensor(array.astype(np.float64))
        for name, array in inputs.items()
    }
    wanted = reference(given).numpy()
    (found,) = compiled_results(text, inputs, target, pipeline)
    kinds = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}
    tolerance = TOLERANCES[kinds[found.dtype.name]]
    error = np.abs(found.astype(np.float64) - wanted)
    assert found.shape == wanted.shape
    assert np.linalg.norm(error) <= tolerance * np.linalg.norm(wanted)
    assert error.max() <= 2 * tolerance * np.abs(wanted).max()
