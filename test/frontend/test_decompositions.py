"""Programs that PyTorch decomposes before they are converted."""

import logging
from typing import Any

import pytest
import torch
from torch import nn

from tlf.frontend.torch import export
from tlf.frontend.torch.decompositions import (
    core_decompositions,
    has_only_converted_operations,
)
from tlf.frontend.torch.export import decompose_program, export_module, from_torch
from tlf.frontend.torch.import_errors import ImportFailure
from tlf.frontend.torch.registry import find_aten_overload

X = torch.randn(2, 3, 8, 8)


class InPlace(nn.Module):
    """Changes a tensor that it made."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x + 1).mul_(2)


class Counter(nn.Module):
    """Changes a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count = self.count + 1
        return x * self.count


class Wasteful(nn.Module):
    """Computes what nothing uses."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        values, _ = nn.functional.adaptive_max_pool2d(x, 2, return_indices=True)
        return values


@pytest.mark.parametrize("module", [nn.ReLU(), nn.Sequential(nn.Sigmoid(), nn.Tanh())])
def test_what_is_converted_is_left(module: nn.Module):
    program = export_module(module, (X,))
    assert has_only_converted_operations(program)
    assert decompose_program(program) is program


@pytest.mark.parametrize("module", [InPlace(), Counter(), Wasteful()])
def test_other_programs_are_taken_apart(module: nn.Module):
    program = export_module(module, (X,))
    assert not has_only_converted_operations(program)
    assert decompose_program(program) is not program


class Dropped(nn.Module):
    """Drops nothing, in evaluation mode, of what it computes and of what it returns."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.dropout(x), self.linear(self.dropout(self.dropout(x))).relu()


@pytest.mark.parametrize(
    "module", [Dropped().eval(), InPlace(), Counter(), Wasteful(), nn.ReLU()]
)
def test_that_programs_are_left_as_they_are(module: nn.Module):
    program = export_module(module, (X,))
    before = str(program), len(program.graph.nodes)
    imported = from_torch(program)
    assert (str(program), len(program.graph.nodes)) == before
    weights = program.state_dict
    assert all(each is weights[name] for name, each in imported.weights.items())
    assert str(from_torch(program).module) == str(imported.module)


class Inverse(nn.Module):
    """Something that no converter and no decomposition of core ATen knows."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.erfinv(x)


def failing(error: Exception) -> Any:
    """Decompositions of which one raises an error."""

    def fail(x: torch.Tensor) -> torch.Tensor:
        raise error

    return lambda: {**core_decompositions(), find_aten_overload("erfinv.default"): fail}


def test_that_programs_of_which_one_writes_are_taken_apart(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    """PyTorch asserts that none does; that is told."""
    failure = failing(AssertionError("it writes"))
    monkeypatch.setattr(export, "all_decompositions", failure)
    with caplog.at_level(logging.INFO, "tlf.torch"):
        decompose_program(export_module(Inverse(), (X,)))
    (record,) = caplog.records
    assert "by core decompositions only: it writes" in record.getMessage()


def test_that_other_errors_are_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(export, "all_decompositions", failing(KeyError("a fault")))
    with pytest.raises(ImportFailure, match="run_decompositions: a fault"):
        from_torch(Inverse(), (X,))
