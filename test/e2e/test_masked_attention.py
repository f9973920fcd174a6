"""Attention under masks of positions, compiled by the whole pipeline of a GPU."""

from __future__ import annotations

import numpy as np
import pytest
from differential import compiled_text, executed
from masked_programs import MaskedProgram

from tlf.dialects.target import load_target_spec
from tlf.lowering.pipelines import PIPELINES

PIPELINE = (
    PIPELINES["triton-pipeline"]
    .replace("graph-pipeline", PIPELINES["graph-pipeline"])
    .replace("graph-split-k-reductions,", "")
    .replace("select-tile-sizes", "select-tile-sizes{tile=16,16 reduce=64}")
)
"""Pipeline that computes all rows and columns of these programs in small tiles."""

TOLERANCES = {"f32": 1e-5, "f16": 4e-3, "bf16": 3e-2}

PROGRAMS = [
    MaskedProgram("causal", 96, 520, depth=16, ahead=300, element="f16"),
    MaskedProgram(
        "causal", 70, 520, depth=16, ahead=-30, element="bf16", is_added=True
    ),
    MaskedProgram(
        "window", 70, 520, depth=16, ahead=210, before=90, behind=20, element="bf16"
    ),
    MaskedProgram("distance", 64, 520, depth=16, ahead=250, before=50, element="f32"),
    MaskedProgram(
        "padded causal", 64, 520, depth=16, ahead=400, length=330, element="f16"
    ),
]
"""Programs in which some keys are hidden from all queries."""


@pytest.mark.one_in(3 / 8)
@pytest.mark.parametrize("numerics", ["strict", "relaxed"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.mask)
def test_masked_attention(program: MaskedProgram, numerics: str):
    """The loop over keys is shorter, and rows without keys are NaN."""
    text = f'module attributes {{tlf.numerics = "{numerics}"}} {{\n{program.text()}\n}}'
    compiled = compiled_text(text, "h200", PIPELINE)
    kernels = compiled.partition("# plan")[0]
    assert "tl.range(" in kernels
    assert "tl.range(0, 520," not in kernels

    inputs = program.inputs(0)
    (found,) = executed(compiled, load_target_spec("h200"), inputs)
    expected = program.attention(inputs)
    scale = np.abs(expected[np.isfinite(expected)]).max(initial=1.0)
    tolerance = TOLERANCES[program.element] * scale
    np.testing.assert_allclose(
        found.astype(np.float64), expected, rtol=0, atol=tolerance
    )
