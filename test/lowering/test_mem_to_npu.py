"""
Single operations of `mem`, interpreted and on the simulated NPU, against numpy.
"""

import math
from collections.abc import Callable, Sequence

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from tlf.runtime.npu import NPUTrap, Report

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


def memref(shape: Sequence[int], dtype: str, level: str) -> str:
    return f'memref<{"".join(f"{size}x" for size in shape)}{dtype}, "{level}">'


def wrapped(
    arguments: Sequence[tuple[Sequence[int], str]], results: int, body: str
) -> str:
    """
    A function that brings its arguments (%x0, ...) to L1 (%a0, ...), computes, and
    takes the last ones back.
    """
    lines: list[str] = []
    back: list[str] = []
    for number, (shape, dtype) in enumerate(arguments):
        far, mid, near = (memref(shape, dtype, level) for level in ("L3", "L2", "L1"))
        box = f"[{', '.join('0' for _ in shape)}]"
        size = f"size {list(shape)}"
        lines += [
            f"%m{number} = mem.alloc : {mid}",
            f"%a{number} = mem.alloc : {near}",
            f"%s{number} = mem.dma %x{number}{box} to %m{number}{box} {size} "
            f": {far} to {mid}",
            f"mem.wait %s{number}",
            f"%t{number} = mem.dma %m{number}{box} to %a{number}{box} {size} "
            f": {mid} to {near}",
            f"mem.wait %t{number}",
        ]
        if number >= len(arguments) - results:
            back += [
                f"%u{number} = mem.dma %a{number}{box} to %m{number}{box} {size} "
                f": {near} to {mid}",
                f"mem.wait %u{number}",
                f"%v{number} = mem.dma %m{number}{box} to %y{number}{box} {size} "
                f": {mid} to {far}",
                f"mem.wait %v{number}",
            ]
    names = [f"%x{n}: {memref(*each, 'L3')}" for n, each in enumerate(arguments)]
    names += [
        f"%y{n}: {memref(*each, 'L3')}"
        for n, each in enumerate(arguments)
        if n >= len(arguments) - results
    ]
    return (
        f"func.func @main({', '.join(names)}) attributes "
        f"{{tlf.results = {results} : i64}} {{\n"
        + "\n".join([*lines, body, *back, "func.return", "}"])
    )


@pytest.fixture
def check(
    interpret_mem: Interpret, simulate_mem: Simulate
) -> Callable[[str, Sequence[Array], Sequence[Array], float], None]:
    """Compares both runs of a program with the expected results."""

    def check_(
        text: str, inputs: Sequence[Array], expected: Sequence[Array], bound: float
    ) -> None:
        outputs = [np.zeros(each.shape, each.dtype) for each in expected]
        interpret_mem(text, [*inputs, *outputs])
        report = simulate_mem(text, inputs)
        simulated = list(report.outputs.values())
        for results in (outputs, simulated):
            for got, wanted in zip(results, expected, strict=True):
                wide = wanted.astype(np.float64)
                np.testing.assert_allclose(
                    got.astype(np.float64), wide, bound, bound * np.abs(wide).max()
                )

    return check_


Check = Callable[[str, Sequence[Array], Sequence[Array], float], None]


def _rsqrt(x: Floats) -> Floats:
    return 1 / np.sqrt(x)


def _divide(a: NDArray[np.int64], b: NDArray[np.int64]) -> Floats:
    return np.trunc(a / b)


UNARY: dict[str, Function] = {
    "arith.negf": np.negative,
    "math.absf": np.abs,
    "math.ceil": np.ceil,
    "math.cos": np.cos,
    "math.erf": np.vectorize(math.erf),
    "math.exp": np.exp,
    "math.floor": np.floor,
    "math.log": np.log,
    "math.rsqrt": _rsqrt,
    "math.sin": np.sin,
    "math.sqrt": np.sqrt,
    "math.tanh": np.tanh,
}


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str, dtype: str, check: Check) -> None:
    shape = (5, 7)
    x = np.random.default_rng(0).uniform(0.1, 3, shape).astype(DTYPES[dtype])
    identity = "affine_map<(a, b) -> (a, b)>"
    body = (
        f"mem.map ins(%a0 : {memref(shape, dtype, 'L1')}) "
        f"outs(%a1 : {memref(shape, dtype, 'L1')}) domain [5, 7] "
        f"maps [{identity}, {identity}] {{\n^bb0(%x: {dtype}):\n"
        f"%z = {name} %x : {dtype}\nmem.yield %z : {dtype}\n}}"
    )
    text = wrapped([(shape, dtype), (shape, dtype)], 1, body)
    expected = UNARY[name](x.astype(np.float64)).astype(x.dtype)
    check(text, [x, np.zeros_like(x)], [expected], TOLERANCE[dtype])


BINARY: dict[str, dict[str, Function]] = {
    "f": {
        "arith.addf": np.add,
        "arith.divf": np.divide,
        "arith.maximumf": np.maximum,
        "arith.minimumf": np.minimum,
        "arith.mulf": np.multiply,
        "arith.subf": np.subtract,
    },
    "i": {
        "arith.addi": np.add,
        "arith.andi": np.bitwise_and,
        "arith.divsi": _divide,
        "arith.maxsi": np.maximum,
        "arith.minsi": np.minimum,
        "arith.muli": np.multiply,
        "arith.ori": np.bitwise_or,
        "arith.subi": np.subtract,
        "arith.xori": np.bitwise_xor,
    },
}
CASES = [
    *((name, dtype) for dtype in ("f32", "f16", "bf16") for name in BINARY["f"]),
    *((name, "i32") for name in BINARY["i"]),
]


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_binary_of_broadcast_and_transposed(
    name: str, dtype: str, check: Check
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
    check(
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
def test_casts(name: str, source: str, target: str, check: Check) -> None:
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
    check(
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
def test_reduction_of_windows(name: str, dtype: str, check: Check) -> None:
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
    check(text, [x, start], [expected], TOLERANCE[total])


@pytest.mark.parametrize(
    ("dtype", "total"),
    [("f32", "f32"), ("f16", "f32"), ("bf16", "f32"), ("f16", "f16"), ("i32", "i32")],
)
def test_batched_contraction_with_transposed_output(
    dtype: str, total: str, check: Check
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
    check(wrapped(arguments, 1, body), [a, b, c], [expected], TOLERANCE[total])


def test_convolution_of_more_dimensions_than_a_role_has(check: Check) -> None:
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
    check(text, [x, w, y], [expected.astype(np.float32)], 1e-5)


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


@pytest.mark.parametrize("offset", [-9, -4, -1, 0, 2, 6, 9])
def test_move_across_both_bounds(offset: int, check: Check) -> None:
    """A box that sticks out of the source is filled, out of the destination cut."""
    x = np.random.default_rng(7).standard_normal((8, 6)).astype(np.float32)
    far, mid = memref((8, 6), "f32", "L3"), memref((8, 6), "f32", "L2")
    lines = [f"%w = mem.alloc : {mid}", "%c = arith.constant 0 : index"]
    lines += ["%d = arith.constant 1 : index"]
    # The offset is only known when the loop runs.
    lines += [f"%i0 = arith.constant {offset} : index"]
    lines += [f"%i1 = arith.constant {offset + 1} : index"]
    lines += ["scf.for %i = %i0 to %i1 step %d {"]
    lines += [
        f"%p = mem.dma %x0[%i, -1] to %w[0, 0] size [8, 6] fill 7.0 : {far} to {mid}",
        "mem.wait %p",
        f"%q = mem.dma %w[0, 0] to %y1[0, 0] size [8, 6] : {mid} to {far}",
        "mem.wait %q",
        f"%r = mem.dma %w[1, 0] to %y2[%i, 2] size [7, 6] : {mid} to {far}",
        "mem.wait %r",
        "}",
    ]
    text = wrapped([((8, 6), "f32")] * 3, 2, "")
    text = text.replace("func.return", "\n".join([*lines, "func.return"]))
    padded = np.full((40, 40), 7, np.float32)
    padded[16:24, 16:22] = x
    moved = padded[16 + offset : 24 + offset, 15:21]
    wide = np.zeros((40, 40), np.float32)
    wide[16 + offset : 23 + offset, 18:24] = moved[1:]
    inputs = [x, np.zeros_like(x), np.zeros_like(x)]
    check(text, inputs, [moved, wide[16:24, 16:22]], 0)


@pytest.mark.parametrize("dtype", ["f32", "bf16", "i32"])
def test_mask(dtype: str, check: Check) -> None:
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
    check(text, [x, np.zeros_like(x), np.zeros_like(x)], expected, 0)


MOVES = """
func.func @main(%x: memref<64xf32, "L3">, %y: memref<64xf32, "L3">)
    attributes {{tlf.results = 1 : i64}} {{
  %b = mem.alloc : memref<64xf32, "L2">
  %t = mem.dma %x[0] to %b[0] size [64] : memref<64xf32, "L3"> to memref<64xf32, "L2">
  {wait}
  %u = mem.dma %b[0] to %y[0] size [64] : memref<64xf32, "L2"> to memref<64xf32, "L3">
  mem.wait %u
  func.return
}}
"""


def test_a_missing_wait_traps(interpret_mem: Interpret, simulate_mem: Simulate) -> None:
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    simulate_mem(MOVES.format(wait="mem.wait %t"), [x])
    with pytest.raises(NPUTrap, match="no wait orders that before"):
        simulate_mem(MOVES.format(wait=""), [x])
    interpret_mem(MOVES.format(wait=""), [x, y])
    assert np.isnan(y).all()


PREFETCH = """
func.func @main(%x: memref<40x8xf32, "L3">, %y: memref<40x8xf32, "L3">)
    attributes {tlf.results = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c36 = arith.constant 36 : index
  %b = mem.alloc : memref<2x4x8xf32, "L2">
  %even = memref.reinterpret_cast %b to offset: [0], sizes: [4, 8], strides: [8, 1]
      : memref<2x4x8xf32, "L2"> to memref<4x8xf32, "L2">
  %t0 = mem.dma %x[0, 0] to %even[0, 0] size [4, 8]
      : memref<40x8xf32, "L3"> to memref<4x8xf32, "L2">
  %last = scf.for %i = %c0 to %c36 step %c4 iter_args(%t = %t0) -> (!mem.token) {
    mem.wait %t
    %slot = affine.apply affine_map<(d0) -> ((d0 floordiv 4) mod 2)> (%i)
    %other = affine.apply affine_map<(d0) -> (1 - d0)> (%slot)
    %now = memref.subview %b[%slot, 0, 0] [1, 4, 8] [1, 1, 1]
        : memref<2x4x8xf32, "L2"> to memref<4x8xf32, strided<[8, 1], offset: ?>, "L2">
    %next = memref.subview %b[%other, 0, 0] [1, 4, 8] [1, 1, 1]
        : memref<2x4x8xf32, "L2"> to memref<4x8xf32, strided<[8, 1], offset: ?>, "L2">
    %j = affine.apply affine_map<(d0) -> (d0 + 4)> (%i)
    %t1 = mem.dma %x[%j, 0] to %next[0, 0] size [4, 8] : memref<40x8xf32, "L3">
        to memref<4x8xf32, strided<[8, 1], offset: ?>, "L2">
    %u = mem.dma %now[0, 0] to %y[%i, 0] size [4, 8]
        : memref<4x8xf32, strided<[8, 1], offset: ?>, "L2"> to memref<40x8xf32, "L3">
    mem.wait %u
    scf.yield %t1 : !mem.token
  }
  mem.wait %last
  %odd = memref.reinterpret_cast %b to offset: [32], sizes: [4, 8], strides: [8, 1]
      : memref<2x4x8xf32, "L2"> to memref<4x8xf32, strided<[8, 1], offset: 32>, "L2">
  %v = mem.dma %odd[0, 0] to %y[36, 0] size [4, 8]
      : memref<4x8xf32, strided<[8, 1], offset: 32>, "L2"> to memref<40x8xf32, "L3">
  mem.wait %v
  func.return
}
"""


def test_a_loop_that_carries_the_token_of_the_next_move(check: Check) -> None:
    x = np.random.default_rng(9).standard_normal((40, 8)).astype(np.float32)
    check(PREFETCH, [x], [x], 0)
