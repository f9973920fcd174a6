"""Quotients rounded to whole numbers, and remainders, bit by bit as in PyTorch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch_special import T, check_exactly, functions, pairs, special

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
INTEGERS = (torch.int8, torch.int32, torch.int64)

TEXTS = (
    *("x // y", "T.fmod(x, y)", "x % y"),
    *("T.div(x, y, rounding_mode='floor')", "T.div(x, y, rounding_mode='trunc')"),
)
FUNCTIONS = functions("x, y", *TEXTS)


def computed(name: str, *arguments: Any) -> Tensor:
    """
    Return what PyTorch computes. Its remainders of several elements at once are NaN
    where the quotient is out of range, those of single ones are not.
    """
    if name not in TEXTS[1:3]:
        return FUNCTIONS[name](*arguments)
    rows = zip(
        *(each.split(1) for each in T.broadcast_tensors(*arguments)), strict=True
    )
    return T.cat([FUNCTIONS[name](*row) for row in rows])


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("dtype", "targets"),
    [
        (torch.float16, ["reference", "npu-tiny"]),
        (torch.bfloat16, ["reference", "triton"]),
        (torch.float32, ["reference", "npu-tiny", "triton"]),
        (torch.float64, ["reference", "triton"]),
    ],
)
def test_floats(dtype: torch.dtype, targets: list[str]):
    x, y = pairs(dtype)
    wanted = [computed(name, x, y) for name in FUNCTIONS]
    check_exactly(FUNCTIONS, [x, y], targets, wanted=wanted)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers(dtype: torch.dtype):
    x, y = pairs(dtype)
    is_defined = (y != 0) & ~((x == T.iinfo(dtype).min) & (y == -1))
    targets = ["reference", "npu-tiny", "triton"][:: 2 if dtype.itemsize > 4 else 1]
    check_exactly(FUNCTIONS, [x[is_defined], y[is_defined]], targets)


def without_quotient(dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Integers divided by 0, and the least one by -1."""
    limits = T.iinfo(dtype)
    numbers = T.tensor([limits.min, limits.max, -7, 0, 7, limits.min], dtype=dtype)
    return numbers, T.tensor([*[0] * 5, -1], dtype=dtype)


@pytest.mark.one_in(1)
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("target", ["reference", "npu-tiny", "triton"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_without_quotient(dtype: torch.dtype, target: str):
    """They are as if divided by 1, on every target."""
    x, y = without_quotient(dtype)
    wanted = [x, T.zeros_like(x), T.zeros_like(x), x, x]
    check_exactly(FUNCTIONS, [x, y], [target], wanted=wanted)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", INTEGERS)
def test_scalars_without_quotient(dtype: torch.dtype):
    """Tensors of one number, numbers of Python, and both known when compiling."""
    x, y = without_quotient(dtype)
    for number, divisor in ((x[0], y[0]), (x[5], y[5])):
        whole, zero = number.clone(), T.zeros_like(number)
        wanted = [whole, zero, zero, whole, whole]
        check_exactly(FUNCTIONS, [whole, divisor.clone()], wanted=wanted)
    known = functions("x", *TEXTS, y=0)
    check_exactly(known, [x], wanted=[x, T.zeros_like(x), T.zeros_like(x), x, x])


@pytest.mark.parametrize("dtype", FLOATS)
def test_numbers(dtype: torch.dtype):
    """By a number of Python, of which no step is rounded to 16 bits, and of one."""
    given = dict(functions("x", "5 % x", "-0.3 // x"))
    for number in (3, 0.3, -2.7, float("inf")):
        given |= functions("x", *TEXTS, y=number)
    size = T.abs(special(dtype))
    usual = (size < 2e4) & ((size == 0) | (size > 1e-4))
    check_exactly(given, [special(dtype)[usual]])


def test_scalars_on_either_side():
    x, y = T.tensor([1.0, -5.0, 0.1, float("inf")]), T.tensor(0.1)
    check_exactly(FUNCTIONS, [x, y])
    check_exactly(FUNCTIONS, [y, x])
    check_exactly(FUNCTIONS, [x.half(), y], ["reference"])
