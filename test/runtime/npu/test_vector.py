"""Elementwise operations and reductions against numpy in double precision."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from tlf.runtime.npu import Report
from tlf.runtime.npu.dtypes import DTYPES, Array
from tlf.runtime.npu.engine_arithmetic import erf

Simulate = Callable[..., Report]

FLOATS = ["f32", "f16", "bf16"]
TOLERANCE = {"f32": 2e-6, "f16": 2**-11, "bf16": 2**-8}
SHAPE = (3, 7, 5)


def random(dtype: str, seed: int, shape: tuple[int, ...] = SHAPE) -> Array:
    generator = np.random.default_rng(seed)
    if dtype == "i1":
        return generator.integers(0, 2, shape).astype(np.bool_)
    if dtype.startswith("i"):
        return generator.integers(-9, 10, shape).astype(DTYPES[dtype])
    return (generator.standard_normal(shape) * 2).astype(DTYPES[dtype])


def strides(shape: tuple[int, ...], itemsize: int) -> str:
    steps = [itemsize * math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    return f"({', '.join(map(str, steps))})"


def operand(name: str, array: Array, dtype: str) -> str:
    return f"${name}{strides(array.shape, array.itemsize)}:{dtype}"


def close(got: Array, wanted: Array, dtype: str) -> None:
    np.testing.assert_allclose(
        got.astype(np.float64), wanted, rtol=TOLERANCE[dtype], atol=1e-7
    )


UNARY: dict[str, Callable[[Array], Array]] = {
    "neg": np.negative,
    "abs": np.abs,
    "exp": np.exp,
    "tanh": np.tanh,
    "sin": np.sin,
    "cos": np.cos,
    "floor": np.floor,
    "ceil": np.ceil,
    "erf": np.vectorize(math.erf),
    "sqrt": np.sqrt,
    "log": np.log,
    "rsqrt": lambda a: 1 / np.sqrt(a),
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("operation", UNARY)
def test_unary(simulate: Simulate, operation: str, dtype: str):
    a = random(dtype, 1)
    if operation in ("sqrt", "log", "rsqrt"):
        a = np.abs(a) + np.array(0.25, a.dtype)
    y = np.zeros_like(a)
    code = f"vector {operation} dst={operand('y', y, dtype)} "
    code += f"a={operand('a', a, dtype)} shape={SHAPE}"
    got = simulate(code, {"a": a}, {"y": y}).outputs["y"]
    close(got, UNARY[operation](a.astype(np.float64)), dtype)


BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "max": np.maximum,
    "min": np.minimum,
    "pow": np.power,
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("operation", BINARY)
def test_binary(simulate: Simulate, operation: str, dtype: str):
    a, b = random(dtype, 1), random(dtype, 2)
    if operation == "pow":
        a = np.abs(a) + np.array(0.25, a.dtype)
    y = np.zeros_like(a)
    code = f"vector {operation} dst={operand('y', y, dtype)} "
    code += f"a={operand('a', a, dtype)} b={operand('b', b, dtype)} shape={SHAPE}"
    got = simulate(code, {"a": a, "b": b}, {"y": y}).outputs["y"]
    wide = BINARY[operation](a.astype(np.float64), b.astype(np.float64))
    close(got, wide, dtype)


def test_halves_round_once(simulate: Simulate):
    """1 + 2^-8 is halfway between two bf16 values: it goes to the even one."""
    a = np.array([1, 1, 1 + 2**-7], DTYPES["bf16"])
    b = np.array([2**-8, 2**-8 + 2**-12, 2**-8], DTYPES["bf16"])
    code = "vector add dst=$y(2):bf16 a=$a(2):bf16 b=$b(2):bf16 shape=(3)"
    got = simulate(code, {"a": a, "b": b}, {"y": a}).outputs["y"]
    assert got.astype(np.float64).tolist() == [1, 1 + 2**-7, 1 + 2**-6]


@pytest.mark.parametrize("dtype", ["i8", "i32", "i64"])
@pytest.mark.parametrize("operation", ["add", "sub", "mul", "max", "min", "div"])
def test_integers(simulate: Simulate, operation: str, dtype: str):
    a, b = random(dtype, 1), random(dtype, 2)
    a.flat[0] = np.iinfo(DTYPES[dtype].type).max
    b = np.where(b == 0, 3, b).astype(a.dtype)
    y = np.zeros_like(a)
    code = f"vector {operation} dst={operand('y', y, dtype)} "
    code += f"a={operand('a', a, dtype)} b={operand('b', b, dtype)} shape={SHAPE}"
    got = simulate(code, {"a": a, "b": b}, {"y": y}).outputs["y"]
    if operation == "div":
        pairs = zip(a.flat, b.flat, strict=True)
        quotients = [abs(int(p)) // abs(int(q)) for p, q in pairs]
        wanted = np.array(quotients).reshape(SHAPE) * np.sign(a) * np.sign(b)
    else:
        wanted = BINARY[operation](a.astype(object), b.astype(object))
    modulus = 1 << (8 * a.itemsize)
    assert np.all((got.astype(object) - wanted.astype(object)) % modulus == 0)


@pytest.mark.parametrize("dtype", ["i1", "i8", "i32", "i64"])
@pytest.mark.parametrize("operation", ["and", "or", "xor"])
def test_bitwise(simulate: Simulate, operation: str, dtype: str):
    a, b = random(dtype, 1), random(dtype, 2)
    code = f"vector {operation} dst={operand('y', a, dtype)} "
    code += f"a={operand('a', a, dtype)} b={operand('b', b, dtype)} shape={SHAPE}"
    got = simulate(code, {"a": a, "b": b}, {"y": a}).outputs["y"]
    wanted = {"and": a & b, "or": a | b, "xor": a ^ b}[operation]
    assert np.array_equal(got, wanted)


COMPARE: dict[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "i64", "i32", "i8", "i1"])
@pytest.mark.parametrize("operation", COMPARE)
def test_compare(simulate: Simulate, operation: str, dtype: str):
    a, b = random(dtype, 1), random(dtype, 2)
    b[0] = a[0]
    y = np.zeros(SHAPE, np.bool_)
    code = f"vector cmp.{operation} dst={operand('y', y, 'i1')} "
    code += f"a={operand('a', a, dtype)} b={operand('b', b, dtype)} shape={SHAPE}"
    got = simulate(code, {"a": a, "b": b}, {"y": y}).outputs["y"]
    wanted = COMPARE[operation](a.astype(np.float64), b.astype(np.float64))
    assert np.array_equal(got, wanted)


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "i64", "i32", "i8", "i1"])
def test_select(simulate: Simulate, dtype: str):
    a, b, c = random(dtype, 1), random(dtype, 2), random("i1", 3)
    code = f"vector select dst={operand('y', a, dtype)} a={operand('a', a, dtype)} "
    code += f"b={operand('b', b, dtype)} c={operand('c', c, 'i1')} shape={SHAPE}"
    got = simulate(code, {"a": a, "b": b, "c": c}, {"y": a}).outputs["y"]
    assert np.array_equal(got, np.where(c, a, b))


@pytest.mark.parametrize("target", DTYPES)
@pytest.mark.parametrize("source", DTYPES)
def test_cast(simulate: Simulate, source: str, target: str):
    a = random(source, 1)
    y = np.zeros(SHAPE, DTYPES[target])
    code = f"vector copy dst={operand('y', y, target)} "
    code += f"a={operand('a', a, source)} shape={SHAPE}"
    got = simulate(code, {"a": a}, {"y": y}).outputs["y"]
    wide = a.astype(np.float64)
    if target == "i1":
        assert np.array_equal(got, wide != 0)
    elif target in FLOATS:
        close(got, wide, target)
    else:
        assert np.array_equal(got, np.trunc(wide))


def test_cast_of_extremes(simulate: Simulate):
    a = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 127.9, -128.9], np.float32)
    code = "vector copy dst=$y(1):i8 a=$a(4):f32 shape=(7)\n"
    code += "vector copy dst=$z(8):i64 a=$a(4):f32 shape=(7)"
    outputs = {"y": np.zeros(7, np.int8), "z": np.zeros(7, np.int64)}
    got = simulate(code, {"a": a}, outputs).outputs
    top, bottom = 2**63 - 1, -(2**63)
    assert got["y"].tolist() == [0, 127, -128, 127, -128, 127, -128]
    assert got["z"].tolist() == [0, top, bottom, top, bottom, 127, -128]


@pytest.mark.parametrize("operation", ["max", "min"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_maximum_propagates_nan(simulate: Simulate, operation: str, dtype: str):
    a = np.array([np.nan, 1, -np.inf], DTYPES[dtype])
    b = np.array([1, np.nan, -np.inf], DTYPES[dtype])
    size = a.itemsize
    code = f"vector {operation} dst=$y({size}):{dtype} a=$a({size}):{dtype} "
    code += f"b=$b({size}):{dtype} shape=(3)"
    got = simulate(code, {"a": a, "b": b}, {"y": a}).outputs["y"].astype(np.float64)
    assert np.isnan(got[:2]).all()
    assert got[2] == -np.inf


def test_strides_and_broadcast(simulate: Simulate):
    """A transposed operand, a row repeated, a reversed operand, an immediate."""
    a, b = random("f32", 1, (4, 6)), random("f32", 2, (6,))
    code = """
    vector add dst=$y(16,4):f32 a=$a(4,24):f32 b=$b(4,0):f32 shape=(6,4)
    vector mul dst=$y(16,4):f32 a=$y(16,4):f32 b=#-2.5 shape=(6,4)
    %e = add 0 20
    vector sub dst=$z(4):f32 a=#1.0 b=L1[%e+128](-4):f32 shape=(6)"""
    outputs = {"y": np.zeros((6, 4), np.float32), "z": b}
    got = simulate(code, {"a": a, "b": b}, outputs).outputs
    close(got["y"], (a.T.astype(np.float64) + b[:, None]) * -2.5, "f32")
    close(got["z"], 1.0 - b[::-1].astype(np.float64), "f32")


def test_immediates_and_rank_zero(simulate: Simulate):
    code = """
    vector fill dst=$y():f32 a=#-inf shape=()
    vector fill dst=$z(2):bf16 a=#nan shape=(3)
    vector cmp.lt dst=$m(1):i1 a=#1 b=#2.5:f32 shape=(2)"""
    outputs = {
        "y": np.zeros((), np.float32),
        "z": np.zeros(3, DTYPES["bf16"]),
        "m": np.zeros(2, np.bool_),
    }
    got = simulate(code, {}, outputs).outputs
    assert got["y"] == -np.inf
    assert np.isnan(got["z"].astype(np.float64)).all()
    assert got["m"].all()


def test_sizes_from_registers(simulate: Simulate):
    """A size of zero is no work at all; other sizes count at run time."""
    a = random("f32", 1, (5,))
    code = """
    loop %i = 0 to 6 step 5 {
      %n = min %i 3
      vector copy dst=$y(4):f32 a=$a(4):f32 shape=(%n)
    }
    vector fill dst=L1[76](4):f32 a=#0 shape=(2)"""
    report = simulate(code, {"a": a}, {"y": a})
    assert report.outputs["y"].tolist() == [*a[:3].tolist(), 0, 0]
    assert report.busy["vector"] == 2


def test_erf_everywhere():
    x = np.concatenate([np.linspace(-6, 6, 100_001), [0.0, np.inf, -np.inf, 1e-30]])
    x = x.astype(np.float32)
    wanted = np.vectorize(math.erf)(x.astype(np.float64))
    np.testing.assert_allclose(erf(x).astype(np.float64), wanted, rtol=1.2e-7)
    assert np.isnan(erf(np.array([np.nan], np.float32))).all()


REDUCE: dict[str, Callable[..., Array]] = {
    "sum": np.sum,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
}


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize(
    ("dtype", "target"),
    [
        ("f32", "f32"),
        ("f16", "f32"),
        ("bf16", "f32"),
        ("f16", "f16"),
        ("bf16", "bf16"),
        ("i32", "i32"),
        ("i8", "i32"),
        ("i64", "i64"),
    ],
)
@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 2), (0, 1, 2), ()])
@pytest.mark.parametrize("operation", REDUCE)
@pytest.mark.parametrize("accumulate", ["", "accumulate", "accumulate=%zero"])
def test_reduce(
    simulate: Simulate,
    operation: str,
    dtype: str,
    target: str,
    axes: tuple[int, ...],
    accumulate: str,
):
    a = random(dtype, 1)
    if operation == "prod" and dtype in FLOATS:
        a = np.exp(a.astype(np.float64) / 16).astype(a.dtype)
    kept = tuple(1 if axis in axes else n for axis, n in enumerate(SHAPE))
    start = random(target, 2, kept)
    steps = np.zeros(kept, DTYPES[target]).strides
    steps = tuple(0 if axis in axes else step for axis, step in enumerate(steps))
    text = ", ".join(map(str, axes))
    dense = strides(kept, start.itemsize)
    code = f"%zero = mov 0\nvector copy dst=$y{dense}:{target} a=$s{dense}:{target} "
    code += f"shape={kept}\n"
    code += f"reduce {operation} dst=$y{steps}:{target} a={operand('a', a, dtype)} "
    code += f"shape={SHAPE} axes=({text}) {accumulate}"
    got = simulate(code, {"a": a, "s": start}, {"y": start}).outputs["y"]
    exact = np.float64 if target in FLOATS else np.int64
    wanted = REDUCE[operation](a.astype(exact), axis=axes, keepdims=True)
    if accumulate == "accumulate":
        pair = np.stack([wanted, start.astype(exact)])
        wanted = REDUCE[operation](pair, axis=0)
    if target in FLOATS:
        scale = float(np.abs(a.astype(np.float64)).sum()) if operation == "sum" else 1
        np.testing.assert_allclose(
            got.astype(np.float64),
            wanted,
            rtol=4 * TOLERANCE[target],
            atol=1e-6 * scale,
        )
    else:
        assert np.array_equal(got, wanted.astype(got.dtype))


def test_reduce_of_nothing_is_neutral(simulate: Simulate):
    code = "%n = mov 0\n"
    for index, operation in enumerate(REDUCE):
        code += f"reduce {operation} dst=L1[{4 * index}](0):f32 a=L1[999](4):f32 "
        code += "shape=(%n) axes=(0)\n"
    got = simulate(code, {}, {"y": np.zeros(4, np.float32)}).outputs["y"]
    assert got.tolist() == [0, 1, -np.inf, np.inf]
