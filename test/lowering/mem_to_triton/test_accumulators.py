"""
Accumulators of loops: carried in the shape of the matrix product that adds to them.
"""

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from tlf.runtime.triton.launch_plan import Plan

Check = Callable[[str, Mapping[str, np.ndarray]], Mapping[str, np.ndarray]]

MAPS = """[affine_map<(b, m, h, n, k) -> (b, h, m, k)>,
           affine_map<(b, m, h, n, k) -> (n, b, h, k)>,
           affine_map<(b, m, h, n, k) -> (b, m, h, n)>]"""


def attention_scores(body: str) -> str:
    """
    Scores of 2 heads, 20 rows by 30 columns, 70 deep, in one program; `body` computes
    `%r` from the accumulator `%s`, with `%zero`, `%deep` and `%step` at hand.
    """
    return f"""
func.func @f(%x: memref<1x2x20x70xf16, "L3">, %w: memref<30x1x2x70xf16, "L3">,
    %y: memref<1x20x2x30xf32, "L3">) attributes {{tlf.results = 1 : i64}} {{
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  %one = arith.constant 1 : index
  %deep = arith.constant 70 : index
  %step = arith.constant 16 : index
  %s = mem.fill 0.5 -> tensor<1x32x2x32xf32>
  {body}
  mem.store %r to %y[0, 0, 0, 0] size [1, 20, 2, 30]
      : tensor<1x32x2x32xf32> to memref<1x20x2x30xf32, "L3">
  func.return
}}"""


def step(acc: str, result: str, head: str = "0") -> str:
    """
    One step of the depth `%k` for both heads, or for one of them.
    """
    return f"""
    %a = mem.load %x[0, {head}, 0, %k] size [1, 2, 20, 16] fill 0.0
        : memref<1x2x20x70xf16, "L3"> -> tensor<1x2x32x16xf16>
    %b = mem.load %w[0, 0, {head}, %k] size [30, 1, 2, 16] fill 0.0
        : memref<30x1x2x70xf16, "L3"> -> tensor<32x1x2x16xf16>
    %{result} = mem.contract ins(%a, %b : tensor<1x2x32x16xf16>, tensor<32x1x2x16xf16>)
        outs(%{acc} : tensor<1x32x2x32xf32>) domain [1, 32, 2, 32, 16] maps {MAPS}
        -> tensor<1x32x2x32xf32>"""


ACC = "tensor<1x32x2x32xf32>"

LOOP = f"""
  %r = scf.for %k = %zero to %deep step %step iter_args(%c = %s) -> ({ACC}) {{
    {step("c", "d")}
    scf.yield %d : {ACC}
  }}"""

NEST = f"""
  %r = scf.for %h = %zero to %two step %one iter_args(%p = %s) -> ({ACC}) {{
    %q = scf.for %k = %zero to %deep step %step iter_args(%c = %p) -> ({ACC}) {{
      {step("c", "d")}
      scf.yield %d : {ACC}
    }}
    scf.yield %q : {ACC}
  }}"""

TWICE = f"""
  %r = scf.for %k = %zero to %deep step %step iter_args(%c = %s) -> ({ACC}) {{
    {step("c", "d")}
    {step("d", "e").replace("%a", "%a2").replace("%b", "%b2")}
    scf.yield %e : {ACC}
  }}"""


def identity(name: str, source: str) -> str:
    return f"""
    %{name} = mem.map ins(%{source} : {ACC}) domain [1, 32, 2, 32]
        maps [affine_map<(a, b, c, d) -> (a, b, c, d)>,
              affine_map<(a, b, c, d) -> (a, b, c, d)>] {{
    ^bb1(%e: f32):
      mem.yield %e : f32
    }} -> {ACC}"""


USED = f"""
  %r = scf.for %k = %zero to %deep step %step iter_args(%c = %s) -> ({ACC}) {{
    {step("c", "d")}
    {identity("f", "d")}
    scf.yield %f : {ACC}
  }}"""


def expected(inputs: Mapping[str, np.ndarray], times: int) -> np.ndarray:
    x, w = (inputs[name].astype(np.float64) for name in "xw")
    return 0.5 + times * np.einsum("bhmk,nbhk->bmhn", x, w)


@pytest.mark.parametrize(
    ("body", "times", "inside"),
    [(LOOP, 1, False), (NEST, 2, False), (TWICE, 2, True), (USED, 1, True)],
    ids=["loop", "nest", "twice", "used"],
)
def test_accumulator(
    check: Check,
    plan_of: Callable[[str], Plan],
    body: str,
    times: int,
    *,
    inside: bool,
) -> None:
    draw = np.random.default_rng(3)
    inputs = {
        "x": draw.standard_normal((1, 2, 20, 70)).astype(np.float16),
        "w": draw.standard_normal((30, 1, 2, 70)).astype(np.float16),
    }
    text = attention_scores(body)
    got = check(text, inputs)["y"]
    np.testing.assert_allclose(got, expected(inputs, times), rtol=1e-4, atol=1e-3)
    lines = plan_of(text).kernels[0].source.splitlines()
    dots = [line for line in lines if "tl.dot" in line]
    assert all(("tl.trans(tl.reshape" in dot) == inside for dot in dots), dots


def test_matrix_as_it_is(check: Check, plan_of: Callable[[str], Plan]) -> None:
    """
    A plain product of matrices is not reshaped at all.
    """
    text = """
func.func @f(%x: memref<20x70xf32, "L3">, %w: memref<70x30xf32, "L3">,
    %y: memref<20x30xf32, "L3">) attributes {tlf.results = 1 : i64} {
  %zero = arith.constant 0 : index
  %deep = arith.constant 70 : index
  %step = arith.constant 16 : index
  %s = mem.fill 0.0 -> tensor<32x32xf32>
  %r = scf.for %k = %zero to %deep step %step iter_args(%c = %s)
      -> (tensor<32x32xf32>) {
    %a = mem.load %x[0, %k] size [20, 16] fill 0.0
        : memref<20x70xf32, "L3"> -> tensor<32x16xf32>
    %b = mem.load %w[%k, 0] size [16, 30] fill 0.0
        : memref<70x30xf32, "L3"> -> tensor<16x32xf32>
    %d = mem.contract ins(%a, %b : tensor<32x16xf32>, tensor<16x32xf32>)
        outs(%c : tensor<32x32xf32>) domain [32, 32, 16]
        maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
              affine_map<(m, n, k) -> (m, n)>] -> tensor<32x32xf32>
    scf.yield %d : tensor<32x32xf32>
  }
  mem.store %r to %y[0, 0] size [20, 30]
      : tensor<32x32xf32> to memref<20x30xf32, "L3">
  func.return
}"""
    draw = np.random.default_rng(3)
    x = draw.standard_normal((20, 70)).astype(np.float32)
    w = draw.standard_normal((70, 30)).astype(np.float32)
    got = check(text, {"x": x, "w": w})["y"]
    np.testing.assert_allclose(got, x.astype(np.float64) @ w, rtol=1e-5, atol=1e-5)
    source = plan_of(text).kernels[0].source
    assert "reshape" not in source
    assert "trans" not in source
