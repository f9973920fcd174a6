"""Layers of `torch.nn` that PyTorch computes by one operation in evaluation."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch_check import T, assert_close, compiled_by_backend
from torch_model import randomise

from tlf.compiler.api.torch_backend import REPORT
from tlf.compiler.api.torch_module import compile_module


def normal(*shape: int) -> Tensor:
    return T.randn(shape, generator=T.Generator().manual_seed(sum(shape)))


@pytest.mark.one_in(1 / 4)
@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_fused_layers(norm_first: bool, activation: str):
    layer = nn.TransformerEncoderLayer(
        8, 2, 12, batch_first=True, norm_first=norm_first, activation=activation
    )
    network = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    randomise(network)
    x, padding = normal(2, 5, 8), T.arange(5) >= T.tensor([[5], [3]])
    causal = T.ones(5, 5).triu(1).bool()
    compiled = compiled_by_backend(network)
    with torch.no_grad():
        assert_close(compiled(x), network(x), 1e-5)
        assert_close(compiled(x, causal), network(x, causal), 1e-5)
        for mask in (None, causal):
            mine = compiled(x, mask, src_key_padding_mask=padding)
            theirs = network(x, mask, src_key_padding_mask=padding)
            assert_close(mine[~padding], theirs[~padding], 1e-5)
    assert not REPORT.eager


@pytest.mark.one_in(1 / 4)
@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("is_masked", [False, True])
def test_fused_attention(need_weights: bool, is_masked: bool):
    attention = nn.MultiheadAttention(8, 2, batch_first=True).eval()
    randomise(attention)
    x = normal(2, 5, 8)
    mask = T.ones(5, 5).triu(1).bool() if is_masked else None
    options = {"need_weights": need_weights, "attn_mask": mask}
    compiled = compiled_by_backend(attention)
    with torch.no_grad():
        found = compiled(x, x, x, **options)
        expected = attention(x, x, x, **options)
    assert_close(found[0], expected[0], 1e-5)
    assert (found[1] is None) == (expected[1] is None)
    if need_weights:
        assert_close(found[1], expected[1], 1e-5)
    assert not REPORT.eager


@pytest.mark.one_in(1 / 4)
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding", [None, 2])
def test_embedding_bag(mode: str, padding: int | None):
    """The second bag is empty, the last may be of padding only."""
    bag = nn.EmbeddingBag(7, 4, mode=mode, padding_idx=padding)
    randomise(bag)
    indices, offsets = T.tensor([1, 2, 6, 0, 2]), T.tensor([0, 3, 3, 4])
    compiled = compile_module(bag, [indices, offsets])
    with torch.no_grad():
        expected = bag(indices, offsets)
        assert_close(compiled(indices, offsets), expected, 1e-6)
        assert_close(compiled_by_backend(bag)(indices, offsets), expected, 1e-6)
    assert not REPORT.eager
