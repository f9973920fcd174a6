"""
Operations on 16-bit numbers that a GPU computes otherwise than those on f32, because it
takes less, are right for every number.
"""

import numpy as np
import pytest
from differential import compiled_results
from special_values import DTYPE

PROGRAM = """
func.func @main(%x: tensor<65536x{t}>) -> tensor<65536x{t}> {{
  {body}
  func.return %y : tensor<65536x{t}>
}}
"""

QUOTIENT = """
  %c = graph.constant dense<{n}> : tensor<65536x{t}>
  %y = graph.div %x, %c : (tensor<65536x{t}>, tensor<65536x{t}>) -> tensor<65536x{t}>
"""


def check(element: str, body: str, right: np.ndarray, every: np.ndarray):
    """Rounded as the exact results are, but for few, which are next to them."""
    program = PROGRAM.format(t=element, body=body.format(t=element))

    (found,) = compiled_results(program, {"x": every}, "h200")

    numbers = ~np.isnan(right)
    assert np.isnan(found[~numbers].astype(np.float32)).all()
    with np.errstate(over="ignore"):
        rounded = right.astype(DTYPE[element])
    bits = (each[numbers].view(np.int16).astype(int) for each in (found, rounded))
    distance = np.abs(np.subtract(*bits))
    assert distance.max() <= 1
    assert (distance > 0).mean() < 1e-3


def every_number(element: str) -> tuple[np.ndarray, np.ndarray]:
    """All numbers of a type, and the same in f64."""
    every = np.arange(65536, dtype=np.uint16).view(DTYPE[element])
    with np.errstate(invalid="ignore"):
        return every, every.astype(np.float32).astype(np.float64)


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_hyperbolic_tangents(element: str):
    every, wide = every_number(element)

    check(element, "%y = graph.tanh %x : tensor<65536x{t}>", np.tanh(wide), every)


@pytest.mark.one_in(1 / 4)
@pytest.mark.parametrize("divisor", [20.0, -3.0, 0.0078125, 40960.0])
@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_quotients(element: str, divisor: float):
    every, wide = every_number(element)
    exact = float(np.float32(np.array(divisor, DTYPE[element])))

    check(element, QUOTIENT.format(n=divisor, t=element), wide / exact, every)


ROUNDED = """
func.func @main(%x: tensor<{n}xf32>) -> tensor<{n}x{t}> {{
  %y = graph.cast %x : (tensor<{n}xf32>) -> tensor<{n}x{t}>
  func.return %y : tensor<{n}x{t}>
}}
"""


@pytest.mark.parametrize("count", [1, 7, 20000])
@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_rounding(element: str, count: int):
    """Of any bits, and of what is half way between two numbers."""
    bits = np.random.default_rng(count).integers(0, 2**32, count, np.uint32)
    bits[::3] &= np.uint32(0xFFFFE000 if element == "f16" else 0xFFFF8000)
    wide = bits.view(np.float32)
    program = ROUNDED.format(t=element, n=count)

    (found,) = compiled_results(program, {"x": wide}, "h200")

    with np.errstate(over="ignore", invalid="ignore"):
        right = wide.astype(DTYPE[element])
    same = found.view(np.int16) == right.view(np.int16)
    assert (same | (np.isnan(wide) & np.isnan(found.astype(np.float32)))).all()
