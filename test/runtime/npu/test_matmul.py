"""The matrix engine against numpy in double precision."""

from collections.abc import Callable

import numpy as np
import pytest

from tlf.runtime.npu import Report
from tlf.runtime.npu.dtypes import DTYPES, Array

Simulate = Callable[..., Report]

TOLERANCE = {"f32": 1e-5, "f16": 2**-10, "bf16": 2**-8}


def random(dtype: str, seed: int, shape: tuple[int, ...]) -> Array:
    generator = np.random.default_rng(seed)
    if dtype.startswith("i"):
        return generator.integers(-9, 10, shape).astype(DTYPES[dtype])
    return generator.standard_normal(shape).astype(DTYPES[dtype])


def operand(name: str, array: Array, dtype: str) -> str:
    return f"${name}({', '.join(map(str, array.strides))}):{dtype}"


PAIRS = [
    ("f32", "f32"),
    ("f16", "f32"),
    ("f16", "f16"),
    ("bf16", "f32"),
    ("bf16", "bf16"),
    ("i32", "i32"),
    ("i8", "i32"),
]


@pytest.mark.parametrize(("dtype", "target"), PAIRS)
@pytest.mark.parametrize("accumulate", ["", "accumulate", "accumulate=%zero"])
def test_batched(simulate: Simulate, dtype: str, target: str, accumulate: str):
    a, b = random(dtype, 1, (3, 5, 19)), random(dtype, 2, (3, 19, 9))
    start = random(target, 3, (3, 5, 9))
    code = f"vector copy dst={operand('c', start, target)} "
    code += f"a={operand('s', start, target)} shape=(3,5,9)\n"
    code += f"matmul c={operand('c', start, target)} a={operand('a', a, dtype)} "
    code += f"b={operand('b', b, dtype)} batch=(3) m=(5) n=(9) k=(19)"
    code = code.replace("\n", "\nsignal vector s0\nwait matrix s0\n")
    code = f"%zero = mov 0\n{code} {accumulate}"
    inputs = {"a": a, "b": b, "s": start}
    report = simulate(code, inputs, {"c": start})
    wanted = np.matmul(a.astype(np.float64), b.astype(np.float64))
    wanted += start.astype(np.float64) if accumulate == "accumulate" else 0
    np.testing.assert_allclose(
        report.outputs["c"].astype(np.float64),
        wanted,
        rtol=TOLERANCE.get(target, 0),
        atol=1e-5 if target in TOLERANCE else 0,
    )
    assert report.macs == 3 * 5 * 9 * 19


def test_accumulates_beyond_the_inputs(simulate: Simulate):
    """4096 ones summed in bf16 would stop at 256."""
    a = np.ones((1, 4096), DTYPES["bf16"])
    b = np.ones((4096, 1), DTYPES["bf16"])
    code = "matmul c=$c(4,4):f32 a=$a(8192,2):bf16 b=$b(2,2):bf16 "
    code += "batch=() m=(1) n=(1) k=(4096)"
    got = simulate(code, {"a": a, "b": b}, {"c": np.zeros((1, 1), np.float32)})
    assert got.outputs["c"].item() == 4096


def test_convolution_by_strides(simulate: Simulate):
    """The taps of a strided convolution are dimensions of k over a window of x."""
    height, width, channels, filters, taps, stride = 9, 7, 3, 5, 3, 2
    x = random("f32", 1, (height, width, channels))
    w = random("f32", 2, (taps, taps, channels, filters))
    rows, cols = (height - taps) // stride + 1, (width - taps) // stride + 1
    y = np.zeros((rows, cols, filters), np.float32)
    down, right, deep = x.strides
    code = f"""
    matmul c=$y({y.strides[0]},{y.strides[1]},4):f32
     a=$x({stride * down},{stride * right},{down},{right},{deep}):f32
     b=$w({",".join(map(str, w.strides))}):f32
     batch=() m=({rows},{cols}) n=({filters}) k=({taps},{taps},{channels})"""
    code = " ".join(code.split())
    got = simulate(code, {"x": x, "w": w}, {"y": y}).outputs["y"]
    windows = np.lib.stride_tricks.sliding_window_view(
        x.astype(np.float64), (taps, taps), (0, 1)
    )[::stride, ::stride]
    wanted = np.einsum("hwcij,ijcf->hwf", windows, w.astype(np.float64))
    np.testing.assert_allclose(got.astype(np.float64), wanted, rtol=1e-5, atol=1e-5)


def test_transposed_and_shared_operands(simulate: Simulate):
    """b is transposed and the same for the whole batch; c is written transposed."""
    a, b = random("f16", 1, (2, 6, 4)), random("f16", 2, (5, 4))
    code = "matmul c=$c(120,4,24):f32 a=$a(48,8,2):f16 b=$b(0,2,8):f16 "
    code += "batch=(2) m=(6) n=(5) k=(4)"
    c = np.zeros((2, 5, 6), np.float32)
    got = simulate(code, {"a": a, "b": b}, {"c": c}).outputs["c"]
    wanted = np.einsum("bmk,nk->bnm", a.astype(np.float64), b.astype(np.float64))
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


def test_tf32_drops_bits(simulate: Simulate):
    """tf32 keeps 10 bits of mantissa: 1 + 2^-11 is a tie and goes to the even 1."""
    a = np.array([[1 + 2**-11, 1 + 2**-10, 1 + 3 * 2**-11, -np.inf]], np.float32).T
    b = np.array([[1]], np.float32)
    code = "matmul c=$c(4,4):f32 a=$a(4,4):f32 b=$b(4,4):f32 "
    code += "batch=() m=(4) n=(1) k=(1) precision="
    c = np.zeros((4, 1), np.float32)
    inputs = {"a": a, "b": b}
    exact = simulate(code + "ieee", inputs, {"c": c}).outputs["c"]
    assert np.array_equal(exact, a)
    short = simulate(code + "tf32", inputs, {"c": c}).outputs["c"]
    assert short.ravel().tolist() == [1, 1 + 2**-10, 1 + 2**-9, -np.inf]


def test_no_k_is_zero(simulate: Simulate):
    code = "matmul c=$c(8,4):f32 a=L1[64](4,4):f32 b=L1[64](4,4):f32 "
    code += "batch=() m=(3) n=(2) k=(0)"
    c = np.ones((3, 2), np.float32)
    assert not simulate(code, {}, {"c": c}).outputs["c"].any()
