"""Sorting and places of extremes, with NaN, infinities, signed zeros and ties."""

import numpy as np
import pytest
from differential import compiled_results
from numpy import inf, nan

from tlf.runtime.npu.dtypes import DTYPES

ROWS = [
    [nan, -0.0, 0.0, inf, -inf, nan, 1, 1, -0.0],
    [0.0, -0.0, 2, 2, -inf, -inf, inf, inf, 0.0],
    [nan, -nan, nan, 3, -3, 3, 1e-7, -1e-7, 0],
]

PROGRAMS = {
    "ascending": """
func.func @main(%x: tensor<3x9x{T}>) -> (tensor<3x9x{T}>, tensor<3x9xi64>) {{
  %v, %i = graph.sort %x axis 1
      : (tensor<3x9x{T}>) -> (tensor<3x9x{T}>, tensor<3x9xi64>)
  func.return %v, %i : tensor<3x9x{T}>, tensor<3x9xi64>
}}""",
    "first of rows and columns": """
func.func @main(%x: tensor<3x9x{T}>)
    -> (tensor<3x1x{T}>, tensor<3x1xi64>, tensor<1x9x{T}>, tensor<1x9xi64>) {{
  %v, %i = graph.sort %x axis 1 descending
      : (tensor<3x9x{T}>) -> (tensor<3x1x{T}>, tensor<3x1xi64>)
  %w, %j = graph.sort %x axis 0 descending
      : (tensor<3x9x{T}>) -> (tensor<1x9x{T}>, tensor<1x9xi64>)
  func.return %v, %i, %w, %j
      : tensor<3x1x{T}>, tensor<3x1xi64>, tensor<1x9x{T}>, tensor<1x9xi64>
}}""",
    "places": """
func.func @main(%x: tensor<3x9x{T}>) -> (tensor<3xi64>, tensor<9xi64>) {{
  %i = graph.arg_reduce %x <max> axis 1 : (tensor<3x9x{T}>) -> tensor<3xi64>
  %j = graph.arg_reduce %x <min> axis 0 : (tensor<3x9x{T}>) -> tensor<9xi64>
  func.return %i, %j : tensor<3xi64>, tensor<9xi64>
}}""",
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("element", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("target", ["npu", "h200"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_special_values(name: str, target: str, element: str):
    text = PROGRAMS[name].format(T=element)
    inputs = {"x": np.array(ROWS, np.float32).astype(DTYPES[element])}

    found = compiled_results(text, inputs, target)

    for mine, theirs in zip(
        found, compiled_results(text, inputs, "reference"), strict=True
    ):
        wide, right = mine.astype(np.float64), theirs.astype(np.float64)
        np.testing.assert_array_equal(wide, right)
        assert (np.signbit(wide) == np.signbit(right))[~np.isnan(right)].all()
