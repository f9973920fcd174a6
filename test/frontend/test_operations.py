"""Every operation that is converted, against PyTorch, on all targets."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import pytest
import torch
from torch_cases import Case
from torch_check import TOLERANCES, Module, assert_close, noted
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

from tlf.compiler.api.torch_module import CompiledModule, compile_module
from tlf.frontend.torch.convert import EMPTY
from tlf.frontend.torch.export import decompose_program, export_module, from_torch
from tlf.frontend.torch.fx_partition import partition_graph

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

TOGETHER = 8
"""Number of functions exported as one module: the export takes most of the time."""


class Several(torch.nn.Module):
    """Functions as one module, which takes the arguments of all and returns all."""

    def __init__(self, cases: Sequence[Case]) -> None:
        super().__init__()
        self.cases = cases

    def forward(self, *arguments: Any) -> Any:
        rest = iter(arguments)
        return tuple(
            case.function(*islice(rest, len(case.shapes))) for case in self.cases
        )


def expected(case: Case, dtype: torch.dtype) -> Any:
    """Return what PyTorch computes, or `None` if it cannot."""
    try:
        return case.function(*case.arguments(dtype))
    except (NotImplementedError, RuntimeError):
        return None


def check(case: Case, targets: Sequence[str]):
    """Compare the results on targets with those of PyTorch, in f32."""
    arguments = case.arguments(torch.float32)
    if (wanted := expected(case, torch.float32)) is None:
        pytest.skip("PyTorch does not compute it")
    imported = from_torch(Module(case.function), arguments)
    for target in targets:
        with noted(f"on {target}"):
            found = CompiledModule(imported, target)(*arguments)
            assert_close(found, wanted, TOLERANCES[torch.float32])


@pytest.mark.one_in(48)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_f32_lowered(case: Case):
    check(case, ["npu-tiny"])


@pytest.mark.one_in(8)
@pytest.mark.parametrize("case", CASES[::5], ids=lambda case: case.name)
def test_f32_on_triton(case: Case):
    """Some of them, as kernels take longest to load."""
    check(case, ["triton"])


def check_together(start: int, dtype: torch.dtype):
    """Compare results of the reference with those of PyTorch, of several functions."""
    computed = [
        (case, result)
        for case in CASES[start : start + TOGETHER]
        if (result := expected(case, dtype)) is not None
    ]
    cases = [case for case, _ in computed]
    arguments = [each for case in cases for each in case.arguments(dtype)]
    found = compile_module(Several(cases), arguments)(*arguments)
    for (case, wanted), result in zip(computed, found, strict=True):
        with noted(case.name):
            assert_close(result, wanted, TOLERANCES[dtype])


@pytest.mark.one_in(8)
@pytest.mark.parametrize("start", range(0, len(CASES), TOGETHER))
def test_that_all_stay_with_the_backend(start: int):
    """But for what has no elements, and checks that PyTorch exports."""
    chosen = Several(CASES[start : start + TOGETHER])
    given = [each for case in chosen.cases for each in case.arguments(torch.float32)]
    program = decompose_program(export_module(chosen, given))
    reasons = partition_graph(program.graph_module).unconverted_operations
    names = [reason.operation for reason in reasons if reason.text != EMPTY]
    assert not [name for name in names if not name.startswith("aten._assert")]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("start", range(0, len(CASES), TOGETHER))
def test_f32(start: int):
    check_together(start, torch.float32)


@pytest.mark.one_in(24)
@pytest.mark.parametrize("start", range(0, len(CASES), TOGETHER))
def test_bf16(start: int):
    check_together(start, torch.bfloat16)
