"""Some operations of PyTorch's database of operations; `bench/opinfo.py` runs all."""

import random
from collections.abc import Callable

import pytest
import torch
from opinfo_call import FAULTS, check_call
from opinfo_samples import SampleChoice, operations, samples_of

pytestmark = pytest.mark.filterwarnings("ignore:Sparse CSR")

OPERATIONS = 60
"""Number of operations that run in f32 on the reference, in three tests."""


@pytest.fixture(scope="module", autouse=True)
def threads():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def check(names: list[str], dtype: torch.dtype, way: str, target: str, count: int):
    found = [
        f"{name} ({sample}): {outcome.text}"
        for name in names
        for sample in samples_of(operations()[name], dtype, SampleChoice(count, 0))
        if (
            outcome := check_call(sample, operations()[name], dtype, way, target)
        ).status
        in FAULTS
    ]
    assert found == []


def some(count: int, dtype: torch.dtype, seed: int) -> list[str]:
    """Names of operations that PyTorch has in a type."""
    named = operations().items()
    known = [name for name, each in named if each.supports_dtype(dtype, "cpu")]
    return random.Random(seed).sample(known, count)


@pytest.mark.parametrize("part", range(3))
def test_backend(part: int, draws: Callable[[int], int]):
    names = some(draws(OPERATIONS), torch.float32, 0)[part::3]
    check(names, torch.float32, "backend", "reference", 1)


@pytest.mark.parametrize(
    "dtype", [torch.bfloat16, torch.float16, torch.int64, torch.bool]
)
def test_types(dtype: torch.dtype, draws: Callable[[int], int]):
    check(some(draws(10), dtype, 1), dtype, "backend", "reference", 1)


@pytest.mark.parametrize("target", ["npu-tiny", "triton"])
def test_targets(target: str, draws: Callable[[int], int]):
    check(some(draws(5), torch.float32, 2), torch.float32, "backend", target, 1)


def test_modules(draws: Callable[[int], int]):
    check(some(draws(6), torch.float32, 3), torch.float32, "compile", "reference", 1)
