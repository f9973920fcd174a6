"""Aliasing of results, and of tensors that are written to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_check import Module, T, assert_close, compiled_by_backend

from tlf.compiler.api.compile import compile as compile_program
from tlf.compiler.api.torch_module import compile_module

TARGETS = ("reference", "npu-tiny", "triton")


class Copies(nn.Module):
    """Returns copies of its input, of a weight and of a constant, and parts of them."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(T.ones(3))

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        doubled = self.weight * 2
        constant = torch.tensor([1.0, 2.0, 3.0])
        moved = x.repeat(1), T.cat([x]), functional.pad(x, (0, 0)), x[:2].clone()
        return x.clone(), self.weight.clone(), doubled, doubled + 0, constant, *moved


@pytest.mark.one_in(1 / 4)
@pytest.mark.parametrize("target", ["reference", "triton"])
@pytest.mark.parametrize("by_backend", [False, True])
def test_results_are_fresh(target: str, by_backend: bool):
    """Writing to one changes nothing else."""
    module, x = Copies(), T.zeros(3)
    with torch.no_grad():
        expected = [each.clone() for each in module(x)]
        compiled = (
            compiled_by_backend(module, target)
            if by_backend
            else compile_module(module, (x,), target=target)
        )
        for number, result in enumerate(compiled(x)):
            result.fill_(number + 7.0)
        assert_close(compiled(x), expected, 0)
    assert x.eq(0).all()
    assert module.weight.eq(1).all()


def test_results_of_the_reference_are_apart():
    text = """
    func.func @f(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<1x3xf32>) {
      %0 = graph.reshape %x : (tensor<3xf32>) -> tensor<1x3xf32>
      func.return %x, %x, %0 : tensor<3xf32>, tensor<3xf32>, tensor<1x3xf32>
    }
    """
    x = T.zeros(3).numpy()
    results: Any = compile_program(text)(x)
    for number, each in enumerate(results):
        each[:] = number + 1
    assert [each.max() for each in (x, *results)] == [0, 1, 2, 3]


def first_none(x: Tensor) -> Tensor:
    return x[:0]


def total(x: Tensor) -> tuple[Tensor, Tensor]:
    return x[:0].relu(), x[:0].sum()


def count(x: Tensor) -> int:
    return x.shape[0]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("function", [first_none, total, count])
def test_results_that_follow_from_shapes(function: Callable[..., Any], target: str):
    x = T.zeros(2, 3)
    found: Any = compile_module(Module(function), (x,), target=target)(x)
    if function is count:
        assert found == 2
    else:
        assert_close(found, function(x), 0)


def added(alias: Tensor) -> Tensor:
    alias += 3
    return alias


def late(x: Tensor) -> Tensor:
    kept = functional.dropout(x, 0.5, False)
    x.mul_(2)
    return kept


def masked(x: Tensor) -> Tensor:
    x[x > 0] = 0.5
    return x + 1


def masked_copy(x: Tensor) -> Tensor:
    kept = x.clone()
    kept[x > 0] = x[x > 0] * 2
    return kept


EFFECTS: list[Callable[[Tensor], Tensor]] = [
    lambda x: added(functional.dropout(x, 0.5, False)),
    lambda x: added(functional.dropout(x, p=0.0, training=True)),
    lambda x: added(T.dropout(x, 0.5, train=False)),
    lambda x: added(nn.Dropout().eval()(x)),
    lambda x: added(functional.dropout2d(x, 0.5, False)),
    lambda x: added(x.contiguous()),
    lambda x: added(x.reshape(-1)).reshape(x.shape),
    late,
    masked,
    masked_copy,
]


@pytest.mark.one_in(1 / 4)
@pytest.mark.parametrize("effect", EFFECTS)
def test_inputs_are_left_as_by_pytorch(effect: Callable[[Tensor], Tensor]):
    def ran(function: Callable[[Tensor], Tensor]) -> list[Tensor]:
        x = T.linspace(-1, 1, 16).reshape(1, 2, 2, 4)
        with torch.no_grad():
            return [function(x), x]

    expected = ran(effect)
    assert_close(ran(compiled_by_backend(effect)), expected, 0)
    if effect is not masked_copy:
        example = T.zeros(1, 2, 2, 4)
        assert_close(ran(compile_module(Module(effect), (example,))), expected, 0)
