"""Tensors that meet numbers of Python, bit by bit as in PyTorch."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch_check import compiled_by_backend
from torch_special import Functions, T, check_exactly, functions, special

HALVES = (torch.float16, torch.bfloat16)
INTEGERS = (torch.int8, torch.int32, torch.int64)
COMPARED = ("x < n", "x <= n", "x > n", "x >= n", "x == n", "x != n")
ANY = (
    *("x + n", "x - n", "n - x", "x * n", "n * x", "x / n", "n / x"),
    *("T.where(x > 0, x, n)", "T.lerp(x, x.flip(0), n)", "F.leaky_relu(x, n)"),
    "T.addcmul(x, x.clamp(-9, 9), x.flip(0), value=n)",
    "T.addcdiv(x, x, x.flip(0) + 2, value=n)",
    *("x * T.tensor(n)", "x + T.tensor(n)", "x < T.tensor(n)"),
)
BOUNDED = (
    *("T.add(x, x.flip(0), alpha=n)", "T.sub(x, x.flip(0), alpha=n)"),
    *("T.rsub(x, 3, alpha=n)", "T.clamp(x, min=n)", "x.masked_fill(x > 0, n)"),
    "F.hardshrink(x, n)",
)
"""Expressions that take numbers in the range of the type alone."""


@pytest.mark.one_in(4)
@pytest.mark.parametrize("number", [0.3, -2.7, 1e5, 1e-8, 3])
@pytest.mark.parametrize("dtype", HALVES)
def test_halves(dtype: torch.dtype, number: float):
    """A number stays as exact as PyTorch keeps it."""
    noise = T.randn(91, generator=T.Generator().manual_seed(0)).to(dtype)
    texts = (*COMPARED, *ANY, *(BOUNDED if number < 1e4 else ()))
    x = T.cat([special(dtype), 3 * noise])
    check_exactly(functions("x", *texts, n=number), [x], zeros=False)


@pytest.mark.parametrize("target", ["npu-tiny", "triton"])
def test_halves_on_targets(target: str):
    given = functions("x, y", "x * 1e5", "x / 1e6", "y * 0.1", "y / 0.3")
    x = T.tensor([1e-3, float("inf"), -3.25, 0.0]).half()
    check_exactly(given, [x, T.linspace(-3, 3, 40).bfloat16()], [target])


@pytest.mark.one_in(3)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_wrap_around(dtype: torch.dtype):
    given = dict(functions("x", "x + True", "x == True", "x * True"))
    texts = ("x + n", "n - x", "x * n", "x & n", "x < T.tensor(n)")
    for number in (200, 257, -129, 2**31, 2**40 + 5, 1):
        given |= functions("x", *COMPARED, *texts, "x * 0.5 < n + 0.5", n=number)
    check_exactly(given, [special(dtype)])


def test_truths_and_floats_meet_integers():
    truths = ("b * 2", "b == 2", "b < 2", "b * 0.5", "b + 2**40", "b & 2")
    floats = ("x * 2**40", "x < 2**40", "x != 16777217", "x + 16777217")
    given: Functions = functions("b, x", *truths, *floats)
    x = T.tensor([1.0, 1e30, -0.5, 16777216.0])
    check_exactly(given, [T.tensor([True, False]), x])


def test_truths_are_added():
    """Any of them is true; those of index operations, too."""
    texts = ("T.add(b, c, alpha=False)", "T.add(b, c, alpha=True)")
    given = functions(
        "b, c, i",
        *texts,
        "b.index_add(0, i, c)",
        "T.index_put(b, (i,), c, accumulate=True)",
    )
    b = T.tensor([False, True, False, False])
    check_exactly(given, [b, T.tensor([True, True, False, False]), T.arange(4) // 2])


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool])
def test_sums_and_products_of_truths(dtype: torch.dtype):
    texts = ("x.sum(1, dtype=d)", "x.prod(0, dtype=d)", "x[0, 1].prod(dtype=d)")
    given = functions(
        "x", *texts, "x.sum(dtype=d)", "x.prod(1, True, dtype=d)", d=T.bool
    )
    x = T.tensor([[0, 1, 2], [3, 1, 4], [0, 0, 0]]).to(dtype)
    check_exactly(given, [x])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_scalars_of_integers_are_not_rounded_to_halves(dtype: torch.dtype):
    texts = ("x * s", "x / s", "x + s", "x - s")
    x, s = T.tensor([0.1, 0.5, -0.25]).to(dtype), T.tensor(100001)
    check_exactly(functions("x, s", *texts), [x, s])
    check_exactly(functions("x, s", *texts), [x, T.tensor(257, dtype=torch.int32)])


@pytest.mark.parametrize("exponent", [-1, -2, -3])
def test_integers_have_no_negative_powers(exponent: int):
    def power(x: Tensor) -> Tensor:
        return x**exponent

    compiled = compiled_by_backend(power)
    with pytest.raises(RuntimeError, match="negative integer powers"):
        compiled(T.tensor([2, 1]))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_ends_that_are_tensors(dtype: torch.dtype):
    ends = ["a, b", "a, -2.5", "4.9, b", "b, a", "3, a"]
    given = functions(
        "a, b", *(f"T.linspace({each}, 54, dtype=d)" for each in ends), d=dtype
    )
    check_exactly(given, [T.tensor(5.9), T.tensor(-3)])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_counted_from_both_ends(dtype: torch.dtype):
    ends = ["0, 7, 50", "-3, 3, 1", "5, 1, 2", "-7, 11, 10", "2.5, -2.5, 11"]
    given = functions(
        "x", *(f"x + T.linspace({each}, dtype=d)" for each in ends), d=dtype
    )
    check_exactly(given, [T.zeros(1, dtype=dtype)])
