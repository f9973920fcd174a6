"""Compiled programs store every result once, and read none back."""

from pathlib import Path

import numpy as np
import pytest

import tlf
from tlf.runtime.npu import parse, run
from tlf.runtime.npu.dtypes import DTYPES

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("name", ["residual_mlp", "rolling_bottleneck", "softmax"])
def test_exactly_once(name: str):
    compiled = tlf.compile(EXAMPLES / f"{name}.mlir", target="npu-tiny")
    program = parse(compiled.ir("program.npu"))
    generator = np.random.default_rng(0)
    inputs = {
        each: generator.random(buffer.shape).astype(DTYPES[buffer.dtype])
        for each, buffer in program.inputs.items()
    }
    report = run(program, inputs, exactly_once=True)
    written = sum(buffer.nbytes for buffer in program.outputs.values())
    assert report.traffic["L3"].written >= written
