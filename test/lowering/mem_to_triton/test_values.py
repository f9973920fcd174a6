"""
Contractions, reductions and maps through all kinds of indexing maps.
"""

from collections.abc import Callable, Mapping, Sequence

import ml_dtypes
import numpy as np
import pytest

Check = Callable[[str, Mapping[str, np.ndarray]], Mapping[str, np.ndarray]]

NUMPY = {
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "i8": np.dtype(np.int8),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
}


def type_of(shape: Sequence[int], dtype: str, kind: str = "tensor") -> str:
    space = ', "L3"' if kind == "memref" else ""
    return f"{kind}<{'x'.join(map(str, [*shape, dtype]))}{space}>"


def map_of(rank: int, results: str) -> str:
    dims = ", ".join(f"d{dim}" for dim in range(rank))
    return f"affine_map<({dims}) -> ({results})>"


def program(
    operands: Sequence[tuple[Sequence[int], str]],
    result: tuple[Sequence[int], str],
    operation: str,
) -> str:
    """
    Load whole operands as `%v0`, ..., run `operation` to get `%r`, and store it. There
    is no loop, so that the kernel has one program.
    """
    arguments = [
        f"%in{number}: {type_of(shape, dtype, 'memref')}"
        for number, (shape, dtype) in enumerate(operands)
    ]
    arguments.append(f"%out: {type_of(*result, 'memref')}")
    loads = [
        f"%v{number} = mem.load %in{number}[{', '.join('0' for _ in shape)}] "
        f"size [{', '.join(map(str, shape))}] "
        f": {type_of(shape, dtype, 'memref')} -> {type_of(shape, dtype)}"
        for number, (shape, dtype) in enumerate(operands)
    ]
    zeros = ", ".join("0" for _ in result[0])
    newline = "\n  "
    return f"""
func.func @f({", ".join(arguments)}) attributes {{tlf.results = 1 : i64}} {{
  {newline.join(loads)}
  {operation}
  mem.store %r to %out[{zeros}]
      : {type_of(*result)} to {type_of(*result, "memref")}
  func.return
}}"""


def random(dtype: str, shape: Sequence[int], seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    if dtype.startswith("i"):
        return generator.integers(-9, 9, shape).astype(NUMPY[dtype])
    return generator.standard_normal(shape).astype(NUMPY[dtype])


CONTRACTIONS = [
    # A matrix product, and its transposed factors and result.
    ("mk,kn->mn", {"m": 16, "n": 32, "k": 64}),
    ("km,nk->mn", {"m": 16, "n": 32, "k": 64}),
    ("mk,kn->nm", {"m": 16, "n": 32, "k": 64}),
    # The factors exchanged.
    ("kn,mk->mn", {"m": 16, "n": 32, "k": 64}),
    # Batches, in any place.
    ("bmk,bkn->bmn", {"b": 2, "m": 16, "n": 32, "k": 16}),
    ("mbk,kbn->mbn", {"b": 2, "m": 16, "n": 32, "k": 16}),
    ("bcmk,cbnk->bmcn", {"b": 2, "c": 4, "m": 16, "n": 16, "k": 16}),
    # Several row, column and depth dimensions.
    ("mhk,khn->mn", {"m": 16, "h": 4, "n": 16, "k": 8}),
    ("amk,bkn->abmn", {"a": 2, "b": 2, "m": 16, "n": 16, "k": 16}),
    ("amk,kn->man", {"a": 4, "m": 8, "n": 16, "k": 16}),
    # Dimensions of extent 1.
    ("bmk,bkn->bmn", {"b": 1, "m": 16, "n": 16, "k": 16}),
    ("bmk,kn->bmn", {"b": 1, "m": 32, "n": 16, "k": 16}),
    # Vectors, outer products and small matrices.
    ("mk,k->m", {"m": 16, "k": 64}),
    ("k,kn->n", {"n": 32, "k": 16}),
    ("mk,kn->mn", {"m": 1, "n": 32, "k": 16}),
    ("mk,nk->mn", {"m": 4, "n": 8, "k": 16}),
    ("m,n->mn", {"m": 16, "n": 8}),
    ("m,n->nm", {"m": 16, "n": 8}),
    ("mn,mn->mn", {"m": 16, "n": 8}),
    ("k,k->", {"k": 16}),
    ("mk,kn->mn", {"m": 16, "n": 16, "k": 1}),
    ("bhk,bhk->bh", {"b": 2, "h": 4, "k": 16}),
    # Dimensions that one input alone has and that are summed: left, right, both.
    ("mkj,kn->mn", {"m": 16, "n": 32, "k": 16, "j": 4}),
    ("mk,jnk->nm", {"m": 16, "n": 32, "k": 16, "j": 8}),
    ("jmki,lkn->mn", {"m": 32, "n": 16, "k": 16, "j": 2, "i": 4, "l": 2}),
    ("mj,nk->mn", {"m": 4, "n": 8, "j": 16, "k": 2}),
    ("mj,k->m", {"m": 4, "j": 16, "k": 2}),
    ("j,k->", {"j": 16, "k": 2}),
    # Output dimensions that no input has.
    ("mk,nk->mnz", {"m": 16, "n": 16, "k": 16, "z": 2}),
]


@pytest.mark.one_in(1 / 4)
@pytest.mark.parametrize(("equation", "extents"), CONTRACTIONS)
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_contraction(
    check: Check, equation: str, extents: dict[str, int], dtype: str
) -> None:
    names = list(extents)
    terms = equation.replace("->", ",").split(",")
    shapes = [[extents[name] for name in term] for term in terms]
    maps = ", ".join(
        map_of(len(names), ", ".join(f"d{names.index(name)}" for name in term))
        for term in terms
    )
    left, right = (type_of(shape, dtype) for shape in shapes[:2])
    result = type_of(shapes[2], "f32")
    operation = f"""%r = mem.contract ins(%v0, %v1 : {left}, {right})
      outs(%v2 : {result}) domain [{", ".join(map(str, extents.values()))}]
      maps [{maps}] -> {result}"""
    types = [(shapes[0], dtype), (shapes[1], dtype), (shapes[2], "f32")]
    inputs = {f"in{n}": random(d, s, n) for n, (s, d) in enumerate(types)}
    got = check(program(types, (shapes[2], "f32"), operation), inputs)["out"]
    a, b, c = (value.astype(np.float64) for value in inputs.values())
    # numpy knows no output dimension that no input has.
    repeated = sorted(set(terms[2]) - set(terms[0] + terms[1]))
    ones = [np.ones(extents[name]) for name in repeated]
    given = ",".join([terms[0], terms[1], *repeated])
    expected = c + np.einsum(f"{given}->{terms[2]}", a, b, *ones)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(
    ("dtype", "total"),
    [("f16", "f16"), ("bf16", "bf16"), ("f64", "f64"), ("i8", "i32"), ("i32", "i32")],
)
@pytest.mark.parametrize("depth", [8, 32])
def test_contraction_types(check: Check, dtype: str, total: str, depth: int) -> None:
    left, right = type_of([16, depth], dtype), type_of([depth, 16], dtype)
    operation = f"""%r = mem.contract ins(%v0, %v1 : {left}, {right})
      outs(%v2 : {type_of([16, 16], total)}) domain [16, 16, {depth}]
      maps [{map_of(3, "d0, d2")}, {map_of(3, "d2, d1")}, {map_of(3, "d0, d1")}]
      -> {type_of([16, 16], total)}"""
    types = [([16, depth], dtype), ([depth, 16], dtype), ([16, 16], total)]
    inputs = {f"in{n}": random(d, s, n) for n, (s, d) in enumerate(types)}
    got = check(program(types, ([16, 16], total), operation), inputs)["out"]
    a, b, c = (value.astype(np.float64) for value in inputs.values())
    tolerance = {"f16": 2e-3, "bf16": 1e-2}.get(total, 1e-12)
    assert got.dtype == NUMPY[total]
    np.testing.assert_allclose(
        got.astype(np.float64), c + a @ b, rtol=tolerance, atol=tolerance
    )


REDUCTIONS = {
    "addf": (np.sum, "0.0"),
    "maximumf": (np.max, "-inf"),
    "minimumf": (np.min, "inf"),
    "mulf": (np.prod, "1.0"),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 2), (0, 1, 2)])
def test_reduction(check: Check, name: str, dtype: str, axes: tuple[int, ...]) -> None:
    function, _ = REDUCTIONS[name]
    shape = [4, 8, 2]
    kept = [dim for dim in range(3) if dim not in axes]
    # The output is transposed where that can be seen.
    order = kept[::-1]
    out = [shape[dim] for dim in order]
    kept_map = map_of(3, ", ".join(f"d{dim}" for dim in order))
    operation = f"""%r = mem.reduce ins(%v0 : {type_of(shape, dtype)})
      outs(%v1 : {type_of(out, dtype)}) domain [4, 8, 2]
      maps [{map_of(3, "d0, d1, d2")}, {kept_map}] {{
  ^bb1(%x: {dtype}, %a: {dtype}):
    %z = arith.{name} %a, %x : {dtype}
    mem.yield %z : {dtype}
  }} -> {type_of(out, dtype)}"""
    types = [(shape, dtype), (out, dtype)]
    inputs = {f"in{n}": random(d, s, n) for n, (s, d) in enumerate(types)}
    got = check(program(types, (out, dtype), operation), inputs)["out"]
    x, start = (value.astype(np.float64) for value in inputs.values())
    total = function(x, axis=axes).transpose()
    both = np.stack([np.broadcast_to(total, start.shape), start])
    expected = function(both, axis=0)
    tolerance = {"f32": 1e-6, "f16": 4e-3, "bf16": 3e-2}[dtype]
    np.testing.assert_allclose(
        got.astype(np.float64), expected, rtol=tolerance, atol=tolerance
    )


@pytest.mark.parametrize(
    ("results", "axes", "shape"),
    [("d0, 0", 1, [4, 1]), ("0, d1", 0, [1, 8]), ("0, 0, 0", None, [1, 1, 1])],
)
def test_reduction_keeps_axes(
    check: Check, results: str, axes: int | None, shape: list[int]
) -> None:
    operation = f"""%r = mem.reduce ins(%v0 : tensor<4x8xf32>)
      outs(%v1 : {type_of(shape, "f32")}) domain [4, 8]
      maps [{map_of(2, "d0, d1")}, {map_of(2, results)}] {{
  ^bb1(%x: f32, %a: f32):
    %z = arith.addf %x, %a : f32
    mem.yield %z : f32
  }} -> {type_of(shape, "f32")}"""
    x, start = random("f32", [4, 8], 0), random("f32", shape, 1)
    text = program([([4, 8], "f32"), (shape, "f32")], (shape, "f32"), operation)
    got = check(text, {"in0": x, "in1": start})["out"]
    expected = start + x.astype(np.float64).sum(axis=axes, keepdims=True)
    np.testing.assert_allclose(got, expected.reshape(shape), rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("name", ["maximumf", "minimumf"])
def test_reduction_keeps_nan(check: Check, name: str) -> None:
    operation = f"""%r = mem.reduce ins(%v0 : tensor<4x8xf32>) outs(%v1 : tensor<4xf32>)
      domain [4, 8] maps [{map_of(2, "d0, d1")}, {map_of(2, "d0")}] {{
  ^bb1(%x: f32, %a: f32):
    %z = arith.{name} %x, %a : f32
    mem.yield %z : f32
  }} -> tensor<4xf32>"""
    x, start = random("f32", [4, 8], 0), np.zeros(4, np.float32)
    x[1, 3], start[2] = np.nan, np.nan
    text = program([([4, 8], "f32"), ([4], "f32")], ([4], "f32"), operation)
    got = check(text, {"in0": x, "in1": start})["out"]
    np.testing.assert_array_equal(np.isnan(got), [False, True, True, False])


def test_reduction_of_integers_and_booleans(check: Check) -> None:
    operation = f"""%s, %t, %u = mem.reduce
      ins(%v0, %v0, %v0 : tensor<4x8xi8>, tensor<4x8xi8>, tensor<4x8xi8>)
      outs(%v1, %v2, %v1 : tensor<4xi32>, tensor<4xi8>, tensor<4xi32>) domain [4, 8]
      maps [{", ".join([map_of(2, "d0, d1")] * 3 + [map_of(2, "d0")] * 3)}] {{
  ^bb1(%x: i8, %y: i8, %z: i8, %a: i32, %b: i8, %c: i32):
    %xw = arith.extsi %x : i8 to i32
    %zw = arith.extsi %z : i8 to i32
    %d = arith.addi %xw, %a : i32
    %e = arith.maxsi %y, %b : i8
    %f = arith.muli %c, %zw : i32
    mem.yield %d, %e, %f : i32, i8, i32
  }} -> tensor<4xi32>, tensor<4xi8>, tensor<4xi32>
  %r = mem.map ins(%s, %t, %u : tensor<4xi32>, tensor<4xi8>, tensor<4xi32>) domain [4]
      maps [{", ".join([map_of(1, "d0")] * 4)}] {{
  ^bb1(%x: i32, %y: i8, %z: i32):
    %w = arith.extsi %y : i8 to i32
    %k = arith.constant 1000 : i32
    %m = arith.muli %w, %k : i32
    %n = arith.addi %x, %m : i32
    %o = arith.xori %n, %z : i32
    mem.yield %o : i32
  }} -> tensor<4xi32>"""
    types = [([4, 8], "i8"), ([4], "i32"), ([4], "i8")]
    inputs = {f"in{n}": random(d, s, n) for n, (s, d) in enumerate(types)}
    got = check(program(types, ([4], "i32"), operation), inputs)["out"]
    x, a, b = inputs["in0"].astype(np.int64), inputs["in1"], inputs["in2"]
    total = x.sum(axis=1) + a + 1000 * np.maximum(x.max(axis=1), b)
    product = (x.prod(axis=1) * a).astype(np.int32)
    np.testing.assert_array_equal(got, total.astype(np.int32) ^ product)


MAPS: list[tuple[list[int], str, list[int]]] = [
    # Transposition and broadcasting, by a missing dimension or an extent of 1.
    ([4, 8], "d1, d0", [8, 4]),
    ([4, 8, 2], "d2, d0, d1", [2, 4, 8]),
    ([4, 8], "d1", [8]),
    ([4, 8], "d0", [4]),
    ([4, 8], "d0, 0", [4, 1]),
    ([4, 8], "0, d1", [1, 8]),
    ([4, 8], "0, d0", [1, 4]),
    ([4, 8], "0, 0, d1, d0", [1, 1, 8, 4]),
    ([4, 8], "0", [1]),
    ([4, 8], "", []),
    ([1, 8], "d0, d1", [1, 8]),
    ([], "0, 0", [1, 1]),
    ([], "", []),
]


@pytest.mark.parametrize(("domain", "results", "shape"), MAPS)
def test_map_access(
    check: Check, domain: list[int], results: str, shape: list[int]
) -> None:
    rank = len(domain)
    identity = map_of(rank, ", ".join(f"d{dim}" for dim in range(rank)))
    operation = f"""%r = mem.map ins(%v0 : {type_of(shape, "f32")})
      domain [{", ".join(map(str, domain))}]
      maps [{map_of(rank, results)}, {identity}] {{
  ^bb1(%x: f32):
    mem.yield %x : f32
  }} -> {type_of(domain, "f32")}"""
    x = random("f32", shape, 0)
    got = check(program([(shape, "f32")], (domain, "f32"), operation), {"in0": x})
    places = [p.strip() for p in results.split(",") if p.strip()]
    grid = np.indices(domain)
    index = tuple(0 if p == "0" else grid[int(p[1:])] for p in places)
    expected = np.broadcast_to(x[index], domain)
    np.testing.assert_array_equal(got["out"], expected)
