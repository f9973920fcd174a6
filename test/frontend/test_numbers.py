"""Tensors that meet numbers of Python, bit by bit as PyTorch has them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional as F
from torch_special import Functions, T, check_exactly, special

HALVES = (torch.float16, torch.bfloat16)
INTEGERS = (torch.int8, torch.int32, torch.int64)
RELATIONS = ("lt", "le", "gt", "ge", "eq", "ne")


def functions_of(number: Any) -> Functions:
    """Functions of a tensor of floats that take a number."""

    def reversed_of(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda x: function(number, x)

    operators = ("add", "sub", "mul", "truediv")
    found: dict[str, Callable[..., Any]] = {}
    for name in operators:
        function = getattr(operator, name)
        found[name] = lambda x, f=function: f(x, number)
        found[f"reversed {name}"] = reversed_of(function)
    for name in RELATIONS:
        found[name] = lambda x, f=getattr(T, name): f(x, number)
    return found | {
        "where": lambda x: T.where(x > 0, x, number),
        "lerp": lambda x: T.lerp(x, x.flip(0), number),
        "addcmul": lambda x: T.addcmul(x, x, x.flip(0), value=number),
        "addcdiv": lambda x: T.addcdiv(x, x, x.flip(0) + 2, value=number),
        "leaky_relu": lambda x: F.leaky_relu(x, number),
        "times scalar": lambda x: x * T.tensor(number),
        "plus scalar": lambda x: x + T.tensor(number),
        "less than scalar": lambda x: x < T.tensor(number),
    }


def bounded_functions_of(number: float) -> Functions:
    """Those whose number PyTorch wants in the range of the type."""
    return {
        "add alpha": lambda x: T.add(x, x.flip(0), alpha=number),
        "sub alpha": lambda x: T.sub(x, x.flip(0), alpha=number),
        "rsub alpha": lambda x: T.rsub(x, 3, alpha=number),
        "clamp": lambda x: T.clamp(x, min=number),
        "masked_fill": lambda x: x.masked_fill(x > 0, number),
        "softshrink": lambda x: F.softshrink(x, abs(number)),
        "hardshrink": lambda x: F.hardshrink(x, number),
    }


@pytest.mark.one_in(4)
@pytest.mark.parametrize("number", [0.3, -2.7, 1e5, 1e-8, 3])
@pytest.mark.parametrize("dtype", HALVES)
def test_halves(dtype: torch.dtype, number: float):
    """A number stays as exact as PyTorch keeps it."""
    noise = T.randn(91, generator=T.Generator().manual_seed(0)).to(dtype)
    x = T.cat([special(dtype), 3 * noise])
    functions = dict(functions_of(number))
    if abs(number) < 1e4:
        functions |= bounded_functions_of(number)
    check_exactly(functions, [x], zeros=False)


@pytest.mark.parametrize("target", ["npu-tiny", "triton"])
def test_halves_on_targets(target: str):
    functions: Functions = {
        "times": lambda x, y: (x * 1e5, y * 0.1),
        "over": lambda x, y: (x / 1e6, y / 0.3),
    }
    flat: Functions = {
        f"{name} {place}": lambda x, y, f=function, n=place: f(x, y)[n]
        for name, function in functions.items()
        for place in (0, 1)
    }
    x = T.tensor([1e-3, float("inf"), -3.25, 0.0]).half()
    check_exactly(flat, [x, T.linspace(-3, 3, 40).bfloat16()], [target])


@pytest.mark.one_in(3)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_wrap_around(dtype: torch.dtype):
    functions: dict[str, Callable[..., Any]] = {}
    for number in (200, 257, -129, 2**31, 2**40 + 5, True):
        functions |= {
            f"{name} {number}": lambda x, f=getattr(T, name), n=number: f(x, n)
            for name in (*RELATIONS, "add", "mul")
        }
        functions[f"- {number}"] = lambda x, n=number: x - int(n)
        functions[f"& {number}"] = lambda x, n=number: x & n
        functions[f"scalar {number}"] = lambda x, n=number: x < T.tensor(int(n))
        functions[f"0.5 {number}"] = lambda x, n=number: (x < n + 0.5) | (x * 0.5 == n)
    check_exactly(functions, [special(dtype)])


def test_truths_and_floats_meet_integers():
    functions: Functions = {
        "two": lambda b, x: b * 2 + (b == 2) + (b < 2),
        "half": lambda b, x: b * 0.5 + 1,
        "large": lambda b, x: (b + 2**40) * 2,
        "float": lambda b, x: x * 2**40 + 16777217,
        "compared": lambda b, x: (x < 2**40) & (x != 16777217) & b[0],
    }
    check_exactly(
        functions, [T.tensor([True, False, True]), T.tensor([1.0, 1e30, -0.5])]
    )
