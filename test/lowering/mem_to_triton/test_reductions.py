"""
Reductions in all element types, over any axes, with a body before the combination.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

Check = Callable[[str, Mapping[str, np.ndarray]], Mapping[str, np.ndarray]]

Combine = Callable[..., np.ndarray]

INTEGERS: Mapping[str, Combine] = {
    "addi": np.add,
    "muli": np.multiply,
    "maxsi": np.maximum,
    "minsi": np.minimum,
    "andi": np.bitwise_and,
    "ori": np.bitwise_or,
}

BOOLEANS: Mapping[str, Combine] = {"andi": np.logical_and, "ori": np.logical_or}

FLOATS: Mapping[str, Combine] = {
    "addf": np.add,
    "mulf": np.multiply,
    "maximumf": np.maximum,
    "minimumf": np.minimum,
}

SHAPE = (4, 8, 2)


def shaped(kind: str, shape: Sequence[int], dtype: str) -> str:
    space = ', "L3"' if kind == "memref" else ""
    return f"{kind}<{'x'.join(map(str, [*shape, dtype]))}{space}>"


def program(names: Sequence[str], dtype: str, axes: Sequence[int]) -> str:
    """
    Reduce `%x` from `%s` by each of `names` at once, over `axes` of `SHAPE`.
    """
    kept = [dim for dim in range(3) if dim not in axes]
    out = [SHAPE[dim] for dim in kept]
    source, target = shaped("memref", SHAPE, dtype), shaped("memref", out, dtype)
    whole, part = shaped("tensor", SHAPE, dtype), shaped("tensor", out, dtype)
    count = len(names)
    maps = ["affine_map<(d0, d1, d2) -> (d0, d1, d2)>"] * count
    dims = ", ".join(f"d{dim}" for dim in kept)
    maps += [f"affine_map<(d0, d1, d2) -> ({dims})>"] * count
    elements = [f"%e{n}: {dtype}" for n in range(count)]
    totals = [f"%a{n}: {dtype}" for n in range(count)]
    zeros = ", ".join("0" for _ in out)
    extents = ", ".join(map(str, out))
    combines = "\n    ".join(
        f"%z{n} = arith.{name} %a{n}, %e{n} : {dtype}" for n, name in enumerate(names)
    )
    stores = "\n  ".join(
        f"mem.store %r{n} to %y{n}[{zeros}] : {part} to {target}" for n in range(count)
    )
    return f"""
func.func @f(%x: {source}, %s: {target},
    {", ".join(f"%y{n}: {target}" for n in range(count))})
    attributes {{tlf.results = {count} : i64}} {{
  %v = mem.load %x[0, 0, 0] size [4, 8, 2] : {source} -> {whole}
  %w = mem.load %s[{zeros}] size [{extents}] : {target} -> {part}
  {", ".join(f"%r{n}" for n in range(count))} = mem.reduce
      ins({", ".join(["%v"] * count)} : {", ".join([whole] * count)})
      outs({", ".join(["%w"] * count)} : {", ".join([part] * count)})
      domain [4, 8, 2] maps [{", ".join(maps)}] {{
  ^bb1({", ".join(elements + totals)}):
    {combines}
    mem.yield {", ".join(f"%z{n}" for n in range(count))} : {", ".join([dtype] * count)}
  }} -> {", ".join([part] * count)}
  {stores}
  func.return
}}"""


def run(
    check: Check,
    combines: Mapping[str, Combine],
    dtype: str,
    axes: tuple[int, ...],
    draw: Callable[[tuple[int, ...]], np.ndarray],
) -> None:
    """
    Compare all of `combines` with numpy, element by element.
    """
    x = draw(SHAPE)
    start = np.asarray(draw(tuple(SHAPE[d] for d in range(3) if d not in axes)))
    got = check(program(list(combines), dtype, axes), {"x": x, "s": start})
    for number, (name, combine) in enumerate(combines.items()):
        total = start
        moved = np.moveaxis(x, axes, range(len(axes)))
        for piece in moved.reshape(-1, *start.shape):
            total = combine(total, piece).astype(x.dtype)
        result = got[f"y{number}"]
        assert result.dtype == x.dtype
        if x.dtype.kind == "f":
            np.testing.assert_allclose(result, total, rtol=1e-13, err_msg=name)
        else:
            np.testing.assert_array_equal(result, total, name)


AXES = [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)]


@pytest.mark.parametrize("dtype", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("axes", [(1,), (0, 2), (0, 1, 2)])
def test_integers(check: Check, dtype: str, axes: tuple[int, ...]) -> None:
    numpy = np.dtype(f"int{dtype[1:]}")
    limits = np.iinfo(numpy)
    draw = np.random.default_rng(5)
    # Whole range: sums and products wrap around.
    run(
        check,
        INTEGERS,
        dtype,
        axes,
        lambda shape: draw.integers(
            limits.min, limits.max, shape, numpy, endpoint=True
        ),
    )


@pytest.mark.parametrize("axes", AXES)
def test_booleans(check: Check, axes: tuple[int, ...]) -> None:
    draw = np.random.default_rng(6)
    run(check, BOOLEANS, "i1", axes, lambda shape: draw.random(shape) < 0.8)


@pytest.mark.parametrize("axes", AXES)
def test_doubles(check: Check, axes: tuple[int, ...]) -> None:
    draw = np.random.default_rng(7)
    run(check, FLOATS, "f64", axes, lambda shape: draw.uniform(0.5, 1.5, shape))


@pytest.mark.parametrize("dtype", ["f16", "f32"])
def test_sum_of_squares_of_what_a_condition_selects(check: Check, dtype: str) -> None:
    """
    A body with a comparison and a cast before the combination, the sum in f32.
    """
    source = shaped("memref", (30, 50), dtype)
    cast = "" if dtype == "f32" else f"%w = arith.extf %n : {dtype} to f32"
    wide = "%n" if dtype == "f32" else "%w"
    text = f"""
func.func @f(%x: {source}, %y: memref<30xf32, "L3">)
    attributes {{tlf.results = 1 : i64}} {{
  %v = mem.load %x[0, 0] size [30, 50] fill 0.0 : {source} -> tensor<32x64x{dtype}>
  %s = mem.fill 0.0 -> tensor<32xf32>
  %r = mem.reduce ins(%v : tensor<32x64x{dtype}>) outs(%s : tensor<32xf32>)
      domain [32, 64]
      maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>] {{
  ^bb1(%e: {dtype}, %a: f32):
    %zero = arith.constant 0.0 : {dtype}
    %positive = arith.cmpf ogt, %e, %zero : {dtype}
    %n = arith.select %positive, %e, %zero : {dtype}
    {cast}
    %q = arith.mulf {wide}, {wide} : f32
    %z = arith.addf %q, %a : f32
    mem.yield %z : f32
  }} -> tensor<32xf32>
  mem.store %r to %y[0] size [30] : tensor<32xf32> to memref<30xf32, "L3">
  func.return
}}"""
    x = np.random.default_rng(8).standard_normal((30, 50))
    x = x.astype(np.float32 if dtype == "f32" else np.float16)
    got = check(text, {"x": x})["y"]
    expected = (np.maximum(x.astype(np.float64), 0) ** 2).sum(axis=1)
    np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_two_results_with_starts(check: Check) -> None:
    """
    Both results start from values, some of which win.
    """
    x = np.random.default_rng(9).integers(-50, 50, (4, 8, 2)).astype(np.int32)
    start = np.array([[7, -99]] * 4, np.int32)
    got = check(program(["maxsi", "minsi"], "i32", (1,)), {"x": x, "s": start})
    np.testing.assert_array_equal(got["y0"], np.maximum(x.max(axis=1), start))
    np.testing.assert_array_equal(got["y1"], np.minimum(x.min(axis=1), start))
