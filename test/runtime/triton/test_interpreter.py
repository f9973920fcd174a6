"""
The repaired interpreter: rounding, bfloat16, reductions, libdevice and sanitizers.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tlf.runtime.triton import KernelError, run
from tlf.runtime.triton.sanitizers import sanitize

BF16 = np.dtype(ml_dtypes.bfloat16)

HEADER = """\
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
"""

NAMES = {
    np.dtype(np.float32): "f32",
    np.dtype(np.float16): "f16",
    np.dtype(np.int32): "i32",
    BF16: "bf16",
}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLF_CACHE_DIR", str(tmp_path))


def buffer(name: str, kind: str, dtype: np.dtype, shape: Sequence[int]) -> object:
    return {"name": name, "kind": kind, "dtype": NAMES[dtype], "shape": list(shape)}


def launch(
    lines: str,
    inputs: Mapping[str, np.ndarray],
    dtype: np.dtype,
    shape: Sequence[int],
    *,
    grid: int = 1,
    helpers: str = "",
) -> np.ndarray:
    """
    Run the lines of a kernel with the pointers `p0`, ... of inputs, then of `y`.
    """
    parameters = [f"p{number}" for number in range(len(inputs) + 1)]
    body = "\n".join(f"    {line.strip()}" for line in lines.strip().splitlines())
    source = f"{HEADER}def kernel({', '.join(parameters)}):\n{body}\n{helpers}"
    plan = {
        "schema": "tlf-triton-plan",
        "version": 2,
        "arena_bytes": 0,
        "function": "f",
        "kernels": [
            {
                "name": "kernel",
                "sha256": hashlib.sha256(source.encode()).hexdigest(),
                "source": source,
                "grid": [grid],
                "num_warps": 4,
                "num_stages": 1,
                "arguments": parameters,
            }
        ],
        "buffers": [
            *(buffer(n, "argument", x.dtype, x.shape) for n, x in inputs.items()),
            buffer("y", "result", dtype, shape),
        ],
        "arguments": list(inputs),
        "results": ["y"],
        "steps": [
            {
                "launch": "kernel",
                "arguments": [{"buffer": name} for name in (*inputs, "y")],
            }
        ],
    }
    return np.asarray(run(plan, inputs)["y"])


def random(dtype: np.dtype, *shape: int) -> np.ndarray:
    return (np.random.default_rng(0).standard_normal(shape) * 3).astype(dtype)


@pytest.mark.parametrize("target", [BF16, np.dtype(np.float16)])
def test_cast_rounds_to_nearest_even(target: np.dtype) -> None:
    x = random(np.dtype(np.float32), 1024)
    # Halfway between neighbours, a carry into the exponent, and what does not fit.
    x[:8] = [1.00390625, 1.01171875, 1.999, -7.998, np.inf, -np.inf, np.nan, 1e-6]
    name = "tl.bfloat16" if target == BF16 else "tl.float16"
    lines = f"""r = tl.arange(0, 1024)
        tl.store(p1 + r, tl.load(p0 + r).to({name}))"""
    got = launch(lines, {"x": x}, target, [1024])
    expected = x.astype(target)
    np.testing.assert_array_equal(
        got.astype(np.float32), expected.astype(np.float32), strict=True
    )


ARITHMETIC: list[tuple[str, Callable[[Any, Any], Any]]] = [
    ("a + b", np.add),
    ("a * b", np.multiply),
    ("a - b", np.subtract),
    ("tl.maximum(a, b)", np.maximum),
    ("tl.where(a > b, a, b)", np.maximum),
    ("tl.fma(a, b, a)", lambda a, b: a * b + a),
    ("tl.where(a == b, 1.0, a / b).to(tl.bfloat16)", np.divide),
    ("-a + tl.full([64], 1.5, tl.bfloat16) * 0", lambda a, _: -a),
]


@pytest.mark.parametrize(("expression", "function"), ARITHMETIC)
def test_bfloat16_arithmetic(
    expression: str, function: Callable[[Any, Any], Any]
) -> None:
    a, b = random(BF16, 64), random(BF16, 64)[::-1].copy()
    lines = f"""r = tl.arange(0, 64)
        a = tl.load(p0 + r)
        b = tl.load(p1 + r)
        tl.store(p2 + r, {expression})"""
    got = launch(lines, {"a": a, "b": b}, BF16, [64])
    expected = function(a.astype(np.float32), b.astype(np.float32)).astype(BF16)
    np.testing.assert_array_equal(got, expected)


def test_bfloat16_dot_and_sum() -> None:
    a, b = random(BF16, 16, 32), random(BF16, 32, 16)
    lines = """r = tl.arange(0, 16)
        k = tl.arange(0, 32)
        a = tl.load(p0 + r[:, None] * 32 + k[None, :])
        b = tl.load(p1 + k[:, None] * 16 + r[None, :])
        y = tl.dot(a, b) + tl.sum(a, axis=1)[:, None]
        tl.store(p2 + r[:, None] * 16 + r[None, :], y)"""
    got = launch(lines, {"a": a, "b": b}, np.dtype(np.float32), [16, 16])
    wide = a.astype(np.float64)
    total = wide.sum(axis=1).astype(BF16).astype(np.float64)
    expected = wide @ b.astype(np.float64) + total[:, None]
    np.testing.assert_allclose(got, expected, rtol=1e-2, atol=0.2)


def test_tf32_drops_the_low_bits_of_factors() -> None:
    a = random(np.dtype(np.float32), 16, 16)
    lines = """r = tl.arange(0, 16)
        a = tl.load(p0 + r[:, None] * 16 + r[None, :])
        y = tl.dot(a, a, input_precision="PRECISION")
        tl.store(p1 + r[:, None] * 16 + r[None, :], y)"""
    exact = a.astype(np.float64) @ a.astype(np.float64)
    cut = (a.view(np.uint32) & 0xFFFFE000).view(np.float32).astype(np.float64)
    for precision, expected in (
        ("ieee", exact),
        ("tf32x3", exact),
        ("tf32", cut @ cut),
    ):
        kernel = lines.replace("PRECISION", precision)
        got = launch(kernel, {"a": a}, np.dtype(np.float32), [16, 16])
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


def test_loop_over_a_computed_bound() -> None:
    x = random(np.dtype(np.float32), 8)
    lines = """n = tl.minimum(tl.program_id(0) + 5, 6)
        y = tl.full([8], 0.0, tl.float32)
        for k in tl.range(0, n, 2, num_stages=2): y += tl.load(p0 + k)
        tl.store(p1 + tl.arange(0, 8), y)"""
    got = launch(lines, {"x": x}, np.dtype(np.float32), [8])
    np.testing.assert_allclose(got, x[0] + x[2] + x[4], rtol=1e-6)


def test_reduction_with_a_function() -> None:
    x = random(np.dtype(np.float32), 8, 32)
    x[3, 4] = np.nan
    helpers = """

@triton.jit
def top(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)
"""
    lines = """r = tl.arange(0, 8)
        x = tl.load(p0 + r[:, None] * 32 + tl.arange(0, 32)[None, :])
        tl.store(p1 + r, tl.reduce(x, 1, top))"""
    got = launch(lines, {"x": x}, np.dtype(np.float32), [8], helpers=helpers)
    np.testing.assert_array_equal(got, x.max(axis=1))
    lines = """r = tl.arange(0, 8)
        x = tl.load(p0 + r[:, None] * 32 + tl.arange(0, 32)[None, :])
        tl.store(p1 + r, tl.reduce(x, 1, top, keep_dims=True).reshape(8))"""
    got = launch(lines, {"x": x}, np.dtype(np.float32), [8], helpers=helpers)
    np.testing.assert_array_equal(got, x.max(axis=1))


def test_maximum_without_nan() -> None:
    x = np.array([1, np.nan, 3, np.nan], np.float32)
    y = np.array([2, 2, np.nan, np.nan], np.float32)
    lines = """r = tl.arange(0, 4)
        tl.store(p2 + r, tl.maximum(tl.load(p0 + r), tl.load(p1 + r)))"""
    got = launch(lines, {"x": x, "z": y}, np.dtype(np.float32), [4])
    np.testing.assert_array_equal(got, [2, 2, 3, np.nan])


def test_comparison_of_single_numbers_repeats() -> None:
    x = np.array([2.5], np.float32)
    lines = """same = tl.load(p0) == tl.load(p0)
        all = same & tl.broadcast_to(same, [4])
        tl.store(p1 + tl.arange(0, 4), tl.where(all, 1.0, 0.0))"""
    got = launch(lines, {"x": x}, np.dtype(np.float32), [4])
    np.testing.assert_array_equal(got, np.ones(4))


COPY = """r = tl.program_id(0) * STEP + tl.arange(0, 16)
    tl.store(p1 + r, tl.load(p0 + r, mask=r < 10, other=OTHER), mask=r < LIMIT)"""


def copy(step: int, limit: int, grid: int, other: str = "0.0") -> np.ndarray:
    lines = COPY.replace("STEP", str(step)).replace("LIMIT", str(limit))
    lines = lines.replace(", other=OTHER", f", other={other}" if other else "")
    x = random(np.dtype(np.float32), 10)
    return launch(lines, {"x": x}, np.dtype(np.float32), [12], grid=grid)


def test_sanitizers_pass_a_correct_kernel() -> None:
    with sanitize():
        assert not np.isnan(copy(16, 12, 1)).any()


def test_poison_marks_lanes_without_a_fill() -> None:
    with sanitize():
        got = copy(16, 12, 1, other="")
    np.testing.assert_array_equal(np.isnan(got), [False] * 10 + [True] * 2)


def test_bounds_are_checked() -> None:
    with sanitize(), pytest.raises(KernelError, match="store out of bounds in program"):
        copy(16, 16, 1)


def test_races_are_found() -> None:
    message = "stores where another program stores"
    with sanitize(), pytest.raises(KernelError, match=message):
        copy(8, 12, 2)
    copy(8, 12, 2)


def test_race_of_a_load_and_a_store() -> None:
    lines = """p = tl.program_id(0)
        tl.store(p1 + p, tl.load(p1 + 1 - p))"""
    x = random(np.dtype(np.float32), 2)
    with sanitize(), pytest.raises(KernelError, match="what another program"):
        launch(lines, {"x": x}, np.dtype(np.float32), [2], grid=2)


def test_repeated_operands_of_a_combination() -> None:
    """A pointer, a value or a mask that repeats stands for each of its elements."""
    lines = """r = tl.arange(0, 4)
        tl.store(p1 + r, 0.0)
        pointers = tl.broadcast_to(p1 + r[None, :], [2, 4])
        tl.atomic_add(pointers, tl.load(p0), mask=(r < 3)[None, :])"""
    x = np.array([2.5], np.float32)
    with sanitize():
        sums = launch(lines, {"x": x}, np.dtype(np.float32), [4])
    assert sums.tolist() == [5, 5, 5, 0]


def test_programs_combine_with_the_same_elements() -> None:
    with sanitize():
        launch("tl.atomic_add(p0, 1.0)", {}, np.dtype(np.float32), [1], grid=3)


ATOMIC = "tl.atomic_add(p0, 1.0, mask=p == 1)"


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("tl.store(p0, 1.0, mask=p == 0)", ATOMIC, "combines with .* stores"),
        ("tl.load(p0, mask=p == 0)", ATOMIC, "combines with .* loads"),
        (ATOMIC, "tl.store(p0, 1.0, mask=p == 2)", "stores where another"),
        (ATOMIC, "tl.load(p0, mask=p == 2)", "loads what another"),
    ],
)
def test_races_with_a_combination(first: str, second: str, message: str) -> None:
    lines = f"p = tl.program_id(0)\n{first}\n{second}"
    with sanitize(), pytest.raises(KernelError, match=message):
        launch(lines, {}, np.dtype(np.float32), [1], grid=3)


def test_failing_kernel_is_named() -> None:
    with pytest.raises(KernelError, match="kernel 'kernel': NameError"):
        launch("unknown(p0)", {}, np.dtype(np.float32), [1])
