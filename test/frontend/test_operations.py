"""Every operation that is converted, against PyTorch, on all targets."""

from __future__ import annotations

import pytest
import torch
from torch_cases import Case
from torch_check import TOLERANCES, Module, assert_close
from torch_elementwise_cases import ACTIVATIONS, FUNCTIONS
from torch_movement_cases import INDEXING, MOVEMENTS, REDUCTIONS
from torch_network_cases import (
    CONTRACTIONS,
    CONVOLUTIONS,
    LOSSES,
    NORMALIZATIONS,
    POOLING,
    RESAMPLING,
)

from tlf.tools.torch_module import compile_module

CASES = [
    *FUNCTIONS,
    *ACTIVATIONS,
    *REDUCTIONS,
    *MOVEMENTS,
    *INDEXING,
    *CONTRACTIONS,
    *CONVOLUTIONS,
    *POOLING,
    *NORMALIZATIONS,
    *RESAMPLING,
    *LOSSES,
]


def check(case: Case, target: str, dtype: torch.dtype) -> None:
    arguments = case.arguments(dtype)
    try:
        expected = case.function(*arguments)
    except (NotImplementedError, RuntimeError) as error:
        pytest.skip(f"PyTorch: {error}")
    compiled = compile_module(Module(case.function), arguments, target=target)
    assert_close(compiled(*arguments), expected, TOLERANCES[dtype])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_reference(case: Case, dtype: torch.dtype):
    check(case, "reference", dtype)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_npu(case: Case):
    check(case, "npu-tiny", torch.float32)


@pytest.mark.parametrize("case", CASES[::5], ids=lambda case: case.name)
def test_triton(case: Case):
    check(case, "triton", torch.float32)
