"""Functions of 16-bit numbers that take less on a GPU are right for every number."""

import numpy as np
import pytest
from differential import compiled_results
from special_values import DTYPE

PROGRAM = """
func.func @main(%x: tensor<65536x{t}>) -> tensor<65536x{t}> {{
  %y = graph.tanh %x : tensor<65536x{t}>
  func.return %y : tensor<65536x{t}>
}}
"""


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_hyperbolic_tangents(element: str):
    """Rounded as the exact result is, but for few, which are next to it."""
    every = np.arange(65536, dtype=np.uint16).view(DTYPE[element])
    wide = every.astype(np.float32).astype(np.float64)

    (found,) = compiled_results(PROGRAM.format(t=element), {"x": every}, "h200")

    right = np.tanh(wide).astype(DTYPE[element])
    numbers = ~np.isnan(wide)
    assert np.isnan(found[~numbers].astype(np.float32)).all()
    bits = (each[numbers].view(np.int16).astype(int) for each in (found, right))
    distance = np.abs(np.subtract(*bits))
    assert distance.max() <= 1
    assert (distance > 0).mean() < 1e-3
