"""Which programs PyTorch takes apart before they are converted."""

import pytest
import torch
from torch import nn

from tlf.frontend.torch.decompositions import is_converted
from tlf.frontend.torch.export import decomposed, exported

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
    program = exported(module, (X,))
    assert is_converted(program)
    assert decomposed(program) is program


@pytest.mark.parametrize("module", [InPlace(), Counter(), Wasteful()])
def test_other_programs_are_taken_apart(module: nn.Module):
    program = exported(module, (X,))
    assert not is_converted(program)
    assert decomposed(program) is not program
