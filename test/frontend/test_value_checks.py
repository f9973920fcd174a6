"""Indices and divisors that PyTorch refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional
from torch_check import T

from tlf.tools.compile import compile as compile_program
from tlf.tools.torch_backend import REPORT, tlf

PROGRAM = """
func.func @f(%x: tensor<5x4xf32>, %i: tensor<6xi64>, %j: tensor<3x4xi64>,
             %u: tensor<3x4xf32>)
    -> (tensor<6x4xf32>, tensor<3x4xf32>, tensor<5x4xf32>) {
  %0 = graph.take %x, %i axis 0 : (tensor<5x4xf32>, tensor<6xi64>) -> tensor<6x4xf32>
  %1 = graph.gather %x, %j axis 0
      : (tensor<5x4xf32>, tensor<3x4xi64>) -> tensor<3x4xf32>
  %2 = graph.scatter %x, %j, %u axis 0 <set>
      : (tensor<5x4xf32>, tensor<3x4xi64>, tensor<3x4xf32>) -> tensor<5x4xf32>
  func.return %0, %1, %2 : tensor<6x4xf32>, tensor<3x4xf32>, tensor<5x4xf32>
}
"""


@pytest.mark.parametrize("target", ["reference", "npu-tiny", "triton"])
def test_that_nothing_outside_is_read_or_written(target: str):
    x = np.arange(1, 21, dtype=np.float32).reshape(5, 4)
    places = np.array([0, 4, 5, -1, 2**40, -(2**40)])
    each = np.array([[0, 5, -1, 2**33]] * 3)
    found: Any = compile_program(PROGRAM, target=target)(
        x, places, each, np.full((3, 4), 9, np.float32)
    )
    taken, gathered, scattered = found
    np.testing.assert_array_equal(taken, [*x[[0, 4]], *np.zeros((4, 4))])
    np.testing.assert_array_equal(gathered, [[1, 0, 0, 0]] * 3)
    x[0, 0] = 9
    np.testing.assert_array_equal(scattered, x)


ROWS, WRONG = T.ones(5, 2), T.tensor([2, 7])
WHOLE, ZERO = T.tensor([5, 6]), T.tensor([0, 1])

CALLS = [
    ("F.embedding(y, x)", ROWS, WRONG),
    ("x.index_select(0, y) * 2", ROWS, WRONG),
    ("x.scatter(0, y[None], 2.0)", ROWS, WRONG),
    ("x.index_put((y,), x[0])", ROWS, WRONG),
    ("T.remainder(x, y)", WHOLE, ZERO),
    ("T.floor_divide(x, y)", WHOLE, ZERO),
]


@pytest.mark.parametrize(("text", "x", "y"), CALLS)
def test_checked(text: str, x: Any, y: Any):
    """PyTorch raises what it raises by itself."""
    call: Any = eval(f"lambda x, y: {text}", {"T": torch, "F": functional})
    with pytest.raises((IndexError, RuntimeError)) as expected:
        call(x, y)
    torch.compiler.reset()
    REPORT.clear()
    given = {"target": "reference", "check_indices": True}
    compiled = T.compile(call, backend=tlf, options=given)
    with torch.no_grad():
        with pytest.raises(expected.type, match=str(expected.value)[:20]):
            compiled(x, y)
        good = T.ones_like(y)
        torch.testing.assert_close(compiled(x, good), call(x, good))
