"""Values computed from weights once, and again when these change."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import tlf
from tlf.compiler.api.compiled_program import CompiledProgram
from tlf.compiler.backends.argument_snapshots import ArgumentSnapshot
from tlf.compiler.backends.executables import HostExecutable, Outcome
from tlf.compiler.backends.prepared_program import PreparedProgram
from tlf.runtime.triton.executable_plan import Executable as TritonExecutable

pytestmark = pytest.mark.usefixtures("first_plans")

TEXT = """
func.func @scaled(%x: tensor<5x8xf32>, %w: tensor<8x6xf32> {tlf.parameter},
                  %s: tensor<6xf32> {tlf.parameter}) -> tensor<5x6xf32> {
  %0 = graph.exp %s : tensor<6xf32>
  %1 = graph.mul %w, %0 : (tensor<8x6xf32>, tensor<6xf32>) -> tensor<8x6xf32>
  %y = graph.matmul %x, %1 : (tensor<5x8xf32>, tensor<8x6xf32>) -> tensor<5x6xf32>
  func.return %y : tensor<5x6xf32>
}
"""

RNG = np.random.default_rng(0)
X, W, S = (RNG.standard_normal(n).astype(np.float32) for n in ((5, 8), (8, 6), (6,)))

T: Any = torch

TARGETS = ("npu-tiny", "triton")


class Counting(HostExecutable):
    """Counts how often a preparation runs."""

    def __init__(self, compiled: CompiledProgram) -> None:
        program = compiled.executable
        assert isinstance(program, PreparedProgram)
        self.inner = program.preparation
        self.artifacts = self.inner.artifacts
        self.takes_tensors = self.inner.takes_tensors
        self.runs = 0
        self.captures = False
        program.preparation = self
        inner = program.is_capturing

        def is_capturing(device: Any) -> bool:
            return self.captures or inner(device)

        setattr(program, "is_capturing", is_capturing)

    def is_capturing(self, device: Any) -> bool:
        return self.captures

    def __call__(self, inputs: Mapping[str, Any], device: Any = None) -> Outcome:
        self.runs += 1
        return self.inner(inputs, device)


def expected(x: Any, w: Any, s: Any) -> Any:
    return x @ (w * np.exp(s))


@pytest.mark.parametrize("target", TARGETS)
def test_that_arrays_are_compared(target: str):
    compiled = tlf.compile(TEXT, target=target)
    counting = Counting(compiled)
    weight = W.copy()

    for scale, runs in ((1, 1), (1, 1), (2, 2), (2, 2), (1, 3)):
        weight[:] = W * scale
        found = compiled(X, weight, S)
        np.testing.assert_allclose(found, expected(X, weight, S), rtol=1e-5, atol=1e-5)
        assert counting.runs == runs


@pytest.mark.parametrize("target", TARGETS)
def test_that_tensors_that_change_are_seen(target: str):
    compiled = tlf.compile(TEXT, target=target)
    counting = Counting(compiled)
    x, weight, scale = (T.tensor(each) for each in (X, W, S))

    def check(runs: int):
        found: Any = compiled(x, weight, scale)
        wanted = expected(x.numpy(), weight.numpy(), scale.numpy())
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5, atol=1e-5)
        assert counting.runs == runs

    check(1)
    check(1)
    x += 1
    check(1)
    weight.mul_(2)
    check(2)
    scale = scale + 1
    check(3)
    check(3)
    weight = weight.t().contiguous().t()
    check(4 if target == "triton" else 3)


@pytest.mark.parametrize("target", TARGETS)
def test_weights_in_another_order(target: str, monkeypatch: pytest.MonkeyPatch):
    """They are put in order once, and again when they were written to."""
    compiled = tlf.compile(TEXT, target=target)
    counting = Counting(compiled)
    x, scale = T.tensor(X), T.tensor(S)
    weight = T.tensor(W.T.copy()).t()
    copies: list[Any] = []
    inner: Any = T.Tensor.contiguous

    def contiguous(tensor: Any) -> Any:
        if not tensor.is_contiguous():
            copies.append(tensor)
        return inner(tensor)

    monkeypatch.setattr(T.Tensor, "contiguous", contiguous)
    for factor, runs in ((1, 1), (1, 1), (2, 2), (1, 2)):
        if factor != 1:
            weight.mul_(factor)
        found: Any = compiled(x, weight, scale)
        wanted = expected(X, weight.numpy(), S)
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5, atol=1e-5)
        assert counting.runs == runs
    if target == "triton":
        assert len(copies) == 2
    compiled.refresh()
    compiled(x, weight, scale)
    assert counting.runs == 3


def test_weights_of_an_inference_mode():
    """They have no counter: other ones count as changed."""
    compiled = tlf.compile(TEXT, target="triton")
    counting = Counting(compiled)
    with T.inference_mode():
        x, weight, scale = (T.tensor(each) for each in (X, W, S))
    for _ in range(3):
        compiled(x, weight, scale)
    assert counting.runs == 1
    with T.inference_mode():
        other = weight * 2
    found: Any = compiled(x, other, scale)
    np.testing.assert_allclose(
        found.numpy(), expected(X, 2 * W, S), rtol=1e-5, atol=1e-5
    )
    assert counting.runs == 2


def test_refresh():
    compiled = tlf.compile(TEXT, target="triton")
    x, weight, scale = (T.tensor(each) for each in (X, W, S))
    compiled(x, weight, scale)
    weight.data.mul_(2)

    compiled.refresh()
    found: Any = compiled(x, weight, scale)

    wanted = expected(X, 2 * W, S)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5, atol=1e-5)


def test_that_it_is_told_apart():
    compiled = tlf.compile(TEXT, target="npu-tiny")
    compiled(X, W, S)

    assert compiled.stats["prepare.cycles"] > 0
    assert compiled.stats["cycles"] > 0
    assert {"program.npu", "prepare_program.npu"} <= set(compiled.stages)
    assert "192 bytes computed once" in compiled.explain()


class Elsewhere(HostExecutable):
    """A program on another device, which notes what it gets."""

    def __init__(self, device: str) -> None:
        self.device = torch.device(device)
        self.artifacts: Mapping[str, str] = {}
        self.takes_tensors = True
        self.orders: Mapping[str, tuple[int, ...]] = {}
        self.inputs: Mapping[str, Any] = {}
        self.waits = 0
        self.captures = False

    @property
    def axis_orders(self) -> Mapping[str, tuple[int, ...]]:
        return self.orders

    def device_for(self, inputs: Mapping[str, Any]) -> torch.device:
        return self.device

    def __call__(self, inputs: Mapping[str, Any], device: Any = None) -> Outcome:
        self.inputs = inputs
        return Outcome({"y": T.zeros(5, 6)})

    def is_capturing(self, device: Any) -> bool:
        return self.captures

    def wait_for_results(self, device: Any) -> None:
        self.waits += 1


def test_that_weights_are_copied_to_a_device_once():
    compiled = tlf.compile(TEXT, target="triton")
    compiled.executable = program = Elsewhere("meta")
    x, weight, scale = T.tensor(X), T.tensor(W.T.copy()).T, T.tensor(S)

    def copied() -> list[Any]:
        compiled(x, weight, scale)
        assert all(
            each.device.type == program.device.type and each.is_contiguous()
            for each in program.inputs.values()
        )
        return [program.inputs[name] for name in ("w", "s", "x")]

    def same(first: list[Any], second: list[Any]) -> list[bool]:
        return [left is right for left, right in zip(first, second, strict=True)]

    before = copied()
    assert same(before, after := copied()) == [True, True, False]
    weight.mul_(2)
    assert same(after, before := copied()) == [False, True, False]
    scale = scale.clone()
    assert same(before, after := copied()) == [True, False, False]
    compiled.refresh()
    assert same(after, before := copied()) == [False, False, False]
    program.device = torch.device("cpu")
    assert same(before, copied()) == [False, False, False]
    assert program.inputs["x"] is x
    assert program.inputs["s"] is scale


def test_that_copies_of_weights_are_complete_for_other_streams():
    compiled = tlf.compile(TEXT, target="triton")
    compiled.executable = program = Elsewhere("meta")
    x, weight, scale = T.tensor(X), T.tensor(W), T.tensor(S)
    for waits in (1, 1, 2):
        if waits == 2:
            weight.mul_(2)
        compiled(x, weight, scale)
        assert program.waits == waits


def test_that_nothing_is_kept_of_a_capture_of_the_caller():
    """The caller's graph computes what it needs; now nothing runs."""
    compiled = tlf.compile(TEXT, target="triton")
    counting = Counting(compiled)
    x, weight, scale = (T.tensor(each) for each in (X, W, S))
    for captures, runs in ((True, 1), (True, 2), (False, 3), (False, 3), (True, 3)):
        counting.captures = captures
        compiled(x, weight, scale)
        assert counting.runs == runs


def test_that_weights_are_copied_again_in_a_capture_of_the_caller():
    compiled = tlf.compile(TEXT, target="triton")
    compiled.executable = program = Elsewhere("meta")
    x, weight, scale = T.tensor(X), T.tensor(W), T.tensor(S)
    copies: list[Any] = []
    for captures in (False, False, True, True, False):
        program.captures = captures
        if captures:
            weight.mul_(2)
        compiled(x, weight, scale)
        copies.append(program.inputs["w"])
    assert copies[0] is copies[1]
    assert len({id(each) for each in copies}) == 4


def test_that_weights_are_bound_until_they_change(monkeypatch: pytest.MonkeyPatch):
    compiled = tlf.compile(TEXT, target="triton")
    x, weight, scale = T.tensor(X), T.tensor(W), T.tensor(S)
    bound: list[Any] = []
    inner = PreparedProgram.bind_weights

    def note(self: PreparedProgram, weights: Mapping[str, Any], device: Any) -> Any:
        bound.append(weights)
        return inner(self, weights, device)

    monkeypatch.setattr(PreparedProgram, "bind_weights", note)
    for change, count in (
        (lambda: None, 1),
        (lambda: None, 1),
        (lambda: x.add_(1), 1),
        (lambda: weight.mul_(2), 2),
        (lambda: tlf.refresh(T.zeros(3)), 2),
        (lambda: tlf.refresh(scale), 3),
        (lambda: compiled.refresh(), 4),
    ):
        change()
        found: Any = compiled(x.clone(), weight, scale)
        wanted = expected(x.numpy(), weight.numpy(), S)
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-4)
        assert len(bound) == count


def test_that_replaced_weights_are_freed():
    compiled = tlf.compile(TEXT, target="triton")
    x, weight, scale = (T.tensor(each) for each in (X, W, S))
    compiled(x, weight, scale)
    seen = [weakref.ref(each) for each in (x, weight, scale)]
    del x, weight, scale
    gc.collect()
    assert [each() for each in seen] == [None, None, None]


def test_that_arguments_are_in_the_order_of_the_program():
    """Those in another one are copied; copies of weights are kept."""
    compiled = tlf.compile(TEXT, target="triton")
    compiled.executable = program = Elsewhere("cpu")
    program.orders = {"x": (1, 0), "w": (1, 0)}
    x, scale = T.tensor(X), T.tensor(S)
    for weight in (T.tensor(W.T.copy()).T, T.tensor(W)):
        compiled(x, weight, scale)
        kept = program.inputs["w"]
        compiled(x, weight, scale)
        assert program.inputs["w"] is kept
        assert (kept is weight) == (weight.stride() == (1, 8))
        assert (kept.stride(), kept.equal(weight)) == ((1, 8), True)
    assert program.inputs["x"] is not x
    assert program.inputs["x"].stride() == (1, 5)
    assert program.inputs["s"] is scale


def test_that_calls_on_one_device_find_it_once(monkeypatch: pytest.MonkeyPatch):
    compiled = tlf.compile(TEXT, target="triton")
    found: list[Any] = []
    inner = TritonExecutable.device_of_arguments

    def counted(self: TritonExecutable, values: Any) -> Any:
        found.append(inner(self, values))
        return found[-1]

    monkeypatch.setattr(TritonExecutable, "device_of_arguments", counted)
    for searches in (1, 0):
        compiled(*(T.tensor(each) for each in (X, W, S)))
        assert len(found) == searches
        found.clear()


class Block(nn.Module):
    """A convolution with a batch normalization to fold."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.norm = nn.BatchNorm2d(4)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.conv(x)).relu()


@pytest.mark.parametrize("target", TARGETS)
def test_that_the_backend_sees_steps_of_training(target: str):
    network: Any = Block().eval()
    compiled = T.compile(network, backend="tlf", options={"target": target})
    x = T.randn(1, 3, 5, 5)

    for _ in range(3):
        with torch.no_grad():
            T.testing.assert_close(compiled(x), network(x), rtol=1e-4, atol=1e-5)
            network.conv.weight.add_(0.1)
            network.norm.running_mean.mul_(2)


def test_that_a_compiled_module_sees_new_weights():
    network: Any = Block().eval()
    x = T.randn(1, 3, 5, 5)
    compiled = tlf.compile(network, (x,), target="triton")
    with torch.no_grad():
        compiled(x)
        network.norm.weight.mul_(3)
        T.testing.assert_close(compiled(x), network(x), rtol=1e-4, atol=1e-5)


class Scaled(Block):
    """With a tensor that is neither a parameter nor a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = T.ones(4, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) * self.scale.exp()


@pytest.mark.one_in(1 / 4)
@pytest.mark.parametrize("made", [T.no_grad, T.inference_mode])
@pytest.mark.parametrize("is_backend", [False, True])
def test_that_a_refresh_tells_what_is_not_counted(made: Any, is_backend: bool):
    x = T.randn(1, 3, 5, 5)
    with made():
        network: Any = Scaled().eval()
        if is_backend:
            compiled: Any = T.compile(network, backend="tlf")
        else:
            compiled = tlf.compile(network, (x,), target="triton")
        before = compiled(x)
        network.conv.weight.data.mul_(2)
        network.scale.data.add_(1)
        T.testing.assert_close(compiled(x), before)
        for written in (network, network.norm.bias):
            tlf.refresh(written)
            T.testing.assert_close(compiled(x), network(x), rtol=1e-4, atol=1e-5)
            network.norm.bias.data.add_(1)


def test_what_a_refresh_takes():
    given: Any = "weight"
    with pytest.raises(
        TypeError, match="expected a module or a tensor of PyTorch, got"
    ):
        tlf.refresh(given)


def transpose(weight: Any) -> None:
    weight.t_()


def resize(weight: Any) -> None:
    weight.resize_(2, 4)


def move(weight: Any) -> None:
    weight.data = weight.clone()


def move_twice(weight: Any) -> None:
    """The memory of before would be free, but for what was seen of it."""
    move(weight)
    move(weight)


def refresh_a_view(weight: Any) -> None:
    tlf.refresh(weight[:1])


CHANGES = (transpose, resize, move, move_twice, tlf.refresh, refresh_a_view)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("made", [T.no_grad, T.inference_mode])
def test_what_is_seen_without_a_counter(change: Any, made: Any):
    with made():
        weight = T.ones(4, 4)
        seen = ArgumentSnapshot(weight)
        assert seen.is_unchanged(weight)
        assert seen.is_unchanged(weight.view(4, 4))
        change(weight)
        assert not seen.is_unchanged(weight)
        assert ArgumentSnapshot(weight).is_unchanged(weight)
