"""Transposed convolutions with random options, against PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from numpy.random import Generator
from torch import Tensor
from torch.nn import functional
from torch_check import Module, assert_close

from tlf.compiler.api.torch_module import compile_module
from tlf.frontend.torch.aten.convolution import TransposedAxis
from tlf.frontend.torch.export import from_torch

FUNCTIONS: dict[int, Callable[..., Tensor]] = {
    1: functional.conv_transpose1d,
    2: functional.conv_transpose2d,
    3: functional.conv_transpose3d,
}


def some_axis(rng: Generator, most: int) -> TransposedAxis:
    """An axis with a result of some elements, its extents and steps up to `most`."""
    while True:
        extent, taps, stride, dilation = (int(n) for n in rng.integers(1, most + 1, 4))
        extra = int(rng.integers(0, max(stride, dilation)))
        axis = TransposedAxis(
            extent, taps, stride, int(rng.integers(0, 4)), dilation, extra
        )
        if axis.result_extent > 0:
            return axis


def check(seed: int, rank: int, target: str) -> None:
    rng = np.random.default_rng([seed, rank])
    axes = [some_axis(rng, 4 if rank < 3 else 3) for _ in range(rank)]
    batch, groups, channels, count = (int(n) for n in rng.integers(1, 4, 4))
    x, filters = (
        torch.tensor(rng.standard_normal(shape), dtype=torch.float32)
        for shape in (
            (batch, groups * channels, *(axis.extent for axis in axes)),
            (groups * channels, count, *(axis.tap_count for axis in axes)),
        )
    )
    options: dict[str, Any] = {
        "stride": tuple(axis.stride for axis in axes),
        "padding": tuple(axis.padding for axis in axes),
        "output_padding": tuple(axis.output_padding for axis in axes),
        "dilation": tuple(axis.dilation for axis in axes),
        "groups": groups,
    }

    def function(x: Tensor, filters: Tensor) -> Tensor:
        return FUNCTIONS[rank](x, filters, **options)

    compiled = compile_module(Module(function), (x, filters), target=target)
    assert_close(compiled(x, filters), function(x, filters), 1e-5)


@pytest.mark.one_in(12)
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("rank", FUNCTIONS)
def test_reference(rank: int, seed: int):
    check(seed, rank, "reference")


@pytest.mark.one_in(12)
@pytest.mark.parametrize("seed", range(20, 22))
@pytest.mark.parametrize("rank", FUNCTIONS)
def test_npu(rank: int, seed: int):
    check(seed, rank, "npu-tiny")


@pytest.mark.one_in(4)
@pytest.mark.parametrize("rank", FUNCTIONS)
def test_triton(rank: int):
    check(30, rank, "triton")


def test_windows_that_meet_are_one_correlation():
    """A stride as wide as the filter needs one product for all residues."""
    (run,) = TransposedAxis(7, 16, 16, 0, 1, 0).split_into_residue_runs()
    assert (
        run.residue_count,
        run.taps_per_residue,
        run.low_padding,
        run.high_padding,
    ) == (16, 1, 0, 0)
    assert len(TransposedAxis(7, 5, 2, 2, 1, 0).split_into_residue_runs()) == 2
    assert len(TransposedAxis(7, 16, 8, 4, 1, 0).split_into_residue_runs()) == 2


def some_filters(taps: int) -> tuple[Module, tuple[Tensor, ...]]:
    """A dilated convolution of two groups whose filters have many taps per residue."""

    def function(x: Tensor, filters: Tensor) -> Tensor:
        return functional.conv_transpose2d(
            x, filters, stride=2, padding=1, groups=2, dilation=(1, 2)
        )

    return Module(function), (torch.randn(1, 4, 5, 5), torch.randn(4, 3, taps, taps))


def test_programs_do_not_grow_with_filters():
    """Taps in reverse order are gathered at once, not cut and joined one by one."""
    counts = [
        sum(1 for _ in from_torch(*some_filters(taps)).module.walk())
        for taps in (10, 12, 20)
    ]
    assert len(set(counts)) == 1, counts


@pytest.mark.parametrize("target", ["reference", "triton"])
def test_filters_of_many_taps(target: str):
    module, inputs = some_filters(10)
    compiled = compile_module(module, inputs, target=target)
    assert_close(compiled(*inputs), module(*inputs), 1e-5)
