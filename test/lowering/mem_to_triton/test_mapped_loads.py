"""
Loads through affine maps: transposed, strided, repeated, and windows, on Triton.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest

from tlf.runtime.triton.launch_plan import Plan

Check = Callable[[str, Mapping[str, np.ndarray]], Mapping[str, np.ndarray]]

GRID = '{mapping = "grid"} : (index, index, index) -> ()'

ONE = "<{operandSegmentSizes = array<i32: 1, 1, 1, 0>}>"


@dataclass(frozen=True)
class Case:
    """
    A load: per dimension of the source an offset, and coefficients of the value's
    dimensions with a constant at the end.
    """

    source: tuple[int, ...]
    offsets: tuple[int, ...]
    rows: tuple[tuple[int, ...], ...]
    room: tuple[int, ...]
    box: tuple[int, ...] = ()

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.box or self.room

    @property
    def map(self) -> str:
        dims = [f"d{dim}" for dim in range(len(self.room))]
        results = [
            " + ".join([*(f"{d} * {c}" for d, c in zip(dims, row, strict=False) if c)])
            + f" + {row[-1]}"
            for row in self.rows
        ]
        results = [text.removeprefix(" + ") for text in results]
        return f"affine_map<({', '.join(dims)}) -> ({', '.join(results)})>"

    def expected(self, source: np.ndarray, fill: float) -> np.ndarray:
        """
        The value by enumeration of its elements.
        """
        grid = np.indices(self.room)
        valid = np.ones(self.room, bool)
        for index, size in zip(grid, self.sizes, strict=True):
            valid &= index < size
        places: list[np.ndarray] = []
        for offset, row, extent in zip(
            self.offsets, self.rows, self.source, strict=True
        ):
            at = np.full(self.room, offset + row[-1])
            for index, coefficient in zip(grid, row, strict=False):
                at = at + index * coefficient
            valid &= (at >= 0) & (at < extent)
            places.append(np.clip(at, 0, extent - 1))
        return np.where(valid, source[tuple(places)], np.asarray(fill, source.dtype))


def shaped(kind: str, shape: Sequence[int], dtype: str) -> str:
    space = ', "L3"' if kind == "memref" else ""
    return f"{kind}<{'x'.join(map(str, [*shape, dtype]))}{space}>"


def program(case: Case, dtype: str, fill: str) -> str:
    source, value = (
        shaped("memref", case.source, dtype),
        shaped("tensor", case.room, dtype),
    )
    target = shaped("memref", case.room, dtype)
    zeros = ", ".join("0" for _ in case.room)
    return f"""
func.func @f(%x: {source}, %y: {target}) attributes {{tlf.results = 1 : i64}} {{
  %v = mem.load %x[{", ".join(map(str, case.offsets))}] map {case.map}
      size [{", ".join(map(str, case.sizes))}] fill {fill} : {source} -> {value}
  mem.store %v to %y[{zeros}] : {value} to {target}
  func.return
}}"""


CASES = {
    "transposed": Case((8, 16), (0, 0), ((0, 1, 0), (1, 0, 0)), (16, 8)),
    "rotated": Case(
        (4, 8, 2), (0, 0, 0), ((0, 1, 0, 0), (0, 0, 1, 0), (1, 0, 0, 0)), (2, 4, 8)
    ),
    "every-third": Case((50,), (1,), ((3, 0),), (16,)),
    "backwards": Case((16,), (15,), ((-1, 0),), (16,)),
    "repeated": Case((8,), (0,), ((0, 1, 0),), (4, 8)),
    "repeated-inside": Case((8,), (0,), ((1, 0, 0),), (8, 4)),
    "one-element": Case((5, 5), (2, 3), ((0, 0, 0), (0, 0, 1)), (4, 8)),
    "one-element-outside": Case((5, 5), (2, 4), ((0, 0, 0), (0, 0, 1)), (4, 8)),
    "one-of-one": Case((5,), (2,), ((0, 0),), (1,)),
    "one-part-valid": Case((5,), (2,), ((0, 0),), (8,), (5,)),
    "repeated-part-valid": Case((8,), (0,), ((0, 1, 0),), (4, 8), (3, 7)),
    "to-fewer-dimensions": Case((3, 7, 9), (1, 0, 4), ((0, 0), (1, 0), (0, 0)), (8,)),
    "window": Case((20,), (-1,), ((2, 1, 0),), (8, 4), (8, 3)),
    "window-of-rows": Case(
        (9, 11),
        (-1, -1),
        ((2, 0, 1, 0, 0), (0, 2, 0, 1, 0)),
        (4, 4, 4, 4),
        (4, 4, 3, 3),
    ),
    "diagonal": Case((8, 8), (0, 0), ((1, 0), (1, 0)), (8,)),
    "padded": Case((6, 10), (-2, -3), ((1, 0, 0), (0, 1, 0)), (16, 16), (10, 16)),
    "unit-dimensions": Case(
        (1, 6, 1), (0, 1, 0), ((1, 0, 0), (0, 1, 0), (0, 0, 0)), (1, 4)
    ),
    "empty-part": Case((6,), (100,), ((1, 0),), (8,)),
}


@pytest.mark.parametrize("name", CASES)
def test_cases(check: Check, name: str) -> None:
    case = CASES[name]
    x = np.random.default_rng(0).standard_normal(case.source).astype(np.float32)
    got = check(program(case, "f32", "2.5"), {"x": x})["y"]
    np.testing.assert_array_equal(got, case.expected(x, 2.5))


def drawn(seed: int) -> Case:
    draw = np.random.default_rng(seed)
    rank, room_rank = int(draw.integers(1, 4)), int(draw.integers(1, 5))
    room = tuple(int(2**e) for e in draw.integers(0, 4, room_rank))
    return Case(
        tuple(int(extent) for extent in draw.integers(1, 20, rank)),
        tuple(int(offset) for offset in draw.integers(-4, 5, rank)),
        tuple(
            (
                *map(
                    int,
                    draw.integers(-2, 4, room_rank) * draw.integers(0, 2, room_rank),
                ),
                int(draw.integers(-2, 3)),
            )
            for _ in range(rank)
        ),
        room,
        tuple(int(draw.integers(1, extent + 1)) for extent in room),
    )


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("seed", range(24))
def test_random(check: Check, seed: int) -> None:
    case = drawn(seed)
    x = np.random.default_rng(seed).standard_normal(case.source).astype(np.float32)
    got = check(program(case, "f32", "-7.0"), {"x": x})["y"]
    np.testing.assert_array_equal(got, case.expected(x, -7.0))


TYPES = {
    "f16": ("-inf", np.dtype(np.float16)),
    "bf16": ("0.5", np.dtype(ml_dtypes.bfloat16)),
    "f64": ("0.1", np.dtype(np.float64)),
    "i1": ("1", np.dtype(np.bool_)),
    "i8": ("-7", np.dtype(np.int8)),
    "i16": ("300", np.dtype(np.int16)),
    "i32": ("-5", np.dtype(np.int32)),
    "i64": ("9876543210", np.dtype(np.int64)),
}


@pytest.mark.parametrize("dtype", TYPES)
def test_types(check: Check, dtype: str) -> None:
    case = Case((9, 5), (-1, 1), ((0, 2, 0), (1, 0, 0)), (8, 8), (7, 8))
    fill, numpy = TYPES[dtype]
    x = np.random.default_rng(0).integers(0, 2, case.source).astype(numpy)
    got = check(program(case, dtype, fill), {"x": x})["y"]
    number = float(fill) if dtype[0] != "i" else int(fill)
    np.testing.assert_array_equal(got, case.expected(x, number))


def test_masks_only_what_can_be_outside(plan_of: Callable[[str], Plan]) -> None:
    """
    A strided slice and its transpose stay inside; a window leaves at the end only.
    """
    inside = Case((16, 31), (0, 0), ((0, 1, 0), (2, 0, 0)), (16, 16))
    source = plan_of(program(inside, "f32", "0.0")).kernels[0].source
    assert "mask" not in source
    window = Case((20,), (0,), ((2, 1, 0),), (8, 8))
    source = plan_of(program(window, "f32", "0.0")).kernels[0].source
    assert "< 20)" in source
    assert ">= 0" not in source


@pytest.mark.parametrize("dtype", ["f32", "f16"])
@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (1, 2)])
def test_convolution(check: Check, dtype: str, stride: int, dilation: int) -> None:
    """
    A 3x3 convolution with padding as products of gathered windows, one per program.
    """
    height, width, channels, filters = 9, 7, 5, 6
    high, wide = (
        (extent + 2 - 2 * dilation - 1) // stride + 1 for extent in (height, width)
    )
    image = shaped("memref", (height, width, channels), dtype)
    weights = shaped("memref", (3, 3, channels, filters), dtype)
    result = shaped("memref", (high, wide, filters), "f32")
    move = (
        f"affine_map<(p, q, r, s, c) -> "
        f"(p * {stride} + r * {dilation}, q * {stride} + s * {dilation}, c)>"
    )
    maps = (
        "affine_map<(p, q, f, r, s, c) -> (p, q, r, s, c)>, "
        "affine_map<(p, q, f, r, s, c) -> (r, s, c, f)>, "
        "affine_map<(p, q, f, r, s, c) -> (p, q, f)>"
    )
    text = f"""
func.func @f(%x: {image}, %w: {weights}, %y: {result})
    attributes {{tlf.results = 1 : i64}} {{
  %zero = arith.constant 0 : index
  %end = arith.constant {high} : index
  %step = arith.constant 2 : index
  "scf.parallel"(%zero, %end, %step) {ONE} ({{
  ^bb0(%i: index):
    %o = affine.apply affine_map<(d0) -> (d0 * {stride} - 1)> (%i)
    %a = mem.load %x[%o, -1, 0] map {move} size [2, {wide}, 3, 3, {channels}]
        fill 0.0 : {image} -> tensor<2x8x4x4x8x{dtype}>
    %b = mem.load %w[0, 0, 0, 0] size [3, 3, {channels}, {filters}] fill 0.0
        : {weights} -> tensor<4x4x8x16x{dtype}>
    %s = mem.fill 0.0 -> tensor<2x8x16xf32>
    %r = mem.contract
        ins(%a, %b : tensor<2x8x4x4x8x{dtype}>, tensor<4x4x8x16x{dtype}>)
        outs(%s : tensor<2x8x16xf32>) domain [2, 8, 16, 4, 4, 8] maps [{maps}]
        -> tensor<2x8x16xf32>
    mem.store %r to %y[%i, 0, 0] size [2, {wide}, {filters}]
        : tensor<2x8x16xf32> to {result}
    scf.reduce
  }}) {GRID}
  func.return
}}"""
    draw = np.random.default_rng(1)
    numpy = np.float32 if dtype == "f32" else np.float16
    x = draw.standard_normal((height, width, channels)).astype(numpy)
    w = draw.standard_normal((3, 3, channels, filters)).astype(numpy)
    got = check(text, {"x": x, "w": w})["y"]
    padded = np.pad(x.astype(np.float64), ((1, 1), (1, 1), (0, 0)))
    expected = np.zeros((high, wide, filters))
    for r in range(3):
        for s in range(3):
            rows = slice(r * dilation, r * dilation + high * stride, stride)
            columns = slice(s * dilation, s * dilation + wide * stride, stride)
            piece = padded[rows, columns][:high, :wide]
            expected += piece @ w[r, s].astype(np.float64)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)
