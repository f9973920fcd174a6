"""Operations that PyTorch would take apart while it traces."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor
from torch.nn import functional
from torch_check import T, compiled_by_backend

from tlf.compiler.api.torch_backend import REPORT, tlf
from tlf.frontend.torch.preserved_operations import (
    converted_operations_with_python_kernels,
)


@pytest.mark.one_in(1 / 4)
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_nearest_elements(rank: int, mode: str):
    """Kernels ignore a factor where an extent stays or doubles."""
    ones = (1.0,) * (rank - 1)
    factors = (1.3, 1.01, 2.05, 2.3, 0.7)

    def resampled(*tensors: Tensor) -> list[Tensor]:
        return [
            functional.interpolate(each, scale_factor=(*ones, factor), mode=mode)
            for each in tensors
            for factor in factors
        ] + [
            functional.interpolate(each, (1,) * (rank - 1) + (46,), mode=mode)
            for each in tensors
        ]

    made = [T.arange(float(n)).reshape(1, 1, *(1,) * (rank - 1), n) for n in (2, 3, 14)]
    tensors = [*made, made[2].double(), made[2].to(T.uint8)]
    with torch.no_grad():
        found = compiled_by_backend(resampled)(*tensors)
        for got, want in zip(found, resampled(*tensors), strict=True):
            assert got.equal(want)
    assert REPORT.compiled > 0


@pytest.mark.parametrize(("rank", "mode"), [(1, "linear"), (2, "bilinear")])
def test_neighbours(rank: int, mode: str):
    """An infinity reaches the points next to it only."""

    def resampled(x: Tensor) -> Tensor:
        size = (10, 8)[:rank]
        return functional.interpolate(x, size, mode=mode)

    x = torch.ones(1, 2, *(5, 4)[:rank])
    x[..., 2] = torch.inf
    with torch.no_grad():
        found = compiled_by_backend(resampled)(x)
    torch.testing.assert_close(found, resampled(x), equal_nan=True)


@pytest.mark.parametrize("aligns_corners", [False, True])
@pytest.mark.parametrize(
    ("mode", "shape", "factors"),
    [("linear", (5,), (1.1,)), ("bilinear", (5, 4), (1.1, 2.0))],
)
def test_axes_whose_extents_stay(
    mode: str, shape: Sequence[int], factors: Sequence[float], aligns_corners: bool
):
    """PyTorch keeps them, whatever the factor."""

    def resampled(x: Tensor) -> Tensor:
        return functional.interpolate(
            x, scale_factor=factors, mode=mode, align_corners=aligns_corners
        )

    x = T.arange(float(math.prod(shape))).reshape(1, 1, *shape) ** 2
    with torch.no_grad():
        torch.testing.assert_close(compiled_by_backend(resampled)(x), resampled(x))


def test_shapes_that_vary():
    def resampled(x: Tensor) -> Tensor:
        return functional.interpolate(x, scale_factor=(1.3, 1.5), mode="nearest")

    torch.compiler.reset()
    options = {"target": "reference"}
    compiled = T.compile(resampled, backend=tlf, dynamic=True, options=options)
    for columns in (4, 3):
        x = T.arange(3.0 * columns).reshape(1, 1, 3, columns)
        with torch.no_grad():
            assert compiled(x).equal(resampled(x))


def test_functions_of_pytorch_are_left_as_they_were():
    operations = converted_operations_with_python_kernels()
    before = {each: dict(each.py_kernels) for each in operations}
    with torch.no_grad():
        compiled_by_backend(T.relu)(T.ones(2))
    assert all(each.py_kernels == kernels for each, kernels in before.items())
