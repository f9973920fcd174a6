"""Signs, powers, moments and rows that are hidden: the edges that PyTorch defines."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch
from torch_check import TOLERANCES, Module, assert_close, noted
from torch_special import T, check_exactly, functions, special

from tlf.compiler.api.torch_module import compile_module

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
INF = float("inf")
TARGETS = ("reference", "npu-tiny", "triton")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("dtype", FLOATS)
def test_signs(dtype: torch.dtype):
    """Of NaN and of zeros, also where only a quotient shows them."""
    texts = ("T.sign(x)", "T.sgn(x)", "1 / T.sign(x)", "T.heaviside(x, y)", "abs(x)")
    x = special(dtype)
    check_exactly(functions("x, y", *texts, "-x", "x * -0.0"), [x, x.flip(0)])


@pytest.mark.one_in(2)
@pytest.mark.parametrize("dtype", FLOATS)
def test_powers(dtype: torch.dtype):
    """Of negative numbers, zeros and infinities, which exponents treat differently."""
    x = T.tensor([0.0, -0.0, 1.0, -1.0, 4.0, -4.0, -0.25, INF, -INF, float("nan")])
    exponents = (-3, -2, -1.5, -1, -0.5, -0.0, 0.5, 1, 1.5, 2, 3, INF, -INF)
    given = dict(functions("x", "T.pow(x[:, None], x)", "2.0 ** x", "0.25 ** x"))
    for exponent in exponents:
        given |= functions("x", "x ** n", n=exponent)
    check_exactly(given, [x.to(dtype)])


def test_roots_on_targets():
    x = T.tensor([0.0, -0.0, 4.0, -4.0, INF, -INF, float("nan")])
    given = functions("x, y", "x ** 0.5", "x ** -0.5", "T.sign(x)", "y ** -0.5")
    check_exactly(given, [x, x.half()], TARGETS[1:])


MIXED = (
    *("F.batch_norm(x, m, v)", "F.batch_norm(x, m, v, w, b)"),
    *("F.instance_norm(x, None, None, w, b)", "F.group_norm(x, 2, w, b)"),
    *("F.layer_norm(x, (6,), r, s)", "F.layer_norm(x, (6,), r)"),
    "F.rms_norm(x, (6,), r)",
)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("target", TARGETS)
def test_norms_with_weights_in_f32(dtype: torch.dtype, target: str):
    """Digits of weights and statistics that 16 bits do not hold still count."""
    m, v = T.tensor([1000.3, 0.0, -3.0, 0.1]), T.tensor([2.0, 1e6, 0.1, 1.0])
    w, b = T.tensor([1.001, 1e5, 1.0, -2.0]), T.tensor([0.1, 0.2, -1e5, 1.0])
    r, s = T.linspace(0.9001, 1.1, 6), T.linspace(-1, 1000.3, 6)
    noise = T.randn(2, 4, 6, generator=T.Generator().manual_seed(0))
    x = (3 * noise + T.tensor([1000.0, 0, 0, 0])[:, None]).to(dtype)
    arguments = [x, m, v, w, b, r, s]
    given = functions("x, m, v, w, b, r, s", *MIXED)

    def every(*arguments: torch.Tensor) -> list[torch.Tensor]:
        return [function(*arguments) for function in given.values()]

    found = compile_module(Module(every), arguments, target=target)(*arguments)
    for text, mine, theirs in zip(given, found, every(*arguments), strict=True):
        with noted(text):
            assert_close(mine, theirs, TOLERANCES[dtype])


def test_softmax_of_hidden_rows():
    rows = [[0.0, 0.0], [-INF, -INF], [float("nan"), 0], [INF, 0], [-INF, 0]]
    texts = (
        *("T._safe_softmax(s, -1)", "T._safe_softmax(s, 0)", "T.softmax(s, -1)"),
        "T.softmax(s.masked_fill(s < 0, -float('inf')), -1).masked_fill(s < 0, 0)",
        "T.where(T.isneginf(s.amax(-1, True)), 0.0, T.softmax(s, -1))",
        "T.nan_to_num(T.softmax(s, -1))",
        *(
            "T.softmax(s[1, 0], 0)",
            "T.softmax(s[0, 0], 0)",
            "T._safe_softmax(s[1, 0], 0)",
        ),
        *("T.log_softmax(s[1, 0], 0)", "T.log_softmax(s[0, 0], 0)"),
    )
    check_exactly(functions("s", *texts), [T.tensor(rows)], TARGETS)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("number", [3.0, INF, float("nan")])
def test_moments_of_few_elements(number: float):
    texts = (
        *("x.var(correction=c)", "x.std(correction=c)", "x.var((), correction=c)"),
        *("T.var_mean(x, correction=c)[0]", "T.std_mean(x, correction=c)[1]"),
        "x.var(0, correction=c, keepdim=True)",
        *("x.reshape(1).std(correction=c)", "x.reshape(1, 1).var(1, correction=c)"),
        "x.reshape(1, 1).std((), correction=c, keepdim=True)",
        "T.stack([x, 3 * x]).var(correction=c + 1)",
    )
    given: dict[str, Callable[..., Any]] = {}
    for correction in (0, 1, 2, 0.5):
        given |= functions("x", *texts, c=correction)
    check_exactly(given, [T.tensor(number)])


@pytest.mark.one_in(2)
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_nearest_elements(rank: int, mode: str):
    """Sizes and factors at which the precision of the factor decides."""
    rows, columns = (2,) * (rank - 1), (14, 2, 3)
    arguments = [
        T.arange(2.0 ** (rank - 1) * n).reshape(1, 1, *rows, n) for n in columns
    ]
    given: dict[str, Callable[..., Any]] = {}
    ones = (1.0,) * (rank - 1)
    for size, name in product((20, 7, 41), "xyz"):
        given |= functions(
            "x, y, z", f"F.interpolate({name}, n, mode=m)", n=(*rows, size), m=mode
        )
    for factor, name in product((1.3, 2.05, 0.7, 1.01, 3.0), "xyz"):
        text = f"F.interpolate({name}, scale_factor=n, mode=m)"
        given |= functions("x, y, z", text, n=(*ones, factor), m=mode)
    check_exactly(given, arguments)
    doubles = [each.double() for each in arguments]
    check_exactly(given, doubles)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("mode", ["replicate", "reflect", "circular", "constant"])
def test_negative_padding_crops(mode: str):
    given: dict[str, Callable[..., Any]] = {}
    for widths in ((-1, 2), (2, -1), (-2, -1), (0, -3)):
        given |= functions("x, y, z", "F.pad(x, n, m)", n=widths, m=mode)
        twice = (*widths, *widths[::-1])
        given |= functions("x, y, z", "F.pad(y, n, m)", n=twice, m=mode)
    given |= functions("x, y, z", "F.pad(z, (1, 1, -1, 2, 1, -2), m)", m=mode)
    x, y = T.arange(12.0).reshape(1, 2, 6), T.arange(60.0).reshape(1, 2, 5, 6)
    check_exactly(given, [x, y, T.arange(120.0).reshape(1, 2, 4, 5, 3)])


def test_negative_padding_on_targets():
    texts = ("F.pad(x, (-1, 2), 'replicate')", "F.pad(x, (2, -1), 'reflect')")
    check_exactly(
        functions("x", *texts), [T.arange(12.0).reshape(1, 2, 6)], TARGETS[1:]
    )


def test_padding_is_left_where_all_is_cropped():
    texts = ("F.pad(x, (-3, 4), value=2.0)", "F.pad(x, (1, 0, -2, 3), value=2.0)")
    check_exactly(functions("x", *texts), [T.arange(6.0).reshape(2, 3)])


PLACES = (
    *("x.max(1)[1]", "x.min(0)[1]", "x.argmax(1)", "x.argmin()", "x.sort(1)[1]"),
    *("x.cummax(1)[1]", "x.cummin(0)[1]"),
    "T.sort(x, dim=1, descending=True, stable=True)[1]",
    "F.max_pool1d(x, 4, 2, 1, return_indices=True)[1]",
    "F.max_pool2d(x.reshape(1, 5, 2, 4), 2, 1, 1, (1, 2), return_indices=True)[1]",
    "F.max_pool3d(x.reshape(1, 5, 2, 2, 2), 2, return_indices=True)[1]",
    "F.adaptive_max_pool1d(x, 2, return_indices=True)[1]",
    "F.adaptive_max_pool2d(x.reshape(5, 2, 4), (1, 2), return_indices=True)[1]",
    "F.adaptive_max_pool3d(x.reshape(5, 2, 2, 2), 1, return_indices=True)[1]",
)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_places_of_several_nan(dtype: torch.dtype):
    """Reductions keep the first, and pools and running extremes the last one."""
    nan = float("nan")
    rows = [
        *([1, nan, 2, nan, 5, nan, 3, 4], [3, 1, 3, 3, nan, 1, 1, nan]),
        *([-INF, -INF, nan, nan, -INF, 2, 2, 1], [2, 2, 1, 1, INF, INF, 0, 0]),
        [-INF] * 8,
    ]
    check_exactly(functions("x", *PLACES), [T.tensor(rows, dtype=dtype)])


@pytest.mark.parametrize("target", TARGETS[1:])
def test_places_of_several_nan_on_targets(target: str):
    nan = float("nan")
    x = T.tensor([[1, nan, nan, 5, 2, -INF], [-INF, nan, 3, 3, 1, nan]])
    texts = ("x.argmax(1)", "F.max_pool1d(x, 3, 1, 1, return_indices=True)[1]")
    texts += ("x.cummax(1)[1]", "x.cummin(1)[1]")
    check_exactly(functions("x", *texts), [x], [target])
