"""
Arithmetic in f32 that is rounded to 16 bits: the results of every stage, and those of
Triton, are those of the reference, bit by bit.
"""

import warnings

import ml_dtypes
import numpy as np
import pytest
from differential import parsed
from every_stage import bits, check, every_result

from tlf.dialects.interpreters.interpret import interpret

DTYPES = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}

ALL = np.arange(1 << 16, dtype=np.uint16)


def program(element: str, size: int) -> str:
    """Return a sum, difference and product, rounded, and such a product by itself."""
    narrow, wide = f"tensor<{size}x64x{element}>", f"tensor<{size}x64xf32>"
    row, wide_row = f"tensor<64x{element}>", "tensor<64xf32>"
    results = ", ".join([narrow] * 4)
    computed = "\n".join(
        f"""
        %{name} = graph.{name} %a, %b : ({wide}, {wide_row}) -> {wide}
        %{name}0 = graph.cast %{name} : ({wide}) -> {narrow}"""
        for name in ("add", "sub", "mul")
    )
    return f"""
    func.func @f(%x: {narrow}, %y: {row}) -> ({results}) {{
      %a = graph.cast %x : ({narrow}) -> {wide}
      %b = graph.cast %y : ({row}) -> {wide_row}
      {computed}
      %same = graph.mul %x, %y : ({narrow}, {row}) -> {narrow}
      func.return %add0, %sub0, %mul0, %same : {results}
    }}
    """


@pytest.mark.parametrize("element", DTYPES)
def test_all_numbers(element: str) -> None:
    x = ALL.view(DTYPES[element]).reshape(-1, 64)
    y = np.random.default_rng(0).permutation(ALL)[:64].view(DTYPES[element])
    with warnings.catch_warnings(action="ignore"):
        check(program(element, len(x)), {"x": x, "y": y})


@pytest.mark.parametrize("factor", [0.08838834764, -0.2041241452, 1.7, 0.5])
def test_products_with_a_number(factor: float) -> None:
    text = f"""
    func.func @f(%x: tensor<1024x64xbf16>) -> tensor<1024x64xbf16> {{
      %k = graph.constant dense<{factor}> : tensor<f32>
      %a = graph.cast %x : (tensor<1024x64xbf16>) -> tensor<1024x64xf32>
      %b = graph.mul %a, %k : (tensor<1024x64xf32>, tensor<f32>) -> tensor<1024x64xf32>
      %c = graph.cast %b : (tensor<1024x64xf32>) -> tensor<1024x64xbf16>
      func.return %c : tensor<1024x64xbf16>
    }}
    """
    x = ALL.view(DTYPES["bf16"]).reshape(-1, 64)
    with warnings.catch_warnings(action="ignore"):
        (expected,) = interpret(parsed(text)[1], {"x": x})
        steps = dict(every_result(text, {"x": x}, "h200"))
    is_small = np.abs(expected.astype(float)) < 2.0**-100
    for (got,) in steps.values():
        # x times the lower part of a factor may be subnormal, and lose bits.
        kept = np.where(is_small, expected, got).astype(expected.dtype)
        assert bits(kept) == bits(expected)
        np.testing.assert_allclose(
            got.astype(float), expected.astype(float), rtol=0.01, atol=1e-40
        )
    assert "mem-narrow-arithmetic" in steps
