"""
Every scalar operation on Triton, on random values, against numpy.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tlf.lowering.mem_to_triton.scalar_expressions import SUPPORTED_OPERATIONS
from tlf.runtime.triton.launch_plan import Plan

Check = Callable[[str, Mapping[str, np.ndarray]], Mapping[str, np.ndarray]]

Unary = Callable[[Any], Any]

Binary = Callable[[Any, Any], Any]

NUMPY = {
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "i1": np.dtype(np.bool_),
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
}

_erf = np.vectorize(math.erf, otypes=[np.float64])

UNARY: dict[str, Unary] = {
    "arith.negf": np.negative,
    "math.absf": np.abs,
    "math.acos": lambda x: np.arccos(np.clip(x, -1, 1)),
    "math.asin": lambda x: np.arcsin(np.clip(x, -1, 1)),
    "math.asinh": np.arcsinh,
    "math.atan": np.arctan,
    "math.cbrt": np.cbrt,
    "math.ceil": np.ceil,
    "math.cos": np.cos,
    "math.cosh": np.cosh,
    "math.erf": _erf,
    "math.exp": np.exp,
    "math.exp2": np.exp2,
    "math.expm1": np.expm1,
    "math.floor": np.floor,
    "math.round": lambda x: np.trunc(x + np.copysign(0.5, x)),
    "math.roundeven": np.rint,
    "math.sin": np.sin,
    "math.sinh": np.sinh,
    "math.tan": np.tan,
    "math.tanh": np.tanh,
    "math.trunc": np.trunc,
}

POSITIVE: dict[str, Unary] = {
    "math.log": np.log,
    "math.log10": np.log10,
    "math.log1p": np.log1p,
    "math.log2": np.log2,
    "math.rsqrt": lambda x: 1 / np.sqrt(x),
    "math.sqrt": np.sqrt,
}

BINARY: dict[str, Binary] = {
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
}

INTEGER: dict[str, Binary] = {
    "arith.addi": np.add,
    "arith.andi": np.bitwise_and,
    "arith.divsi": lambda x, y: np.trunc(x / y),
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
    "arith.muli": np.multiply,
    "arith.ori": np.bitwise_or,
    "arith.remsi": np.fmod,
    "arith.subi": np.subtract,
    "arith.xori": np.bitwise_xor,
}

ANGLES: dict[str, Unary] = {"sin": np.sin, "cos": np.cos}

NANS = (np.nan, np.nan)

FLOAT_PREDICATES: dict[str, Binary] = {
    "oeq": lambda x, y: x == y,
    "ogt": lambda x, y: x > y,
    "oge": lambda x, y: x >= y,
    "olt": lambda x, y: x < y,
    "ole": lambda x, y: x <= y,
    "one": lambda x, y: (x < y) | (x > y),
    "ord": lambda x, y: ~(np.isnan(x) | np.isnan(y)),
    "ueq": lambda x, y: ~((x < y) | (x > y)),
    "ugt": lambda x, y: ~(x <= y),
    "uge": lambda x, y: ~(x < y),
    "ult": lambda x, y: ~(x >= y),
    "ule": lambda x, y: ~(x > y),
    "une": lambda x, y: x != y,
    "uno": lambda x, y: np.isnan(x) | np.isnan(y),
}


def program(inputs: Sequence[str], outputs: Sequence[str], lines: Sequence[str]) -> str:
    """
    One map over 100 elements: `%a0`, ... of types `inputs` to `%z0`, ... of `outputs`.
    """
    arguments = [f'%in{n}: memref<100x{t}, "L3">' for n, t in enumerate(inputs)]
    arguments += [f'%out{n}: memref<100x{t}, "L3">' for n, t in enumerate(outputs)]
    loads = [
        f"%v{n} = mem.load %in{n}[%i] size [64] "
        f': memref<100x{t}, "L3"> -> tensor<64x{t}>'
        for n, t in enumerate(inputs)
    ]
    stores = [
        f'mem.store %r{n} to %out{n}[%i] : tensor<64x{t}> to memref<100x{t}, "L3">'
        for n, t in enumerate(outputs)
    ]
    identities = ", ".join(["affine_map<(d0) -> (d0)>"] * (len(inputs) + len(outputs)))
    newline = "\n"
    return f"""
func.func @f({", ".join(arguments)})
    attributes {{tlf.results = {len(outputs)} : i64}} {{
  %zero = arith.constant 0 : index
  %n = arith.constant 100 : index
  %step = arith.constant 64 : index
  "scf.parallel"(%zero, %n, %step)
      <{{operandSegmentSizes = array<i32: 1, 1, 1, 0>}}> ({{
  ^bb0(%i: index):
    {newline.join(loads)}
    {", ".join(f"%r{n}" for n in range(len(outputs)))} = mem.map
        ins({", ".join(f"%v{n}" for n in range(len(inputs)))}
            : {", ".join(f"tensor<64x{t}>" for t in inputs)})
        domain [64] maps [{identities}] {{
    ^bb1({", ".join(f"%a{n}: {t}" for n, t in enumerate(inputs))}):
      {newline.join(lines)}
      mem.yield {", ".join(f"%z{n}" for n in range(len(outputs)))}
          : {", ".join(outputs)}
    }} -> {", ".join(f"tensor<64x{t}>" for t in outputs)}
    {newline.join(stores)}
    scf.reduce
  }}) {{mapping = "grid"}} : (index, index, index) -> ()
  func.return
}}"""


def values(dtype: str, seed: int, low: float = -3, high: float = 3) -> np.ndarray:
    random = np.random.default_rng(seed)
    if dtype == "i1":
        return random.integers(0, 2, 100).astype(np.bool_)
    if dtype.startswith("i"):
        return random.integers(-100, 100, 100).astype(NUMPY[dtype])
    return random.uniform(low, high, 100).astype(NUMPY[dtype])


def ulp(expected: np.ndarray, dtype: str) -> np.ndarray:
    bits = {"bf16": 7, "f16": 10, "f32": 23, "f64": 52}[dtype]
    return np.exp2(np.floor(np.log2(np.maximum(np.abs(expected), 1e-4))) - bits)


def assert_rounded(
    got: np.ndarray, expected: np.ndarray, dtype: str, what: str
) -> None:
    """
    Within 0.51 units of the last place for narrow floats, 4 for f32 and f64.
    """
    assert got.dtype == NUMPY[dtype]
    error = np.abs(got.astype(np.float64) - expected) / ulp(expected, dtype)
    limit = 0.51 if dtype in ("f16", "bf16") else 4
    assert (error <= limit).all(), f"{what}: {np.nanmax(error)} ulp"


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "f64"])
def test_unary(check: Check, dtype: str) -> None:
    names = [*UNARY, *POSITIVE]
    lines = [f"%one = arith.constant 1.0 : {dtype}"]
    lines.append(f"%minus = arith.constant -1.0 : {dtype}")
    lines.append(f"%low = arith.maximumf %a0, %minus : {dtype}")
    lines.append(f"%unit = arith.minimumf %low, %one : {dtype}")
    for number, name in enumerate(names):
        operand = "%a1" if name in POSITIVE else "%a0"
        operand = "%unit" if name in ("math.acos", "math.asin") else operand
        lines.append(f"%z{number} = {name} {operand} : {dtype}")
    x, y = values(dtype, 0), values(dtype, 1, 0.1)
    text = program([dtype] * 2, [dtype] * len(names), lines)
    got = check(text, {"in0": x, "in1": y})
    for number, name in enumerate(names):
        operand = (y if name in POSITIVE else x).astype(np.float64)
        expected = (UNARY | POSITIVE)[name](operand)
        assert_rounded(got[f"out{number}"], expected, dtype, name)


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "f64"])
def test_domains_of_hyperbolic_functions(check: Check, dtype: str) -> None:
    lines = [
        f"%z0 = math.acosh %a0 : {dtype}",
        f"%z1 = math.atanh %a1 : {dtype}",
        f"%z2 = math.powf %a0, %a1 : {dtype}",
        f"%z3 = math.fma %a0, %a1, %a0 : {dtype}",
    ]
    x, y = values(dtype, 0, 1.1, 4), values(dtype, 1, -0.9, 0.9)
    got = check(program([dtype] * 2, [dtype] * 4, lines), {"in0": x, "in1": y})
    a, b = x.astype(np.float64), y.astype(np.float64)
    for number, expected in enumerate((np.arccosh(a), np.arctanh(b), a**b, a * b + a)):
        assert_rounded(got[f"out{number}"], expected, dtype, f"out{number}")


@pytest.mark.parametrize(("dtype", "limit"), [("f32", 2.5), ("bf16", 0.51)])
def test_angles_within_the_limit_and_beyond(
    check: Check, dtype: str, limit: float
) -> None:
    lines = [f"%z{n} = math.{name} %a0 : {dtype}" for n, name in enumerate(ANGLES)]
    text = program([dtype], [dtype] * 2, lines)
    near, far = values(dtype, 0, -1e5, 1e5), values(dtype, 1, -1e30, 1e30)
    near[:40] = np.arange(-20, 20) * np.pi / 2
    for x in (near, far):
        got = check(text, {"in0": x})
        for number, function in enumerate(ANGLES.values()):
            expected = function(x.astype(np.longdouble)).astype(np.float64)
            error = np.abs(got[f"out{number}"].astype(np.float64) - expected)
            if x is far:  # numpy computes sines of f32 less exactly
                assert (error <= 2.0**-7).all()
            else:
                assert (error <= limit * ulp(expected, dtype)).all()


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
def test_angles_of_special_values(check: Check, dtype: str) -> None:
    lines = [f"%z{n} = math.{name} %a0 : {dtype}" for n, name in enumerate(ANGLES)]
    text = program([dtype], [dtype] * 2, lines)
    smallest = 2.0**-24
    x = np.zeros(100, NUMPY[dtype])
    x[:6] = [0.0, -0.0, smallest, -smallest, np.nan, np.inf]
    got = check(text, {"in0": x})
    sines, cosines = (got[f"out{n}"].astype(np.float64) for n in range(2))
    np.testing.assert_array_equal(sines[:6], [0.0, 0.0, smallest, -smallest, *NANS])
    assert np.signbit(sines[:2]).tolist() == [False, True]
    np.testing.assert_array_equal(cosines[:6], [1, 1, 1, 1, *NANS])


@pytest.mark.parametrize(("dtype", "has_branch"), [("bf16", True), ("f16", False)])
def test_only_wide_types_have_angles_beyond_the_limit(
    plan_of: Callable[[str], Plan], dtype: str, has_branch: bool
) -> None:
    text = program([dtype], [dtype], [f"%z0 = math.sin %a0 : {dtype}"])
    (kernel,) = plan_of(text).kernels
    assert ("tl.sin(" in kernel.source) == has_branch


@pytest.mark.parametrize(
    ("name", "turn", "end", "most"),
    [("tanh", 0.69, 11, 2), ("expm1", 0.49, 1, 3), ("erf", 0.95, 5, 1.5)],
)
def test_functions_of_two_parts(
    check: Check, name: str, turn: float, end: float, most: int
) -> None:
    """In f32, on both sides of where one turns from a polynomial to an exponential."""
    lines = [f"%z{number} = math.{name} %a{number} : f32" for number in range(4)]
    sizes = np.concatenate([np.geomspace(1e-30, turn, 100), np.linspace(turn, end, 96)])
    special = [0.0, 3e38, np.inf, np.nan]
    x = np.concatenate([sizes, special]).astype(np.float32)
    parts = np.split(np.concatenate([x, -x]), 4)
    inputs = {f"in{number}": part for number, part in enumerate(parts)}
    got = check(program(["f32"] * 4, ["f32"] * 4, lines), inputs)
    for number, part in enumerate(parts):
        result = got[f"out{number}"]
        with np.errstate(over="ignore"):
            exact = UNARY[f"math.{name}"](part.astype(np.float64))
            expected = exact.astype(np.float32)
        finite = np.isfinite(expected)
        unit = np.spacing(np.abs(expected[finite]))
        error = np.abs(result[finite] - exact[finite]) / unit
        assert not (error > most).any()
        assert (result == expected)[~finite & ~np.isnan(part)].all()
        assert (np.isnan(result) == np.isnan(part)).all()
        assert (np.signbit(result) == np.signbit(part))[~np.isnan(part)].all()


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "f64"])
def test_binary_with_nan_and_constant(check: Check, dtype: str) -> None:
    lines = [f"%k = arith.constant 0.7 : {dtype}"]
    for number, name in enumerate(BINARY):
        lines.append(f"%z{2 * number} = {name} %a0, %a1 : {dtype}")
        lines.append(f"%z{2 * number + 1} = {name} %a0, %k : {dtype}")
    x, y = values(dtype, 0), values(dtype, 1)
    x[3], y[5], x[7], y[7] = np.nan, np.nan, 1, 1
    text = program([dtype] * 2, [dtype] * (2 * len(BINARY)), lines)
    got = check(text, {"in0": x, "in1": y})
    k = np.float64(np.asarray(0.7, NUMPY[dtype]))
    for number, (name, function) in enumerate(BINARY.items()):
        for offset, other in enumerate((y.astype(np.float64), k)):
            expected = function(x.astype(np.float64), other)
            result = got[f"out{2 * number + offset}"]
            nans = np.isnan(expected)
            assert (np.isnan(result.astype(np.float64)) == nans).all(), name
            assert_rounded(result[~nans], expected[~nans], dtype, name)


@pytest.mark.parametrize("dtype", ["i8", "i16", "i32", "i64"])
def test_integers(check: Check, dtype: str) -> None:
    lines = [f"%k = arith.constant 7 : {dtype}", f"%two = arith.constant 2 : {dtype}"]
    for number, name in enumerate(INTEGER):
        lines.append(f"%z{2 * number} = {name} %a0, %a1 : {dtype}")
        lines.append(f"%z{2 * number + 1} = {name} %a0, %k : {dtype}")
    count = 2 * len(INTEGER)
    extra = ["shli", "shrsi", "shrui", "divui", "remui", "maxui", "minui"]
    for number, name in enumerate(extra):
        lines.append(f"%z{count + number} = arith.{name} %a0, %two : {dtype}")
    lines.append(f"%z{count + len(extra)} = math.absi %a0 : {dtype}")
    x, y = values(dtype, 0), values(dtype, 1)
    y[y == 0] = 1
    text = program([dtype] * 2, [dtype] * (count + len(extra) + 1), lines)
    got = check(text, {"in0": x, "in1": y})
    for number, (name, function) in enumerate(INTEGER.items()):
        for offset, other in enumerate((y, np.asarray(7, NUMPY[dtype]))):
            expected = function(x, other).astype(NUMPY[dtype])
            result = got[f"out{2 * number + offset}"]
            np.testing.assert_array_equal(result, expected, err_msg=name)
    unsigned = x.view(f"u{NUMPY[dtype].name}")
    two = unsigned.dtype.type(2)
    expected = [x << 2, x >> 2, unsigned >> two, unsigned // two, unsigned % two]
    expected += [np.maximum(unsigned, two), np.minimum(unsigned, two), np.abs(x)]
    for number, wanted in enumerate(expected):
        result = got[f"out{count + number}"]
        np.testing.assert_array_equal(result, wanted.view(NUMPY[dtype]))


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_comparisons(check: Check, dtype: str) -> None:
    lines = [
        f"%z{number} = arith.cmpf {predicate}, %a0, %a1 : {dtype}"
        for number, predicate in enumerate(FLOAT_PREDICATES)
    ]
    lines.append(f"%z14 = arith.cmpf true, %a0, %a1 : {dtype}")
    lines.append(f"%z15 = arith.cmpf false, %a0, %a1 : {dtype}")
    lines.append(f"%k = arith.constant 0.1 : {dtype}")
    lines.append("%both = arith.andi %z1, %z14 : i1")
    lines.append(f"%z16 = arith.select %both, %a0, %k : {dtype}")
    x, y = values(dtype, 0), values(dtype, 1)
    x[3], y[5], x[7], y[7] = np.nan, np.nan, 1, 1
    text = program([dtype] * 2, ["i1"] * 16 + [dtype], lines)
    got = check(text, {"in0": x, "in1": y})
    a, b = x.astype(np.float64), y.astype(np.float64)
    for number, (name, function) in enumerate(FLOAT_PREDICATES.items()):
        np.testing.assert_array_equal(got[f"out{number}"], function(a, b), name)
    assert got["out14"].all()
    assert not got["out15"].any()
    k = np.asarray(0.1, NUMPY[dtype])
    np.testing.assert_array_equal(got["out16"], np.where(a > b, x, k))


@pytest.mark.parametrize("dtype", ["i8", "i32"])
def test_integer_comparisons(check: Check, dtype: str) -> None:
    predicates = ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"]
    lines = [
        f"%z{number} = arith.cmpi {predicate}, %a0, %a1 : {dtype}"
        for number, predicate in enumerate(predicates)
    ]
    x, y = values(dtype, 0), values(dtype, 1)
    y[:9] = x[:9]
    got = check(program([dtype] * 2, ["i1"] * 10, lines), {"in0": x, "in1": y})
    u, v = (z.view(f"u{NUMPY[dtype].name}") for z in (x, y))
    expected = [x == y, x != y, x < y, x <= y, x > y, x >= y, u < v, u <= v, u > v]
    expected.append(u >= v)
    for number, wanted in enumerate(expected):
        np.testing.assert_array_equal(got[f"out{number}"], wanted, predicates[number])


CASTS: list[tuple[str, str, str, Unary]] = [
    ("arith.extf", "bf16", "f32", lambda x: x.astype(np.float32)),
    ("arith.extf", "f16", "f64", lambda x: x.astype(np.float64)),
    ("arith.truncf", "f32", "bf16", lambda x: x.astype(ml_dtypes.bfloat16)),
    ("arith.truncf", "f32", "f16", lambda x: x.astype(np.float16)),
    ("arith.truncf", "f64", "f32", lambda x: x.astype(np.float32)),
    ("arith.sitofp", "i32", "bf16", lambda x: x.astype(ml_dtypes.bfloat16)),
    ("arith.sitofp", "i8", "f32", lambda x: x.astype(np.float32)),
    ("arith.sitofp", "i1", "f32", lambda x: -x.astype(np.float32)),
    ("arith.uitofp", "i1", "f16", lambda x: x.astype(np.float16)),
    ("arith.uitofp", "i8", "f32", lambda x: x.view(np.uint8).astype(np.float32)),
    ("arith.fptosi", "f32", "i32", lambda x: x.astype(np.int32)),
    ("arith.fptosi", "bf16", "i8", lambda x: x.astype(np.float32).astype(np.int8)),
    ("arith.fptoui", "f32", "i32", lambda x: x.astype(np.int64).astype(np.int32)),
    ("arith.extsi", "i8", "i32", lambda x: x.astype(np.int32)),
    ("arith.extsi", "i1", "i32", lambda x: -x.astype(np.int32)),
    ("arith.extui", "i1", "i32", lambda x: x.astype(np.int32)),
    ("arith.extui", "i8", "i32", lambda x: x.view(np.uint8).astype(np.int32)),
    ("arith.trunci", "i32", "i8", lambda x: x.astype(np.int8)),
    ("arith.trunci", "i32", "i1", lambda x: x & 1 != 0),
    ("arith.bitcast", "f32", "i32", lambda x: x.view(np.int32)),
    ("arith.bitcast", "bf16", "i16", lambda x: x.view(np.int16)),
]


def test_casts(check: Check) -> None:
    lines: list[str] = []
    inputs: dict[str, np.ndarray] = {}
    for number, (name, source, target, _) in enumerate(CASTS):
        lines.append(f"%z{number} = {name} %a{number} : {source} to {target}")
        low = 0 if name == "arith.fptoui" else -90
        inputs[f"in{number}"] = values(source, number, low, 90)
    sources = [source for _, source, _, _ in CASTS]
    targets = [target for _, _, target, _ in CASTS]
    got = check(program(sources, targets, lines), inputs)
    for number, (name, source, target, function) in enumerate(CASTS):
        expected = function(inputs[f"in{number}"])
        what = f"{name} {source} to {target}"
        np.testing.assert_array_equal(got[f"out{number}"], expected, what)


def test_constants_alone(check: Check) -> None:
    lines = [
        "%k = arith.constant 0.5 : f32",
        "%m = arith.constant -3 : i32",
        "%z0 = math.exp %k : f32",
        "%z1 = arith.addi %m, %m : i32",
        "%z2 = arith.constant 0xFF800000 : f32",
    ]
    got = check(
        program(["f32"], ["f32", "i32", "f32"], lines), {"in0": values("f32", 0)}
    )
    np.testing.assert_allclose(got["out0"], np.exp(0.5), rtol=1e-6)
    assert (got["out1"] == -6).all()
    assert (got["out2"] == -np.inf).all()


def test_every_operation_is_tested() -> None:
    tested = {*UNARY, *POSITIVE, *BINARY, *INTEGER, *(name for name, *_ in CASTS)}
    tested |= {f"math.{name}" for name in ("acosh", "atanh", "powf", "fma", "absi")}
    tested |= {f"arith.{n}" for n in ("cmpf", "cmpi", "constant", "select", "shli")}
    tested |= {f"arith.{n}" for n in ("divui", "remui", "maxui", "minui")}
    tested |= {"arith.shrsi", "arith.shrui"}
    assert tested == SUPPORTED_OPERATIONS
