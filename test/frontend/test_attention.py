"""The operations that PyTorch's function for attention becomes on other devices."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from tlf.dialects.entry_point import argument_names, find_entry_point
from tlf.dialects.interpreters.interpret import interpret
from tlf.frontend.torch.graph_import import import_graph
from tlf.support.tensor_arrays import to_array

T: Any = torch
FUNCTION = torch.nn.functional.scaled_dot_product_attention

HEADS = {"flash": 2}
"""Numbers of heads of keys and values, where they are fewer than those of queries."""


def flash(query: Any, key: Any, value: Any, bias: Any) -> Any:
    run = T.ops.aten._scaled_dot_product_flash_attention.default
    return run(query, key, value, 0.0, True, False, scale=0.5)[0]


def efficient(query: Any, key: Any, value: Any, bias: Any) -> Any:
    run = T.ops.aten._scaled_dot_product_efficient_attention.default
    return run(query, key, value, bias, False)[0]


def cudnn(query: Any, key: Any, value: Any, bias: Any) -> Any:
    run = T.ops.aten._scaled_dot_product_cudnn_attention.default
    return run(query, key, value, bias, False)[0]


def on_cpu(query: Any, key: Any, value: Any, bias: Any) -> Any:
    run = T.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
    return run(query, key, value, attn_mask=bias)[0]


def tensors(form: Callable[..., Any]) -> list[Any]:
    heads = HEADS.get(form.__name__, 4)
    shapes = [(2, 4, 16, 8), (2, heads, 16, 8), (2, heads, 16, 8), (2, 4, 16, 16)]
    return [torch.randn(shape).to(torch.float16) for shape in shapes]


@pytest.mark.parametrize("form", [flash, efficient, cudnn, on_cpu])
def test_same_as_the_function(form: Callable[..., Any]):
    T.manual_seed(0)
    inputs = tensors(form)
    with FakeTensorMode():
        shapes = [torch.empty(x.shape, dtype=x.dtype, device="meta") for x in inputs]
        traced: Any = make_fx(form)(*shapes)
    traced.graph.eliminate_dead_code()
    query, key, value, bias = (each.float() for each in inputs)
    options: dict[str, Any] = {"attn_mask": bias}
    if form is flash:
        options = {"is_causal": True, "scale": 0.5, "enable_gqa": True}

    function = import_graph(traced)

    names = argument_names(find_entry_point(function.module))
    given = [to_array(inputs[position]) for position in function.inputs]
    (found,) = interpret(function.module, dict(zip(names, given, strict=True)))
    right = FUNCTION(query, key, value, **options).numpy()
    np.testing.assert_allclose(found.astype(np.float32), right, atol=2e-3, rtol=2e-2)
