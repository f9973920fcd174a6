"""Partition of FX graphs: equal calls are checked once, and different ones are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from torch import Tensor, fx
from torch.fx.experimental.proxy_tensor import make_fx
from torch_check import T

from tlf.frontend.torch import fx_partition
from tlf.frontend.torch.convert import find_conversion_refusal, structure_of_call
from tlf.frontend.torch.fx_partition import partition_graph

X: Any = T.arange(6.0).reshape(2, 3)


def trace(function: Callable[[Any], Any], x: Any) -> fx.GraphModule:
    """Return the graph of a function on fake tensors, without unused calls."""
    module = make_fx(function, tracing_mode="fake")(x)
    module.graph.eliminate_dead_code()
    return module


def first_call(function: Callable[[Any], Any], x: Any) -> fx.Node:
    """Return the first call of an operation in the graph of a function."""
    graph = trace(function, x).graph
    return next(node for node in graph.nodes if node.op == "call_function")


def apply_equal_layers(x: Any) -> Any:
    for _ in range(3):
        x = T.tanh(x) * 2
    return x


def test_equal_calls_are_checked_once(monkeypatch: pytest.MonkeyPatch):
    checked: list[fx.Node] = []

    def find_refusal(node: fx.Node, _: object) -> None:
        checked.append(node)

    monkeypatch.setattr(fx_partition, "find_conversion_refusal", find_refusal)
    assert partition_graph(trace(apply_equal_layers, X)).operation_count == 6
    assert len(checked) == 2


def take_maximum(x: Any, index: int) -> Any:
    return T.max(x, 0)[index]


@pytest.mark.parametrize(
    ("function", "first", "second"),
    [
        (T.add, (1,), (1.0,)),
        (T.add, (1,), (True,)),
        (T.add, (0.0,), (-0.0,)),
        (T.sum, (0,), (1,)),
        (T.sum, (0,), (0, True)),
        (Tensor.to, (T.float16,), (T.bfloat16,)),
        (take_maximum, (0,), (1,)),
    ],
)
def test_different_calls(
    function: Callable[..., Any], first: tuple[Any, ...], second: tuple[Any, ...]
):
    def structure_with(*arguments: Any) -> tuple[object, ...]:
        return structure_of_call(first_call(lambda x: function(x, *arguments), X))

    assert structure_with(*first) != structure_with(*second)


@pytest.mark.parametrize("other", [X[:1], X.half(), X.long(), X[:, :0]])
def test_other_operands(other: Tensor):
    first, second = (first_call(T.neg, each) for each in (X, other))
    assert structure_of_call(first) != structure_of_call(second)
    assert (find_conversion_refusal(second) is None) == (other.numel() > 0)
