"""
Single operations of `mem`, interpreted and on the simulated NPU, against numpy.
"""

import math
from collections.abc import Callable, Sequence

import ml_dtypes
import numpy as np
import pytest
from mem_programs import memref, wrapped
from numpy.typing import NDArray

from tlf.runtime.npu import Report

Array = NDArray[np.generic]
Floats = NDArray[np.float64]
Function = Callable[..., Array]
Interpret = Callable[[str, Sequence[Array]], None]
Simulate = Callable[[str, Sequence[Array]], Report]

DTYPES = {
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "i32": np.dtype(np.int32),
    "i1": np.dtype(np.bool_),
}
TOLERANCE = {"f32": 1e-5, "f16": 2e-3, "bf16": 1.6e-2, "i32": 0, "i1": 0}


Check = Callable[[str, Sequence[Array], Sequence[Array], float], None]


def _round(x: Floats) -> Floats:
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


def _rsqrt(x: Floats) -> Floats:
    return 1 / np.sqrt(x)


def _divide(a: NDArray[np.int64], b: NDArray[np.int64]) -> Floats:
    return np.trunc(a / b)


UNARY: dict[str, Function] = {
    "arith.negf": np.negative,
    "math.absf": np.abs,
    "math.acos": np.arccos,
    "math.asin": np.arcsin,
    "math.asinh": np.arcsinh,
    "math.atan": np.arctan,
    "math.atanh": np.arctanh,
    "math.cbrt": np.cbrt,
    "math.ceil": np.ceil,
    "math.cos": np.cos,
    "math.cosh": np.cosh,
    "math.erf": np.vectorize(math.erf),
    "math.exp": np.exp,
    "math.exp2": np.exp2,
    "math.expm1": np.expm1,
    "math.floor": np.floor,
    "math.log": np.log,
    "math.log10": np.log10,
    "math.log1p": np.log1p,
    "math.log2": np.log2,
    "math.round": _round,
    "math.roundeven": np.rint,
    "math.rsqrt": _rsqrt,
    "math.sin": np.sin,
    "math.sinh": np.sinh,
    "math.sqrt": np.sqrt,
    "math.tan": np.tan,
    "math.tanh": np.tanh,
    "math.trunc": np.trunc,
}

BOUNDED = ("math.acos", "math.asin", "math.atanh")
"""Functions that only numbers below 1 have."""


@pytest.mark.one_in(1)
@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str, dtype: str, check_mem: Check) -> None:
    shape = (5, 7)
    high = 0.9 if name in BOUNDED else 3
    x = np.random.default_rng(0).uniform(0.1, high, shape).astype(DTYPES[dtype])
    identity = "affine_map<(a, b) -> (a, b)>"
    body = (
        f"mem.map ins(%a0 : {memref(shape, dtype, 'L1')}) "
        f"outs(%a1 : {memref(shape, dtype, 'L1')}) domain [5, 7] "
        f"maps [{identity}, {identity}] {{\n^bb0(%x: {dtype}):\n"
        f"%z = {name} %x : {dtype}\nmem.yield %z : {dtype}\n}}"
    )
    text = wrapped([(shape, dtype), (shape, dtype)], 1, body)
    expected = UNARY[name](x.astype(np.float64)).astype(x.dtype)
    check_mem(text, [x, np.zeros_like(x)], [expected], TOLERANCE[dtype])


BINARY: dict[str, dict[str, Function]] = {
    "f": {
        "arith.addf": np.add,
        "arith.divf": np.divide,
        "arith.maximumf": np.maximum,
        "arith.maxnumf": np.fmax,
        "arith.minimumf": np.minimum,
        "arith.minnumf": np.fmin,
        "arith.mulf": np.multiply,
        "arith.subf": np.subtract,
        "math.atan2": np.arctan2,
        "math.copysign": np.copysign,
        "mem.remf": np.fmod,
    },
    "i": {
        "arith.addi": np.add,
        "arith.andi": np.bitwise_and,
        "arith.divsi": _divide,
        "arith.maxsi": np.maximum,
        "arith.minsi": np.minimum,
        "arith.muli": np.multiply,
        "arith.ori": np.bitwise_or,
        "arith.remsi": np.fmod,
        "arith.subi": np.subtract,
        "arith.xori": np.bitwise_xor,
    },
}
CASES = [
    *((name, dtype) for dtype in ("f32", "f16", "bf16") for name in BINARY["f"]),
    *((name, "i32") for name in BINARY["i"]),
]


@pytest.mark.one_in(1 / 4)
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_binary_of_broadcast_and_transposed(
    name: str, dtype: str, check_mem: Check
) -> None:
    generator = np.random.default_rng(1)
    if dtype == "i32":
        x, y = (generator.integers(-99, 99, s) for s in ((7, 3), (5, 7)))
        y = np.where(y == 0, 1, y)
    else:
        x, y = (generator.standard_normal(s) for s in ((7, 3), (5, 7)))
    x, y = x.astype(DTYPES[dtype]), y.astype(DTYPES[dtype])
    function = BINARY["i" if dtype == "i32" else "f"][name]
    wide = np.int64 if dtype == "i32" else np.float64
    left, right = x.T[None].astype(wide), y[:, None, :].astype(wide)
    expected = np.asarray(function(left, right)).astype(DTYPES[dtype])
    body = (
        f"mem.map ins(%a0, %a1 : {memref((7, 3), dtype, 'L1')}, "
        f"{memref((5, 7), dtype, 'L1')}) outs(%a2 : {memref((5, 3, 7), dtype, 'L1')}) "
        "domain [5, 3, 7] maps [affine_map<(a, b, c) -> (c, b)>, "
        "affine_map<(a, b, c) -> (a, c)>, affine_map<(a, b, c) -> (a, b, c)>] {\n"
        f"^bb0(%x: {dtype}, %y: {dtype}):\n%z = {name} %x, %y : {dtype}\n"
        f"mem.yield %z : {dtype}\n}}"
    )
    shapes = [((7, 3), dtype), ((5, 7), dtype), ((5, 3, 7), dtype)]
    check_mem(
        wrapped(shapes, 1, body),
        [x, y, np.zeros((5, 3, 7), x.dtype)],
        [expected],
        TOLERANCE[dtype],
    )


CASTS = [
    ("arith.extf", "f16", "f32"),
    ("arith.extf", "bf16", "f32"),
    ("arith.truncf", "f32", "f16"),
    ("arith.truncf", "f32", "bf16"),
    ("arith.sitofp", "i32", "f32"),
    ("arith.sitofp", "i32", "bf16"),
    ("arith.fptosi", "f32", "i32"),
    ("arith.fptosi", "f16", "i32"),
    ("arith.uitofp", "i1", "f32"),
    ("arith.extui", "i1", "i32"),
]


@pytest.mark.parametrize(("name", "source", "target"), CASTS)
def test_casts(name: str, source: str, target: str, check_mem: Check) -> None:
    x = (np.random.default_rng(2).standard_normal(13) * 30).astype(DTYPES[source])
    identity = "affine_map<(a) -> (a)>"
    body = (
        f"mem.map ins(%a0 : {memref((13,), source, 'L1')}) "
        f"outs(%a1 : {memref((13,), target, 'L1')}) domain [13] "
        f"maps [{identity}, {identity}] {{\n^bb0(%x: {source}):\n"
        f"%z = {name} %x : {source} to {target}\nmem.yield %z : {target}\n}}"
    )
    expected = x.astype(DTYPES[target])
    zero = np.zeros(13, DTYPES[target])
    check_mem(
        wrapped([((13,), source), ((13,), target)], 1, body), [x, zero], [expected], 0
    )


REDUCTIONS: dict[str, tuple[np.ufunc, list[str]]] = {
    "arith.addf": (np.add, ["f32", "f16", "bf16"]),
    "arith.mulf": (np.multiply, ["f32"]),
    "arith.maximumf": (np.maximum, ["f32", "f16", "bf16"]),
    "arith.minimumf": (np.minimum, ["f32"]),
    "arith.addi": (np.add, ["i32"]),
    "arith.maxsi": (np.maximum, ["i32"]),
    "arith.andi": (np.logical_and, ["i1"]),
    "arith.ori": (np.logical_or, ["i1"]),
}


@pytest.mark.parametrize(
    ("name", "dtype"), [(n, d) for n, (_, types) in REDUCTIONS.items() for d in types]
)
def test_reduction_of_windows(name: str, dtype: str, check_mem: Check) -> None:
    """Windows of 3 at distance 2, along the middle of three dimensions, into f32."""
    function, _ = REDUCTIONS[name]
    total = "f32" if dtype in ("f16", "bf16") else dtype
    generator = np.random.default_rng(3)
    x = (generator.standard_normal((4, 11, 6)) * 2).astype(DTYPES[dtype])
    start = (generator.standard_normal((6, 5)) * 2).astype(DTYPES[total])
    wide = np.int64 if dtype in ("i32", "i1") else np.float64
    windows = np.stack([x[:, 2 * o : 2 * o + 3] for o in range(5)], 0).astype(wide)
    reduced = function.reduce(function.reduce(windows, axis=2), axis=1).T
    expected = function(start.astype(wide), reduced).astype(DTYPES[total])
    cast = f"%e = arith.extf %x : {dtype} to f32\n" if total != dtype else ""
    body = (
        f"mem.reduce ins(%a0 : {memref((4, 11, 6), dtype, 'L1')}) "
        f"outs(%a1 : {memref((6, 5), total, 'L1')}) domain [5, 4, 3, 6] "
        "maps [affine_map<(o, a, k, c) -> (a, o * 2 + k, c)>, "
        f"affine_map<(o, a, k, c) -> (c, o)>] {{\n^bb0(%x: {dtype}, %y: {total}):\n"
        f"{cast}%z = {name} %y, {'%e' if cast else '%x'} : {total}\n"
        f"mem.yield %z : {total}\n}}"
    )
    text = wrapped([((4, 11, 6), dtype), ((6, 5), total)], 1, body)
    check_mem(text, [x, start], [expected], TOLERANCE[total])


@pytest.mark.parametrize(
    ("dtype", "total"),
    [("f32", "f32"), ("f16", "f32"), ("bf16", "f32"), ("f16", "f16"), ("i32", "i32")],
)
def test_batched_contraction_with_transposed_output(
    dtype: str, total: str, check_mem: Check
) -> None:
    generator = np.random.default_rng(4)
    shapes = (3, 5, 9), (7, 3, 9), (7, 5, 3)
    a, b, c = (generator.standard_normal(each) * 4 for each in shapes)
    a, b, c = a.astype(DTYPES[dtype]), b.astype(DTYPES[dtype]), c.astype(DTYPES[total])
    wide = np.int64 if dtype == "i32" else np.float64
    product = np.einsum("bmk,nbk->nmb", a.astype(wide), b.astype(wide))
    expected = (c.astype(wide) + product).astype(DTYPES[total])
    types = ", ".join(memref(each, dtype, "L1") for each in shapes[:2])
    body = (
        f"mem.contract ins(%a0, %a1 : {types}) outs(%a2 : "
        f"{memref(shapes[2], total, 'L1')}) domain [3, 5, 7, 9] maps ["
        "affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (n, b, k)>, "
        "affine_map<(b, m, n, k) -> (n, m, b)>]"
    )
    arguments = [(shapes[0], dtype), (shapes[1], dtype), (shapes[2], total)]
    check_mem(wrapped(arguments, 1, body), [a, b, c], [expected], TOLERANCE[total])


def test_convolution_of_more_dimensions_than_a_role_has(check_mem: Check) -> None:
    """Four summed dimensions and strides: the first of them becomes a loop."""
    generator = np.random.default_rng(5)
    shapes = (2, 7, 6, 9), (4, 2, 2, 3, 3), (4, 3, 4, 4)
    x, w, y = (generator.standard_normal(each).astype(np.float32) for each in shapes)
    expected = y.astype(np.float64)
    for d in range(2):
        for i in range(3):
            for j in range(3):
                part = x[:, d * 3 : d * 3 + 3, i : i + 4, j : j + 7 : 2]
                taps = w[:, :, d, i, j].astype(np.float64)
                expected += np.einsum("cdhw,fc->fdhw", part.astype(np.float64), taps)
    dims = "(f, d, h, w, c, kd, kh, kw)"
    body = (
        f"mem.contract ins(%a0, %a1 : {memref(shapes[0], 'f32', 'L1')}, "
        f"{memref(shapes[1], 'f32', 'L1')}) "
        f"outs(%a2 : {memref(shapes[2], 'f32', 'L1')}) "
        "domain [4, 3, 4, 4, 2, 2, 3, 3] maps ["
        f"affine_map<{dims} -> (c, d + kd * 3, h + kh, w * 2 + kw)>, "
        f"affine_map<{dims} -> (f, c, kd, kh, kw)>, affine_map<{dims} -> (f, d, h, w)>]"
    )
    text = wrapped([(each, "f32") for each in shapes], 1, body)
    check_mem(text, [x, w, y], [expected.astype(np.float32)], 1e-5)


def test_tf32_rounds_the_factors(
    interpret_mem: Interpret, simulate_mem: Simulate
) -> None:
    generator = np.random.default_rng(6)
    a, b = (generator.standard_normal((8, 8)).astype(np.float32) for _ in range(2))
    exact = a.astype(np.float64) @ b.astype(np.float64)
    type_ = memref((8, 8), "f32", "L1")
    body = (
        f"mem.contract ins(%a0, %a1 : {type_}, {type_}) outs(%a2 : {type_}) "
        "domain [8, 8, 8] maps [affine_map<(m, n, k) -> (m, k)>, "
        "affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] "
    )
    zero, out = np.zeros((8, 8), np.float32), np.zeros((8, 8), np.float32)
    text = wrapped([((8, 8), "f32")] * 3, 1, body + 'precision "tf32"')
    interpret_mem(text, [a, b, zero, out])
    (simulated,) = simulate_mem(text, [a, b, zero]).outputs.values()
    np.testing.assert_allclose(simulated, out, 1e-5, 1e-5)
    error = np.abs(out - exact).max()
    assert 1e-5 < error < 1e-2


@pytest.mark.parametrize("dtype", ["f32", "bf16", "i32"])
def test_mask(dtype: str, check_mem: Check) -> None:
    """Rows of a tile at -3, then at 5, of a tensor of 9 rows and 4 columns."""
    x = (np.random.default_rng(8).standard_normal((6, 5)) * 9).astype(DTYPES[dtype])
    fill = "-2" if dtype == "i32" else "-2.0"
    type_ = memref((6, 5), dtype, "L1")
    identity = "affine_map<(a, b) -> (a, b)>"
    masks = "".join(
        f"mem.map ins(%a0 : {type_}) outs(%a{out} : {type_}) domain [6, 5] "
        f"maps [{identity}, {identity}] {{\n^bb0(%x: {dtype}):\n"
        f"mem.yield %x : {dtype}\n}}\n"
        f"mem.mask %a{out} at [%i{out}, 0] bounds [9, 4] fill {fill} : {type_}\n"
        for out in (1, 2)
    )
    body = (
        "%one = arith.constant 1 : index\n%low = arith.constant -3 : index\n"
        "%high = arith.constant -2 : index\n%eight = arith.constant 8 : index\n"
        "scf.for %i1 = %low to %high step %one {\n"
        f"%i2 = arith.addi %i1, %eight : index\n{masks}}}"
    )
    expected: list[Array] = []
    for offset in (-3, 5):
        rows = np.arange(offset, offset + 6)[:, None]
        inside = (rows >= 0) & (rows < 9) & (np.arange(5) < 4)
        expected.append(np.where(inside, x, x.dtype.type(-2)))
    text = wrapped([((6, 5), dtype)] * 3, 2, body)
    check_mem(text, [x, np.zeros_like(x), np.zeros_like(x)], expected, 0)


@pytest.mark.parametrize("dtype", ["i8", "i32"])
@pytest.mark.parametrize(
    ("name", "function"),
    [("arith.shli", np.left_shift), ("arith.shrsi", np.right_shift)],
)
def test_shifts(name: str, function: Function, dtype: str, check_mem: Check) -> None:
    generator = np.random.default_rng(6)
    element = np.dtype(f"int{dtype[1:]}")
    x = generator.integers(-100, 100, 40).astype(element)
    by = generator.integers(0, int(dtype[1:]), 40).astype(element)
    identity = "affine_map<(a) -> (a)>"
    body = (
        f"mem.map ins(%a0, %a1 : {memref((40,), dtype, 'L1')}, "
        f"{memref((40,), dtype, 'L1')}) outs(%a2 : {memref((40,), dtype, 'L1')}) "
        f"domain [40] maps [{identity}, {identity}, {identity}] {{\n"
        f"^bb0(%x: {dtype}, %y: {dtype}):\n%z = {name} %x, %y : {dtype}\n"
        f"mem.yield %z : {dtype}\n}}"
    )
    text = wrapped([((40,), dtype)] * 3, 1, body)
    check_mem(text, [x, by, np.zeros_like(x)], [function(x, by)], 0)
