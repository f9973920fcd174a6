"""Networks as they are in use, against PyTorch and against float64."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch_check import compiled_by_backend, noted, relative_error
from torch_model import Model, Network, cast_all
from torch_models import MODELS

from tlf.compiler.api.torch_backend import REPORT
from tlf.compiler.api.torch_module import CompiledModule
from tlf.frontend.torch.export import from_torch

BOUNDS = {torch.float32: 2e-6, torch.float16: 2e-3, torch.bfloat16: 1e-2}
"""
Tolerances of results against those of float64; those of the NPU and of Triton are of
f32.
"""

WEIGHTS = {
    "vit": 86_567_656,
    "gpt-2": 124_439_808,
    "bert": 109_482_240,
    "resnet-18": 11_689_512,
    "resnet-50": 25_557_032,
    "mobilenet-v2": 3_504_872,
}
"""Numbers of weights of the originals."""

every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)


def exact(network: Network, inputs: tuple[Any, ...]) -> Any:
    """The result in float64."""
    wide = copy.deepcopy(network).double()
    return wide(*cast_all(inputs, torch.float64))


def check(model: Model, size: str, targets: Sequence[str], dtype: torch.dtype) -> None:
    """
    Compare what targets compute. Where 16-bit floats take PyTorch further than the
    bound, as far as it goes.
    """
    network, inputs = model.build(size)
    network, inputs = network.to(dtype), cast_all(inputs, dtype)
    imported = from_torch(network, inputs)
    with torch.no_grad():
        theirs, wanted = network(*inputs), exact(network, inputs)
    bound = BOUNDS[dtype]
    if dtype.itemsize == 2:
        bound = max(bound, 1.2 * relative_error(theirs, wanted))
    for target in targets:
        with noted(f"on {target}"), torch.no_grad():
            found = CompiledModule(imported, target)(*inputs)
            assert relative_error(found, wanted) <= bound
            assert relative_error(found, theirs) <= 2 * bound


@pytest.mark.one_in(24)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@every_model
def test_reference(model: Model, dtype: torch.dtype):
    check(model, "small", ["reference"], dtype)


@pytest.mark.one_in(1 / 4)
@pytest.mark.parametrize("model", MODELS[::4], ids=lambda model: model.name)
def test_f16(model: Model):
    check(model, "tiny", ["reference"], torch.float16)


@pytest.mark.one_in(18)
@every_model
def test_lowered(model: Model):
    check(model, "tiny", ["npu", "triton"], torch.float32)


@pytest.mark.one_in(12)
@every_model
def test_backend(model: Model):
    network, inputs = model.build("small")
    compiled = compiled_by_backend(network)
    with torch.no_grad():
        found = compiled(*inputs)
        assert relative_error(found, exact(network, inputs)) <= BOUNDS[torch.float32]
    assert REPORT.compiled > 0
    assert not REPORT.eager


@pytest.mark.parametrize("name", WEIGHTS)
def test_full_size(name: str):
    (model,) = (each for each in MODELS if each.name == name)
    with torch.device("meta"):
        network = model.make()
    assert sum(each.numel() for each in network.parameters()) == WEIGHTS[name]
