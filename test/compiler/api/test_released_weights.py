"""Weights that are released once values have been computed from them."""

from __future__ import annotations

import gc
import weakref
from threading import Thread
from typing import Any

import pytest
import torch

import tlf

T: Any = torch


class Block(torch.nn.Module):
    """A convolution with a batch normalization to fold, and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = T.nn.Conv2d(3, 4, 3, bias=False)
        self.norm = T.nn.BatchNorm2d(4)
        self.linear = T.nn.Linear(3, 8)

    def forward(self, x: Any) -> Any:
        return self.linear(self.norm(self.conv(x)).relu())


X = T.randn(1, 3, 5, 5)


def released_block() -> tuple[Any, Any, Any]:
    """Return a compiled block that was called once, the block, and its result."""
    T.manual_seed(0)
    block = Block().eval()
    with T.no_grad():
        expected = block(X)
        compiled = tlf.compile(block, (X,), target="h200")
        T.testing.assert_close(compiled(X), expected)
        compiled.release_weights()
        T.testing.assert_close(compiled(X), expected)
    return compiled, block, expected


def test_weights_of_the_preparation_only_are_released():
    compiled, block, expected = released_block()
    assert compiled.memory is not None
    released = [name for name, each in block.state_dict().items() if not each.numel()]
    assert "conv.weight" in released
    assert "linear.weight" not in released
    with T.no_grad():
        T.testing.assert_close(compiled(X), expected)
        with pytest.raises(RuntimeError, match="weight"):
            block(X)


def test_memory_of_released_weights_is_freed():
    T.manual_seed(0)
    block = Block().eval()
    memory = weakref.ref(block.conv.weight.untyped_storage())
    compiled = tlf.compile(block, (X,), target="h200")
    compiled.release_weights()
    with T.no_grad():
        compiled(X)
    gc.collect()
    assert memory() is None


def test_other_inputs_and_writes_to_weights_that_are_read():
    compiled, block, _ = released_block()
    with T.no_grad():
        before = compiled(2 * X)
        block.linear.bias.add_(1)
        T.testing.assert_close(compiled(2 * X), before + 1)


@pytest.mark.parametrize("is_replaced", [False, True])
def test_values_cannot_be_computed_again(is_replaced: bool):
    compiled, block, _ = released_block()
    if is_replaced:
        block.linear.weight.data = T.randn(8, 3)
    else:
        block.conv.weight.data = T.randn(4, 3, 3, 3)
    with T.no_grad(), pytest.raises(tlf.ReleasedWeightsError, match="first call"):
        compiled(X)
    with pytest.raises(tlf.ReleasedWeightsError):
        compiled.program.refresh()


def test_reports_of_other_writes_do_not_matter():
    compiled, block, expected = released_block()
    tlf.refresh(T.zeros(3))
    tlf.refresh(block.linear)
    with T.no_grad():
        T.testing.assert_close(compiled(X), expected)


def test_weights_with_another_use_are_kept():
    """A weight that is read by another name, too, is not released."""
    text = """
func.func @f(%x: tensor<4xf32>, %a: tensor<4xf32> {tlf.parameter},
             %b: tensor<4xf32> {tlf.parameter}) -> tensor<4xf32> {
  %0 = graph.exp %a : tensor<4xf32>
  %1 = graph.exp %0 : tensor<4xf32>
  %2 = graph.mul %x, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = graph.add %2, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
"""
    weight, x = T.zeros(4), T.ones(4)
    compiled = tlf.compile(text, target="h200")
    compiled.release_weights()
    for _ in range(2):
        T.testing.assert_close(compiled(x, weight, weight), T.full((4,), T.e))
    assert weight.numel() == 4
    other = T.zeros(4)
    T.testing.assert_close(compiled(x, weight, other), T.full((4,), T.e))
    assert not weight.numel()


def test_threads_may_call_when_weights_are_released():
    T.manual_seed(0)
    block = Block().eval()
    compiled = tlf.compile(block, (X,), target="h200")
    with T.no_grad():
        expected = block(X)
    compiled.release_weights()
    found: list[Any] = []

    def call() -> None:
        with T.no_grad():
            found.append(compiled(X))

    threads = [Thread(target=call) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(found) == 3
    for each in found:
        T.testing.assert_close(each, expected)
