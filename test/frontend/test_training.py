"""Modules that are trained, that keep state, and that are called in several ways."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_check import Module, T, assert_close, compiled_by_backend
from torch_model import randomise

from tlf.compiler.api.torch_backend import REPORT
from tlf.compiler.api.torch_module import compile_module
from tlf.frontend.torch import ImportFailure


def normal(*shape: int) -> Tensor:
    return T.randn(shape, generator=T.Generator().manual_seed(sum(shape)))


def convolutions() -> nn.Sequential:
    network = nn.Sequential(
        nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(36, 3)
    )
    randomise(network)
    return network


def state(module: nn.Module) -> dict[str, Tensor]:
    return {name: each.clone() for name, each in module.named_buffers()}


class Counter(nn.Module):
    """Counts its calls, and sums what it is called with."""

    calls: Tensor
    total: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", T.zeros((), dtype=torch.int64))
        self.register_buffer("total", T.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        self.total += x
        return self.total / self.calls


class Tied(nn.Module):
    """A weight that stands in two places."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(7, 4)
        self.head = nn.Linear(4, 7, bias=False)
        self.head.weight = self.table.weight
        self.same = self.head

    def forward(self, tokens: Tensor) -> Tensor:
        return self.same(self.table(tokens)) + self.head(self.table(tokens + 1))


class Noisy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5))])

    def forward(self, x: Tensor) -> Tensor:
        return self.layers[0](x) * 2


def test_gradients_of_the_backend():
    network, x = convolutions().train(), normal(3, 2, 5, 5).requires_grad_()
    other, y = copy.deepcopy(network), x.detach().clone().requires_grad_()
    found = compiled_by_backend(network)(x)
    expected = other(y)
    assert_close(found, expected, 1e-6)
    found.square().sum().backward()
    expected.square().sum().backward()
    assert_close(x.grad, y.grad, 1e-5)
    for mine, theirs in zip(network.parameters(), other.parameters(), strict=True):
        assert_close(mine.grad, theirs.grad, 1e-5)
    for name, buffer in state(other).items():
        assert_close(network.get_buffer(name), buffer, 1e-6)
    assert REPORT.compiled == 0
    assert REPORT.eager


def test_a_trained_backend_evaluates_with_new_weights():
    """The compiled module takes the current parameters, not those at compilation."""
    network, x = convolutions().eval(), normal(3, 2, 5, 5)
    compiled = compiled_by_backend(network)
    with torch.no_grad():
        assert_close(compiled(x), network(x), 1e-5)
        for parameter in network.parameters():
            parameter.mul_(0.5).add_(0.1)
        assert_close(compiled(x), network(x), 1e-5)


def test_statistics_of_batches():
    network = convolutions().train()
    theirs = copy.deepcopy(network)
    compiled = compile_module(network, [normal(3, 2, 5, 5)])
    before = state(network)
    for number in range(3):
        x = normal(3, 2, 5, 5) + number
        assert_close(compiled(x), theirs(x), 1e-5)
    for name, buffer in state(theirs).items():
        assert_close(compiled.weights[name], buffer, 1e-5)
        assert_close(network.get_buffer(name), before[name], 0)


def test_statistics_of_batches_by_the_backend():
    network = convolutions().train()
    theirs = copy.deepcopy(network)
    compiled = compiled_by_backend(network)
    with torch.no_grad():
        for number in range(3):
            x = normal(3, 2, 5, 5) + number
            assert_close(compiled(x), theirs(x), 1e-5)
    assert REPORT.compiled
    for name, buffer in state(theirs).items():
        assert_close(network.get_buffer(name), buffer, 1e-5)


def test_buffers_that_change():
    module = Counter()
    compiled, theirs = compile_module(module, [normal(3)]), copy.deepcopy(module)
    by_backend = compiled_by_backend(module)
    for number in range(3):
        x = normal(3) + number
        expected = theirs(x)
        assert_close(compiled(x), expected, 1e-6)
        with torch.no_grad():
            assert_close(by_backend(x), expected, 1e-6)
    assert_close(module.total, theirs.total, 1e-6)
    assert int(module.calls) == 3


def added(x: Tensor, y: Tensor) -> Tensor:
    x += y
    return x * y


def test_inputs_that_change():
    module = Module(added)
    given = [(normal(3), normal(3)) for _ in range(3)]
    expected = module(*given[0])
    assert_close(compile_module(module, (normal(3), normal(3)))(*given[1]), expected, 0)
    with torch.no_grad():
        assert_close(compiled_by_backend(module)(*given[2]), expected, 0)
    assert_close(given[1], given[0], 0)
    assert_close(given[2], given[0], 0)


def test_live_dropout_is_not_imported():
    with pytest.raises(ImportFailure, match=r"layers\.0\.1.*"):
        compile_module(Noisy().train(), [normal(5, 8)])
    compile_module(Noisy().eval(), [normal(5, 8)])


def test_live_dropout_stays_with_pytorch():
    module, x = Noisy().train(), normal(50, 8)
    compiled = compiled_by_backend(module)
    with torch.no_grad():
        first, second = compiled(x), compiled(x)
        full = module.eval()(x) * 2
    assert not torch.equal(first, second)
    assert_close(first[first != 0], full[first != 0], 1e-5)
    assert 0.3 < (first == 0).double().mean() < 0.7
    assert REPORT.compiled
    assert len(REPORT.eager) == 1


@pytest.mark.one_in(1 / 4)
@pytest.mark.parametrize("is_dynamic", [None, True, False])
def test_shapes_that_change(is_dynamic: bool | None):
    network = nn.Sequential(nn.Linear(4, 6), nn.LayerNorm(6), nn.Softmax(0))
    options = {"target": "reference"}
    torch.compiler.reset()
    compiled: Any = T.compile(
        network, backend="tlf", dynamic=is_dynamic, options=options
    )
    with torch.no_grad():
        for shape in [(3, 4), (5, 4), (1, 4), (7, 4), (2, 3, 4), (5, 4), (4, 2, 4)]:
            x = normal(*shape)
            assert_close(compiled(x), network(x), 1e-5)


def test_tied_weights():
    module, tokens = Tied(), T.tensor([[1, 2, 0], [5, 3, 3]])
    compiled = compile_module(module, [tokens])
    with torch.no_grad():
        assert_close(compiled(tokens), module(tokens), 1e-5)
        assert_close(compiled_by_backend(module)(tokens), module(tokens), 1e-5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    "name",
    ["native_batch_norm", "_native_batch_norm_legit", "_batch_norm_with_update"],
)
def test_running_statistics_are_rounded_once(name: str, dtype: torch.dtype):
    """Also where the old and the new one cancel."""
    operation: Any = getattr(T.ops.aten, name)
    is_training = [] if "update" in name else [True]

    def call(image: Tensor, *arguments: Tensor) -> Any:
        return operation(image, *arguments, *is_training, -1.2, 1e-5)

    arguments = [normal(3, 64, 4), *(normal(64) for _ in range(3)), normal(64).abs()]
    arguments = [each.to(dtype) for each in arguments]
    exact = [each.double() for each in arguments]
    with torch.no_grad():
        compiled_by_backend(call)(*arguments)
        call(*exact)
    precision = torch.finfo(dtype).eps
    for found, expected in zip(arguments[3:], exact[3:], strict=True):
        torch.testing.assert_close(found.double(), expected, rtol=precision, atol=1e-6)
