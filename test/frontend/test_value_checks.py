"""Indices and divisors that PyTorch refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional
from torch_check import T

from tlf.compiler.api.compile import compile as compile_program
from tlf.compiler.api.runtime_checks import CheckedValueError
from tlf.compiler.api.torch_backend import REPORT, tlf

PROGRAM = """
func.func @f(%x: tensor<5x4xf32>, %i: tensor<6xINT>, %j: tensor<3x4xINT>,
             %u: tensor<3x4xf32>)
    -> (tensor<6x4xf32>, tensor<3x4xf32>, tensor<5x4xf32>, tensor<5x4xf32>) {
  %0 = graph.take %x, %i axis 0 : (tensor<5x4xf32>, tensor<6xINT>) -> tensor<6x4xf32>
  %1 = graph.gather %x, %j axis 0
      : (tensor<5x4xf32>, tensor<3x4xINT>) -> tensor<3x4xf32>
  %2 = graph.scatter %x, %j, %u axis 0 <set>
      : (tensor<5x4xf32>, tensor<3x4xINT>, tensor<3x4xf32>) -> tensor<5x4xf32>
  %3 = graph.scatter %x, %j, %u axis 0 <add>
      : (tensor<5x4xf32>, tensor<3x4xINT>, tensor<3x4xf32>) -> tensor<5x4xf32>
  func.return %0, %1, %2, %3
      : tensor<6x4xf32>, tensor<3x4xf32>, tensor<5x4xf32>, tensor<5x4xf32>
}
"""

TARGETS = ["reference", "npu-tiny", "triton"]


@pytest.mark.parametrize(("element", "far"), [("i32", 2**31 - 1), ("i64", 2**40)])
@pytest.mark.parametrize("target", TARGETS)
def test_that_nothing_outside_is_read_or_written(target: str, element: str, far: int):
    dtype = {"i32": np.int32, "i64": np.int64}[element]
    x = np.arange(1, 21, dtype=np.float32).reshape(5, 4)
    places = np.array([0, 4, 5, -1, far, -far], dtype)
    each = np.array([[0, 5, -1, far]] * 3, dtype)
    found: Any = compile_program(PROGRAM.replace("INT", element), target=target)(
        x, places, each, np.full((3, 4), 9, np.float32)
    )
    taken, gathered, scattered, added = found
    np.testing.assert_array_equal(taken, [*x[[0, 4]], *np.zeros((4, 4))])
    np.testing.assert_array_equal(gathered, [[1, 0, 0, 0]] * 3)
    for result, corner in (scattered, 9), (added, 28):
        x[0, 0] = corner
        np.testing.assert_array_equal(result, x)


ROWS, WRONG = T.ones(5, 2), T.tensor([2, 7])
WHOLE, ZERO = T.tensor([5, 6]), T.tensor([0, 1])

CALLS = [
    ("F.embedding(y, x)", ROWS, WRONG),
    ("x.index_select(0, y) * 2", ROWS, WRONG),
    ("x.scatter(0, y[None], 2.0)", ROWS, WRONG),
    ("x.index_put((y,), x[0])", ROWS, WRONG),
    ("T.remainder(x, y)", WHOLE, ZERO),
    ("T.floor_divide(x, y)", WHOLE, ZERO),
]


@pytest.mark.parametrize(("text", "x", "y"), CALLS)
def test_checked(text: str, x: Any, y: Any):
    """PyTorch raises what it raises by itself."""
    call: Any = eval(f"lambda x, y: {text}", {"T": torch, "F": functional})
    with pytest.raises((IndexError, RuntimeError)) as expected:
        call(x, y)
    torch.compiler.reset()
    REPORT.clear()
    given = {"target": "reference", "check_indices": True}
    compiled = T.compile(call, backend=tlf, options=given)
    with torch.no_grad():
        with pytest.raises(expected.type, match=str(expected.value)[:20]):
            compiled(x, y)
        good = T.ones_like(y)
        torch.testing.assert_close(compiled(x, good), call(x, good))


class Indexing(torch.nn.Module):
    """Reads and writes at indices, each with indices of its own."""

    def forward(self, x: Any, *at: Any) -> list[Any]:
        ones = T.ones(2, 3)
        return [
            functional.embedding(at[0], x),
            x.index_select(0, at[1]),
            T.gather(x, 0, at[2][:, None]),
            x.scatter(0, at[3][:, None], ones),
            x.index_add(0, at[4], ones),
            x.index_put((at[5],), ones),
            x[at[6]],
            x[None, :, :][:, at[7], at[7]],
            T.div(at[8], at[9], rounding_mode="floor"),
        ]


EXPECTED = [
    *[("indices from 0 to 4", (5, -1, 2**31 - 1))] * 4,
    *[("indices from -5 to 4", (5, -6, 2**40))] * 3,
    ("indices from -3 to 2", (3, -4)),
    ("", ()),
    ("divisors other than 0", (0,)),
]


def test_what_a_checked_module_refuses():
    x = T.arange(15.0).reshape(5, 3)
    good = [T.tensor([0, 2]) for _ in range(5)]
    good[1] = good[1].int()
    good += [T.tensor([-1, -3]) for _ in range(3)]
    good += [T.tensor([-7, 7]), T.tensor([2, -2])]
    module = Indexing()
    compiled: Any = compile_program(module, (x, *good), check_indices=True)
    for found, wanted in zip(compiled(x, *good), module(x, *good), strict=True):
        assert T.equal(found, wanted)
    for number, (expected, values) in enumerate(EXPECTED):
        for bad in values:
            given = list(good)
            given[number] = T.tensor([1, bad], dtype=good[number].dtype)
            with pytest.raises(CheckedValueError, match=f"{expected}, got {bad}$"):
                compiled(x, *given)


CHECKED = """
func.func @f(%x: tensor<5x3xf32>, %i: tensor<i64>, %j: tensor<2x3xi32>,
             %n: tensor<7xi8>) -> (tensor<3xf32>, tensor<2x3xf32>, tensor<7xi8>) {
  %0 = graph.take %x, %i axis 0 : (tensor<5x3xf32>, tensor<i64>) -> tensor<3xf32>
  %1 = graph.gather %x, %j axis 0
      : (tensor<5x3xf32>, tensor<2x3xi32>) -> tensor<2x3xf32>
  %2 = graph.rem %n, %n : tensor<7xi8>
  func.return %0, %1, %2 : tensor<3xf32>, tensor<2x3xf32>, tensor<7xi8>
}
"""


@pytest.mark.parametrize("target", TARGETS)
def test_what_a_checked_program_refuses(target: str):
    x, each, one = (
        np.ones((5, 3), np.float32),
        np.full((2, 3), 4, np.int32),
        np.int64(1),
    )
    whole = np.full(7, -1, np.int8)
    program: Any = compile_program(CHECKED, target=target, check_indices=True)
    assert len(program(x, np.array(one), each, whole)) == 3
    for far in (5, -1, 2**40, -(2**63)):
        with pytest.raises(CheckedValueError, match=f":4:3: .*from 0 to 4, got {far}$"):
            program(x, np.array(far), each, whole)
    each[1, 2] = -(2**31)
    with pytest.raises(CheckedValueError, match=r":5:3: .* got -2147483648$"):
        program(x, np.array(one), each, whole)
    each[1, 2] = whole[6] = 0
    message = ":7:3: error: graph.rem: expected divisors other than 0, got 0"
    with pytest.raises(CheckedValueError, match=message):
        program(x, np.array(one), each, whole)


def test_checks_of_what_is_known():
    """Indices that are constants are looked at once, and results are as many."""
    text = """
func.func @f(%x: tensor<5xf32>) -> tensor<2xf32> {
  %i = graph.constant dense<[4, LAST]> : tensor<2xi64>
  %y = graph.take %x, %i axis 0 : (tensor<5xf32>, tensor<2xi64>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
"""
    x = np.arange(5, dtype=np.float32)
    program: Any = compile_program(text.replace("LAST", "3"), check_indices=True)
    np.testing.assert_array_equal(program(x), [4, 3])
    assert program.signature.outputs == ("y",)
    wrong: Any = compile_program(text.replace("LAST", "5"), check_indices=True)
    message = "<text>:4:3: error: graph.take: expected indices from 0 to 4, got 5"
    with pytest.raises(CheckedValueError, match=message):
        wrong(x)
