"""
Loads of elements that indices name, at the mem level: on Triton and in its interpreter,
against enumeration.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from differential import compiled_text, parsed

from tlf.dialects.interpreters.interpret import interpret
from tlf.runtime.triton.launch_plan import load_plan
from tlf.runtime.triton.offline_compiler import OfflineCompiler

Check = Callable[[str, Mapping[str, np.ndarray]], Mapping[str, np.ndarray]]


@dataclass(frozen=True)
class Case:
    """
    A load: where in the source, and in the indices, the element with the coordinates
    of `rows` and `places` is: coefficients of its dimensions, a constant at the end.
    """

    source: tuple[int, ...]
    indices: tuple[int, ...]
    axis: int
    rows: tuple[tuple[int, ...], ...]
    places: tuple[tuple[int, ...], ...]
    room: tuple[int, ...]
    offsets: tuple[int, ...] = ()
    box: tuple[int, ...] = ()

    @property
    def starts(self) -> tuple[int, ...]:
        return self.offsets or (0,) * len(self.source)

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.box or self.room

    def expected(self, x: np.ndarray, n: np.ndarray, fill: float) -> np.ndarray:
        """The value, one element after the other."""
        value = np.full(self.room, fill, x.dtype)
        for at in np.ndindex(*self.sizes):
            place = [
                start + row[-1] + sum(a * b for a, b in zip(row, at, strict=False))
                for row, start in zip(self.rows, self.starts, strict=True)
            ]
            index = tuple(
                row[-1] + sum(a * b for a, b in zip(row, at, strict=False))
                for row in self.places
            )
            place[self.axis] = int(n[index])
            if all(0 <= p < e for p, e in zip(place, x.shape, strict=True)):
                value[at] = x[tuple(place)]
        return value

    def program(self, index: str) -> str:
        """A program that loads and stores the value."""
        source, target = memref(self.source, "f32"), memref(self.room, "f32")
        whole, tile = memref(self.indices, index), tensor(self.indices, index)
        value, zeros = tensor(self.room, "f32"), ["0"] * len(self.room)
        rank = len(self.room)
        maps = f"{map_text(self.rows, rank)}, {map_text(self.places, rank)}"
        return f"""
func.func @f(%x: {source}, %n: {whole}, %y: {target})
    attributes {{tlf.results = 1 : i64}} {{
  %m = mem.load %n[{", ".join("0" for _ in self.indices)}]
      size {list(self.indices)} : {whole} -> {tile}
  %v = mem.gather %x[{", ".join(map(str, self.starts))}] axis {self.axis} at %m
      maps [{maps}] size {list(self.sizes)} fill 2.5 : {source}, {tile} -> {value}
  mem.store %v to %y[{", ".join(zeros)}] : {value} to {target}
  func.return
}}"""


def memref(shape: Sequence[int], element: str) -> str:
    return f'memref<{"x".join(map(str, [*shape, element]))}, "L3">'


def tensor(shape: Sequence[int], element: str) -> str:
    return f"tensor<{'x'.join(map(str, [*shape, element]))}>"


def map_text(rows: Sequence[Sequence[int]], rank: int) -> str:
    """An affine map of coefficients with a constant at the end."""
    dims = [f"d{dim}" for dim in range(rank)]
    results: list[str] = []
    for row in rows:
        terms = [f"{d} * {c}" for d, c in zip(dims, row, strict=False) if c]
        results.append(" + ".join([*terms, str(row[-1])]))
    return f"affine_map<({', '.join(dims)}) -> ({', '.join(results)})>"


NONE = (0, 0, 0)

CASES = {
    "rows": Case((50, 8), (4,), 0, (NONE, (0, 1, 0)), ((1, 0, 0),), (4, 8)),
    "part-of-rows": Case(
        (50, 8), (4,), 0, (NONE, (0, 1, 0)), ((1, 0, 0),), (4, 8), (0, -3), (3, 7)
    ),
    "columns": Case((5, 60), (8,), 1, ((1, 0, 0), NONE), ((0, 1, 0),), (8, 8)),
    "elements": Case(
        (4, 9), (4, 16), 1, ((1, 0, 0), NONE), ((1, 0, 0), (0, 1, 0)), (4, 16)
    ),
    "transposed-indices": Case(
        (8, 9), (16, 4), 1, ((1, 0, 0), NONE), ((0, 1, 0), (1, 0, 0)), (4, 16)
    ),
    "transposed-rows": Case((50, 8), (4,), 0, (NONE, (1, 0, 0)), ((0, 1, 0),), (8, 4)),
    "every-second": Case((50, 30), (4,), 0, (NONE, (0, 2, 1)), ((1, 0, 0),), (4, 8)),
    "one-index": Case((50, 8), (), 0, (NONE, (0, 1, 0)), (), (1, 8)),
    "one-of-many": Case((50, 8), (1,), 0, (NONE, (0, 1, 0)), (NONE,), (4, 8)),
    "repeated": Case((50,), (4,), 0, (NONE,), ((1, 0, 0),), (4, 8)),
    "one-row": Case((1, 8), (4,), 0, (NONE, (0, 1, 0)), ((1, 0, 0),), (4, 8)),
    "one-element": Case((1, 1), (1,), 1, (NONE, NONE), (NONE,), (1, 1)),
    "one-repeated": Case((1,), (4,), 0, (NONE,), ((1, 0, 0),), (4, 8)),
    "scalar": Case((9,), (), 0, ((0,),), (), ()),
    "middle": Case(
        (3, 9, 5),
        (2, 4),
        1,
        ((1, 0, 0, 0, 0), (0, 0, 0, 0, 0), (0, 0, 0, 1, 0)),
        ((0, 1, 0, 0, 0), (0, 0, 1, 0, 0)),
        (4, 2, 4, 8),
    ),
}


def verify(check: Check, case: Case, index: str, seed: int = 0) -> None:
    """Compare a case on Triton, and in the interpreter, with the enumeration."""
    rng, text = np.random.default_rng(seed), case.program(index)
    x = rng.standard_normal(case.source).astype(np.float32)
    extent = case.source[case.axis]
    n = np.asarray(rng.integers(-2, extent + 2, case.indices))
    inputs = {"x": x, "n": n.astype(np.int32 if index == "i32" else np.int64)}
    expected = case.expected(x, n, 2.5)
    np.testing.assert_array_equal(check(text, inputs)["y"], expected)
    (found,) = interpret(parsed(text)[1], inputs)
    inside = tuple(map(slice, case.sizes))
    np.testing.assert_array_equal(found[inside], expected[inside])


@pytest.mark.parametrize("index", ["i32", "i64"])
@pytest.mark.parametrize("name", CASES)
def test_cases(check: Check, name: str, index: str) -> None:
    verify(check, CASES[name], index)


def drawn(seed: int) -> Case:
    draw = np.random.default_rng(seed)
    rank, room_rank = int(draw.integers(1, 4)), int(draw.integers(1, 5))
    room = tuple(int(2**e) for e in draw.integers(0, 4, room_rank))
    axis = int(draw.integers(rank))
    rows, offsets = (
        draw.integers(-2, 4, (rank, room_rank + 1)),
        draw.integers(-4, 5, rank),
    )
    rows *= draw.integers(0, 2, rows.shape)
    rows[axis], offsets[axis] = 0, 0
    count = int(draw.integers(0, room_rank + 1))
    used = [int(dim) for dim in draw.permutation(room_rank)[:count]]
    places = [[int(dim == each) for dim in range(room_rank + 1)] for each in used]
    return Case(
        tuple(int(extent) for extent in draw.integers(1, 20, rank)),
        tuple(room[dim] for dim in used),
        axis,
        tuple(tuple(row) for row in rows.tolist()),
        tuple(tuple(row) for row in places),
        room,
        tuple(offsets.tolist()),
        tuple(int(draw.integers(1, extent + 1)) for extent in room),
    )


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("seed", range(24))
def test_random(check: Check, seed: int) -> None:
    verify(check, drawn(seed), "i64" if seed % 2 else "i32", seed)


EMBEDDING = """
func.func @main(%t: tensor<50257x768x{T}>, %n: tensor<4x512xi64>,
                %p: tensor<512x768x{T}>) -> tensor<4x512x768x{T}> {{
  %0 = graph.take %t, %n axis 0
    : (tensor<50257x768x{T}>, tensor<4x512xi64>) -> tensor<4x512x768x{T}>
  %y = graph.add %0, %p
    : (tensor<4x512x768x{T}>, tensor<512x768x{T}>) -> tensor<4x512x768x{T}>
  func.return %y : tensor<4x512x768x{T}>
}}
"""


@pytest.mark.parametrize("element", ["f32", "f16"])
def test_rows_come_16_bytes_at_a_time(element: str, compiler: OfflineCompiler) -> None:
    plan = load_plan(compiled_text(EMBEDDING.format(T=element), "h200"))
    (found,) = compiler.compile_plan_kernels(plan)
    assert found.assembly is not None
    assert found.assembly.spilled_bytes == 0
    widths = dict(found.assembly.loads)
    assert widths.pop(64, 0) <= 1  # of an index
    assert set(widths) == {128}
    assert set(found.assembly.stores) == {128}
