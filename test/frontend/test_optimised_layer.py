"""A transformer layer once its graph is optimised: what is left, and what it moves."""

from __future__ import annotations

import json
from collections import Counter

import pytest
import torch
from torch import Tensor, nn
from torch_model import T, randomise
from torch_models_attention import PreNormLayer
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from tlf.compiler.api.torch_module import compile_module
from tlf.compiler.driver.driver import PASSES, emit_text, new_context
from tlf.compiler.driver.pass_manager import PassManager
from tlf.compiler.driver.pipeline import build_passes
from tlf.dialects import graph
from tlf.dialects.interfaces import (
    ContractionInterface,
    MovementInterface,
    ViewInterface,
)
from tlf.dialects.slice_views import is_stored_slice
from tlf.dialects.target import load_target_spec
from tlf.dialects.types import tensor_type
from tlf.dialects.weight_preparation_attributes import is_preparation_function
from tlf.frontend.torch import from_torch
from tlf.lowering.analysis_target import AnalysisTarget
from tlf.lowering.pipelines import pipelines_for

BATCH, TOKENS, WIDTH, HEADS = 2, 5, 8, 2


class EncodedLayer(nn.Module):
    """A layer on a sequence to which sines and cosines of positions are added."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = PreNormLayer(WIDTH, HEADS, is_fused=False)

    def forward(self, x: Tensor) -> Tensor:
        place = T.arange(TOKENS, dtype=x.dtype)[:, None]
        rate = T.exp(T.arange(0, WIDTH, 2, dtype=x.dtype) * (-9.2103 / WIDTH))
        angles = place * rate
        encoding = T.stack((T.sin(angles), T.cos(angles)), dim=-1)
        return self.layer(x + encoding.reshape(TOKENS, WIDTH))


def make() -> tuple[EncodedLayer, Tensor]:
    T.manual_seed(0)
    network = EncodedLayer().eval()
    randomise(network)
    return network, T.randn(BATCH, TOKENS, WIDTH)


def optimised(passes: str) -> ModuleOp:
    """The program of the layer after passes."""
    network, x = make()
    target = load_target_spec("npu")
    module = from_torch(network, (x,)).module
    target.attach_to_module(module)
    steps = build_passes(passes, PASSES, pipelines_for(target))
    PassManager(steps).run(new_context(), module)
    return module


@pytest.fixture(scope="module")
def operations() -> list[object]:
    """
    Return the operations that the layer computes at every call after `graph-pipeline`.
    """
    functions = [
        op for op in optimised("graph-pipeline").ops if isinstance(op, func.FuncOp)
    ]
    (main,) = (op for op in functions if not is_preparation_function(op))
    return list(main.walk())


def test_that_nothing_is_moved(operations: list[object]) -> None:
    moving = [
        op
        for op in operations
        if isinstance(op, MovementInterface)
        and not isinstance(op, ViewInterface)
        and not is_stored_slice(op)
    ]
    assert not moving


def test_that_queries_keys_and_values_are_one_product(
    operations: list[object],
) -> None:
    """That product, two of the attention, its projection, two of the MLP."""
    products = [op for op in operations if isinstance(op, ContractionInterface)]
    sizes = Counter(tensor_type(op.operands[1]).element_count() for op in products)
    assert len(products) == 6
    assert sizes[WIDTH * 3 * WIDTH] == 1


def test_that_dropout_is_gone_and_positions_are_known(
    operations: list[object],
) -> None:
    names = {type(op) for op in operations}
    assert not names & {graph.DropoutOp, graph.SinOp, graph.CosOp, graph.IotaOp}
    constants = [op for op in operations if isinstance(op, graph.ConstantOp)]
    shapes = {op.to_array().shape for op in constants if op.splat_attribute() is None}
    assert shapes == {(TOKENS, WIDTH)}


# What goes into each kernel and comes out, in elements, where X = 2 * 5 * 8 = 80 are
# those of a sequence, P = 2 * 2 * 5 * 5 = 100 those of the scores, and R = 20 those of
# their rows:
#
#   positions and first norm     X + 5 * 8 + 2 * 8           -> 2 X
#   queries, keys and values     X + 3 * 8 * 8 + 3 * 8       -> 3 X
#   scores                       2 X                         -> P
#   softmax                      P                           -> P + R
#   mixed values                 P + R + X                   -> X
#   projection and residual      2 X + 8 * 8 + 8             -> X
#   second norm                  X + 2 * 8                   -> X
#   first linear layer and GELU  X + 8 * 32 + 32             -> 4 X
#   second one and residual      4 X + X + 32 * 8 + 8        -> X
#
# Sums: 14 X + 2 P + R + 912 = 2252 in, 13 X + 2 P + R = 1260 out, of 4 bytes each.
READ, WRITTEN = 9008, 5040

LEAST_READ, LEAST_WRITTEN = 4 * (80 + 912), 4 * 80
"""The input and all parameters, and the result: the NPU keeps most of the rest."""


def test_that_it_moves_what_was_derived() -> None:
    network, x = make()
    module = optimised("graph-pipeline,graph-group")
    report = json.loads(emit_text(new_context(), module, AnalysisTarget("json")))
    compiled = compile_module(network, (x,), target="npu")
    with torch.no_grad():
        assert torch.allclose(compiled(x), network(x), rtol=1e-4, atol=1e-5)
    assert LEAST_READ <= compiled.stats["L3.read"] < READ
    assert LEAST_WRITTEN <= compiled.stats["L3.written"] < WRITTEN
    assert report["totals"]["all"]["bytes"] == READ + WRITTEN
